//! Interaction between threads: messages, donation of scheduling contexts, signals, faults.

mod buffer;
mod cancel;
mod cancel_badged;
mod donate;
mod endpoint;
mod fault;
mod limit;
mod reply;
mod resolved_transfer;
mod signal;
mod threshold;
mod transfer;
mod yield_to;

pub use buffer::Buffer;
pub(crate) use endpoint::{InvocationFlags, Receiver};
pub(crate) use fault::is_handler;
pub(crate) use resolved_transfer::ResolvedCapTransfers;
pub(crate) use transfer::ExtraCaps;

use crate::arch::Arch;
use crate::cores::{EntryLock, Irqs};
use crate::sched::Scheduler;

/// The state of communication between threads, on top of the scheduler.
#[repr(C)]
pub struct Ipc<A: Arch> {
    scheduler: Scheduler<A>,
    /// The resolved capability transfers of the messages of this entry.
    pub(crate) cap_transfers: ResolvedCapTransfers<A>,
    /// Constants for debuggers. The last field, because assembly depends on the offsets of the others.
    #[cfg(feature = "debug")]
    pub(crate) constants: &'static crate::debugger::Constants,
}

impl<A: Arch> Ipc<A> {
    /// Offset of the scheduler: both have the same address.
    pub(crate) const SCHEDULER: usize = core::mem::offset_of!(Self, scheduler);

    /// Makes this part of the kernel of a core, in place.
    ///
    /// # Safety
    /// As for [`Scheduler::make_at`].
    pub(crate) unsafe fn make_at(
        place: *mut Self,
        arch: A,
        irqs: Irqs<A>,
        entry_lock: EntryLock<A>,
    ) {
        // SAFETY: the caller's promise, for each field.
        unsafe {
            make_fields!(place, {
                cap_transfers: ResolvedCapTransfers::NONE,
                #[cfg(feature = "debug")]
                constants: &crate::debugger::CONSTANTS,
            } and scheduler);
            Scheduler::make_at(&raw mut (*place).scheduler, arch, irqs, entry_lock);
        }
    }
}

contains!(Ipc, Scheduler, scheduler);
