//! Users' access to registers that are not switched with threads: the performance monitors, which users of
//! benchmark kernels can read and program, and the debug communication channel. The reset values of the
//! control registers are undefined, and firmware may have changed them.

use core::arch::asm;

use aarch64_cpu::registers::{ID_AA64DFR0_EL1, MDSCR_EL1, Readable, Writeable};

/// Sets the access rights of users on this core.
pub(crate) fn limit() {
    /// MDSCR_EL1.TDCC: the channel traps at level 0. All other bits are to be clear.
    const CHANNEL_TRAPS: u64 = 1 << 12;
    MDSCR_EL1.set(CHANNEL_TRAPS);
    if cfg!(feature = "bench") {
        give_to_users();
    } else if has_monitors() {
        // SAFETY: the kernel does not use the monitors.
        unsafe {
            asm!(
                "msr pmuserenr_el0, xzr",
                options(nomem, nostack, preserves_flags)
            )
        };
    }
}

/// Whether the core has the performance monitors of the architecture.
fn has_monitors() -> bool {
    const NONE: u64 = 0;
    const OTHERS: u64 = 0xf;
    !matches!(ID_AA64DFR0_EL1.get() >> 8 & 0xf, NONE | OTHERS)
}

/// Starts the cycle counter and lets level 0 use all counters (Arm ARM, section D13).
fn give_to_users() {
    /// Counters count; reset event counters and cycle counter; the cycle counter has 64 bits.
    const ENABLE_AND_RESET: u64 = 0b100_0111;
    const CYCLE_COUNTER: u64 = 1 << 31;
    const USER_ENABLE: u64 = 1;
    // SAFETY: the kernel does not use the monitors.
    unsafe {
        asm!(
            "msr pmcr_el0, {}",
            "msr pmcntenset_el0, {}",
            "msr pmuserenr_el0, {}",
            in(reg) ENABLE_AND_RESET,
            in(reg) CYCLE_COUNTER,
            in(reg) USER_ENABLE,
            options(nomem, nostack, preserves_flags)
        );
    }
}
