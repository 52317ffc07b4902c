//! 32-bit Arm: the ThumbEE handler base, the Jazelle configuration, timers, counters, and the debug
//! communication channel. Cores that lack one of these registers raise an exception.

use core::arch::asm;

use super::Register;

pub(super) const VALUES: &[usize] = &[0x1234_5678, 0x2345_6780];

/// A coprocessor register: coprocessor, first operation, registers, second operation.
macro_rules! register {
    ($name:literal, $coprocessor:literal, $place:literal) => {
        Register {
            name: $name,
            // SAFETY: the test makes no other use of the register.
            write: |value| unsafe {
                asm!(
                    concat!("mcr ", $coprocessor, ", {}, ", $place),
                    in(reg) value,
                    options(nomem, nostack, preserves_flags)
                );
            },
            read: || {
                let value: usize;
                // SAFETY: this only reads a register.
                unsafe {
                    asm!(
                        concat!("mrc ", $coprocessor, ", {}, ", $place),
                        out(reg) value,
                        options(nomem, nostack, preserves_flags)
                    );
                }
                value
            },
        }
    };
}

macro_rules! refused {
    ($($name:literal, $coprocessor:literal, $place:literal);*) => {
        &[$(($name, || { (register!($name, $coprocessor, $place).read)(); })),*]
    };
}

pub(super) const REGISTERS: &[Register] = &[
    register!("TEEHBR", "p14, 6", "c1, c0, 0"),
    register!("JMCR", "p14, 7", "c2, c0, 0"),
    register!("DBGDTRTXint", "p14, 0", "c0, c5, 0"),
    register!("CNTP_TVAL", "p15, 0", "c14, c2, 0"),
    register!("CNTV_TVAL", "p15, 0", "c14, c3, 0"),
    register!("PMCCNTR", "p15, 0", "c9, c13, 0"),
    register!("PMSELR", "p15, 0", "c9, c12, 5"),
];

/// Accesses that user mode never has.
pub(super) const REFUSED: &[(&str, fn())] = refused!(
    "TEECR", "p14, 6", "c0, c0, 0";
    "TEEHBR", "p14, 6", "c1, c0, 0";
    "CNTV_CTL", "p15, 0", "c14, c3, 1";
    "PMCR", "p15, 0", "c9, c12, 0";
    "PMCCNTR", "p15, 0", "c9, c13, 0"
);

/// Accesses that user mode has only with the option `user-timer`.
pub(super) const TIMER: &[(&str, fn())] = refused!(
    "CNTP_CTL", "p15, 0", "c14, c2, 1";
    "CNTP_TVAL", "p15, 0", "c14, c2, 0"
);
