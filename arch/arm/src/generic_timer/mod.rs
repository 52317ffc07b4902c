//! The generic timer: one 64-bit counter for all cores, and comparators for each core.
//!
//! *Arm Architecture Reference Manual for A-profile architecture* (DDI 0487), chapter D11; for 32-bit
//! cores *ARM Architecture Reference Manual, ARMv7-A and ARMv7-R edition* (DDI 0406), chapter B8. The
//! kernel uses the virtual timer, which a hypervisor leaves to its guest. Without a hypervisor its count is
//! the physical one, as long as boot code sets no offset (`CNTVOFF_EL2`). The physical timer is for users,
//! if the kernel offers them one; see [`crate::user_timer`].

#[cfg_attr(target_arch = "aarch64", path = "aarch64.rs")]
#[cfg_attr(target_arch = "arm", path = "aarch32.rs")]
mod registers;

use abi::config::USER_TIMER;
use kernel::time::{Clock, Ticks};

use crate::timer::{Counter, Timer};
use crate::user_timer::SavedTimer;

/// Bits of the comparators' control (DDI 0487, `CNTV_CTL_EL0`).
mod control {
    /// The comparator is enabled; the interrupt is not masked.
    pub const ENABLE: usize = 1;
    /// The bits that users can set: comparator enabled, interrupt masked.
    pub const OF_USERS: u64 = 1 << 0 | 1 << 1;
}

/// User access rights (DDI 0487, `CNTKCTL_EL1`).
mod access {
    /// Read the physical counter, and the frequency.
    pub const PHYSICAL_COUNTER: usize = 1 << 0;
    /// Read the virtual counter, and the frequency.
    pub const VIRTUAL_COUNTER: usize = 1 << 1;
    /// Program the physical timer.
    pub const PHYSICAL_TIMER: usize = 1 << 9;

    /// The rights that users always have, and if `timer` is set, also access to the physical timer.
    pub const fn with_timer(timer: bool) -> usize {
        PHYSICAL_COUNTER | VIRTUAL_COUNTER | if timer { PHYSICAL_TIMER } else { 0 }
    }
}

/// The virtual timer of this core.
#[derive(Debug)]
pub struct GenericTimer {
    clock: Clock,
}

impl GenericTimer {
    /// Takes over the virtual timer, disarmed. Users may read both counters. They cannot access the physical
    /// timer, except in benchmark kernels, where all of them share it, as they share the cycle counters.
    ///
    /// # Safety
    /// This core has a generic timer, and no other code uses it.
    pub unsafe fn start() -> Self {
        registers::set_control(0);
        if USER_TIMER || cfg!(feature = "bench") {
            registers::set_physical(SavedTimer::OFF);
        }
        let shared = cfg!(feature = "bench") && !USER_TIMER;
        registers::set_access(access::with_timer(shared));
        Self {
            clock: Clock::new(registers::frequency()),
        }
    }
}

impl Timer for GenericTimer {
    const COUNTER: Counter = Counter::Virtual;

    fn now(&self) -> Ticks {
        Ticks(registers::count())
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }

    fn set_deadline(&mut self, deadline: Ticks) {
        // The condition is met as long as the counter is at or past the comparator, so a deadline that has
        // passed raises the interrupt immediately.
        registers::set_comparator(deadline.0);
        registers::set_control(control::ENABLE);
    }

    fn acknowledge(&mut self) {
        registers::set_control(0);
    }

    const FOR_USERS: bool = USER_TIMER;

    fn set_open(&mut self, open: bool) {
        registers::set_access(access::with_timer(open));
    }

    fn take(&mut self) -> SavedTimer {
        let SavedTimer {
            comparator,
            control,
        } = registers::physical();
        registers::set_physical(SavedTimer::OFF);
        SavedTimer {
            comparator,
            control: control & control::OF_USERS,
        }
    }

    fn put(&mut self, saved: SavedTimer) {
        registers::set_physical(saved);
    }
}
