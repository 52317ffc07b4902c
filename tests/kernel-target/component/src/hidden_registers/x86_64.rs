//! 64-bit x86: selectors, and instructions that reveal the addresses of the kernel's tables.

use core::arch::asm;
use core::arch::x86_64::__cpuid_count;

use super::Register;

/// The null selectors other than 0, and the user data selector.
pub(super) const VALUES: &[usize] = &[1, 2, 3, 0x1b];

/// A selector; the segment bases are restored.
macro_rules! selector {
    ($name:literal) => {
        Register {
            name: $name,
            // SAFETY: selectors have no effect in 64-bit mode, and the bases are restored.
            write: |value| unsafe {
                asm!(
                    "rdfsbase {fs}",
                    "rdgsbase {gs}",
                    concat!("mov ", $name, ", {value:e}"),
                    "wrfsbase {fs}",
                    "wrgsbase {gs}",
                    fs = out(reg) _,
                    gs = out(reg) _,
                    value = in(reg) value,
                    options(nomem, nostack, preserves_flags)
                );
            },
            read: || {
                let value: usize;
                // SAFETY: this only reads a register.
                unsafe {
                    asm!(
                        concat!("mov {value:e}, ", $name),
                        value = out(reg) value,
                        options(nomem, nostack, preserves_flags)
                    );
                }
                value
            },
        }
    };
}

pub(super) const REGISTERS: &[Register] = &[
    selector!("ds"),
    selector!("es"),
    selector!("fs"),
    selector!("gs"),
];

/// An instruction that stores a system register at an address; it is skipped where the processor cannot
/// refuse it (UMIP; Intel SDM vol. 3, section 2.5).
macro_rules! store {
    ($instruction:literal) => {
        (concat!("`", $instruction, "`"), || {
            const UMIP: u32 = 1 << 2;
            if __cpuid_count(7, 0).ecx & UMIP == 0 {
                // SAFETY: it faults.
                unsafe { asm!("hlt", options(nomem, nostack)) };
            }
            let mut memory = [0_u64; 2];
            // SAFETY: no more than ten bytes are stored.
            unsafe {
                asm!(
                    concat!($instruction, " [{}]"),
                    in(reg) memory.as_mut_ptr(),
                    options(nostack, preserves_flags)
                );
            }
        })
    };
}

/// Accesses that user mode never has.
pub(super) const REFUSED: &[(&str, fn())] = &[
    store!("sgdt"),
    store!("sidt"),
    store!("sldt"),
    store!("str"),
    store!("smsw"),
    // SAFETY: it faults; if it entered the kernel instead, it would not return.
    ("`sysenter`", || unsafe {
        asm!("sysenter", options(noreturn));
    }),
];

/// x86 has no such register.
pub(super) const TIMER: &[(&str, fn())] = &[];
