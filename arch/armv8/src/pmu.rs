//! The performance monitors, which benchmark kernels let users read and program.

use core::arch::asm;

/// Starts the cycle counter and lets level 0 use all counters (Arm ARM, section D13).
pub(crate) fn give_to_users() {
    /// Counters count; reset event counters and cycle counter; the cycle counter has 64 bits.
    const ENABLE_AND_RESET: u64 = 0b100_0111;
    const CYCLE_COUNTER: u64 = 1 << 31;
    const USER_ENABLE: u64 = 1;
    // SAFETY: the kernel does not use them.
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
