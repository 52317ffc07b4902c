//! Kernel objects: the state of each and the rules that concern a single object. The methods of objects
//! never wake or switch threads; layers above do that.

mod breakpoint;
mod domain;
mod endpoint;
mod irq;
mod notification;
mod owned;
mod reply;
mod sched_context;
mod thread;
mod wait_queue;

pub use breakpoint::{Access, Breakpoint, BreakpointNumbers};
pub use domain::{DomainEntry, DomainSchedule, MAX_DURATION};
pub use endpoint::{Endpoint, EndpointState, EndpointThreshold, ThresholdFlags};
pub use irq::IrqEntry;
pub use notification::{Notification, NotificationState};
pub use owned::{CORE_MASK, CORE_SHIFT, NO_CORE, core_bits};
pub use reply::{Above, Reply};
#[cfg(feature = "debug")]
pub(crate) use sched_context::HEADER_BYTES as REFILLS_OFFSET;
pub use sched_context::{ContextFlags, SchedContext};
pub use thread::{
    CancelCursor, Fault, Membership, PendingFault, Progress, THREAD_SLOTS, Thread, ThreadFlags,
    ThreadSlot, ThreadState, YieldAnswer, thread_slot,
};
pub use wait_queue::WaitQueue;

use abi::sizes;

/// Checks at compile time that the objects of an architecture fit into the object sizes of the ABI.
pub const fn check_sizes<A: crate::arch::Arch>() {
    assert!(size_of::<Thread<A>>() <= 1 << sizes::TCB_BITS);
    assert!(size_of::<Endpoint<A>>() <= 1 << sizes::ENDPOINT_BITS);
    assert!(size_of::<Notification<A>>() <= 1 << sizes::NOTIFICATION_BITS);
    assert!(size_of::<Reply<A>>() <= 1 << sizes::REPLY_BITS);
    assert!(size_of::<crate::slot::Slot<A>>() == 1 << sizes::SLOT_BITS);
}

const _: () = assert!(
    sched_context::HEADER_BYTES + 2 * sizes::REFILL_BYTES <= 1 << sizes::MIN_SCHED_CONTEXT_BITS
);
