//! The scheduler of a core, with the state that it works on.

use super::Core;
use crate::arch::Arch;
use crate::cap::Capabilities;
use crate::cores::{EntryLock, Irqs};
use crate::object::DomainSchedule;

/// The state of the kernel that scheduling uses, as one core sees it. It also gives access to what other cores
/// own ([`ExclusiveKernel::exclusive`](crate::ExclusiveKernel::exclusive)): remote accesses schedule and charge, and
/// nothing more.
///
/// The order of fields matters: fast paths in assembly use those around the beginning of `core`.
#[repr(C)]
pub struct Scheduler<A: Arch> {
    /// The objects and capabilities.
    pub capabilities: Capabilities<A>,
    /// The architecture and its state.
    pub arch: A,
    /// This core's side of the entry lock.
    pub(crate) entry_lock: EntryLock<A>,
    /// The scheduling state of this core.
    pub core: Core<A>,
    /// The table of interrupt lines.
    pub irqs: Irqs<A>,
    /// The domain schedule.
    pub domains: DomainSchedule,
}

impl<A: Arch> Scheduler<A> {
    /// Makes the scheduler of a core in place.
    ///
    /// # Safety
    /// `place` can be written to. As for [`crate::Kernel::make_in`].
    pub(crate) unsafe fn make_at(
        place: *mut Self,
        arch: A,
        irqs: Irqs<A>,
        entry_lock: EntryLock<A>,
    ) {
        let id = entry_lock.core();
        // SAFETY: the caller's promise, for each field.
        unsafe {
            make_fields!(place, {
                capabilities: Capabilities::new(),
                irqs: irqs,
                domains: DomainSchedule::new(),
                arch: arch,
                entry_lock: entry_lock,
            } and core);
            Core::make_at(&raw mut (*place).core, id);
        }
    }
}

contains!(Scheduler, Capabilities, capabilities);
