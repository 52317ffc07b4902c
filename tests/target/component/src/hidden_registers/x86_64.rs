//! 64-bit x86: selectors, and instructions that tell where the kernel's tables are.

use core::arch::asm;
use core::arch::x86_64::__cpuid_count;

use super::Register;

/// The null selectors but 0, and that of the users' data.
pub(super) const VALUES: &[usize] = &[1, 2, 3, 0x1b];

/// A selector; bases are put back.
macro_rules! selector {
    ($name:literal) => {
        Register {
            name: $name,
            // SAFETY: selectors mean nothing in 64-bit mode, and the bases are as before.
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
                // SAFETY: reads a register.
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

/// An instruction that stores something of the system at an address; where the processor cannot refuse it
/// (UMIP; Intel SDM vol. 3, section 2.5), it is left out.
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

/// What users may not do.
pub(super) const REFUSED: &[(&str, fn())] = &[
    store!("sgdt"),
    store!("sidt"),
    store!("sldt"),
    store!("str"),
    store!("smsw"),
    // SAFETY: where it was an entry into the kernel, it would not come back.
    ("`sysenter`", || unsafe {
        asm!("sysenter", options(noreturn));
    }),
];

/// There is none.
pub(super) const TIMER: &[(&str, fn())] = &[];
