//! 64-bit Arm: timers, counters, and the debug communication channel.

use core::arch::asm;

use super::Register;

pub(super) const VALUES: &[usize] = &[0xdead_beef_0123_4567, 0xdead_beef_89ab_cdef];

macro_rules! register {
    ($name:literal) => {
        Register {
            name: $name,
            // SAFETY: the test makes no other use of the register.
            write: |value| unsafe {
                asm!(
                    concat!("msr ", $name, ", {}"),
                    in(reg) value,
                    options(nomem, nostack, preserves_flags)
                );
            },
            read: || {
                let value: usize;
                // SAFETY: this only reads a register.
                unsafe {
                    asm!(
                        concat!("mrs {}, ", $name),
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
    ($($name:literal),*) => {
        &[$(($name, || { (register!($name).read)(); })),*]
    };
}

pub(super) const REGISTERS: &[Register] = &[
    register!("cntp_cval_el0"),
    register!("cntv_cval_el0"),
    register!("pmccntr_el0"),
    register!("pmselr_el0"),
    register!("dbgdtr_el0"),
];

/// Accesses that user mode never has.
pub(super) const REFUSED: &[(&str, fn())] = refused!(
    "cntv_ctl_el0",
    "cntv_cval_el0",
    "pmcr_el0",
    "pmccntr_el0",
    "daif"
);

/// Accesses that user mode has only with the option `user-timer`.
pub(super) const TIMER: &[(&str, fn())] = refused!("cntp_ctl_el0", "cntp_cval_el0");
