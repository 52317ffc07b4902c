//! The performance monitors: only benchmark kernels let users read and program them.

use super::cp15;

/// Starts the cycle counter and lets user mode use all counters (ARM DDI 0406, section C12.8).
pub(crate) fn give_to_users() {
    /// All counters count; reset event counters and cycle counter.
    const ENABLE_AND_RESET: usize = 0b111;
    const CYCLE_COUNTER: usize = 1 << 31;
    const USER_ENABLE: usize = 1;
    // SAFETY: the kernel does not use the counters.
    unsafe {
        cp15::set_monitor_control(ENABLE_AND_RESET);
        cp15::enable_counters(CYCLE_COUNTER);
        cp15::set_monitor_access(USER_ENABLE);
    }
}

/// Makes user accesses undefined. This is the reset state, but firmware may have changed it.
///
/// ID_DFR0 is not consulted: on the Cortex-A9, which has performance monitors, it reads as 0 (ARM DDI 0388,
/// table 4-3). Every other core that this kernel supports has them, too.
pub(crate) fn keep_from_users() {
    // SAFETY: the kernel does not use the counters.
    unsafe { cp15::set_monitor_access(0) };
}
