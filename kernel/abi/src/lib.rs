//! The user interface of the kernel: numbers, encodings and layouts.
//!
//! This crate is the one place where the interface is written down. The kernel and its users both
//! compile it, so they cannot disagree. The contract is that of seL4 16.0 in its MCS configuration
//! (see the seL4 reference manual and libsel4's headers); what Escapement adds has numbers far from
//! seL4's, so that future releases cannot collide with it.
//!
//! Numbers that depend on build options ([`config`]) come from one ordered table per kind
//! ([`Method`], [`ObjectType`]): an option that is off removes its rows and all later numbers move up.
#![no_std]

mod boot_info;
pub mod breakpoint;
pub mod config;
mod error;
pub mod fault;
mod ipc_buffer;
mod mark;
mod message;
mod method;
mod object_type;
mod ordered;
pub mod registers;
pub mod sizes;
pub mod slots;
mod syscall;

pub use boot_info::{
    BootInfo, BootInfoHeader, BootInfoRecord, MAX_BOOT_UNTYPEDS, SlotRegion, UntypedDescriptor,
};
pub use error::{ErrorCode, LookupFailure};
pub use ipc_buffer::{IPC_BUFFER_BITS, IpcBuffer};
pub use mark::Mark;
pub use message::{GuardData, MAX_EXTRA_CAPS, MAX_MESSAGE_LENGTH, MessageInfo, Rights};
pub use method::Method;
pub use object_type::ObjectType;
pub use syscall::Syscall;

/// Bits of a machine word.
pub const WORD_BITS: usize = usize::BITS as usize;

/// Bits of an endpoint or notification badge: on 32-bit machines the high four are dropped.
pub const BADGE_BITS: usize = if WORD_BITS == 64 { 64 } else { 28 };

/// Number of thread priorities; 255 is the highest.
pub const PRIORITIES: usize = 256;

/// Number of criticalities, and of levels of criticality.
pub const CRITICALITIES: usize = if cfg!(feature = "one-criticality") {
    1
} else {
    8
};

/// The highest criticality, and the highest level.
pub const MAX_CRITICALITY: u8 = CRITICALITIES as u8 - 1;

/// The most objects that one `Untyped_Retype` creates.
pub const RETYPE_LIMIT: usize = 256;

/// Scheduling-context flags of `SchedControl_ConfigureFlags`.
pub mod sched_context_flags {
    /// Replenishments follow wake-ups instead of switches (sporadic server).
    pub const SPORADIC: usize = 1;
    /// Escapement: budget is used while the thread waits at an endpoint.
    pub const IDLING: usize = 1 << 16;
}

/// What the thread of a scheduling context is doing, as answers to `SchedContext_YieldTo` and
/// `SchedContext_YieldToTimeout` tell: an addition of Escapement.
pub mod yield_target {
    /// It could run: it was preempted, or its slice has ended, or it waits for its turn.
    pub const RUNNABLE: usize = 0;
    /// It waits for a message, a reply or a signal.
    pub const BLOCKED: usize = 1;
    /// It waits for budget.
    pub const OUT_OF_TIME: usize = 2;
    /// It is suspended, or there is none.
    pub const STOPPED: usize = 3;
    /// It has a timeout fault to which its handler has not replied yet.
    pub const TIMED_OUT: usize = 4;
}

/// Endpoint flags of `CNode_EndpointSetThreshold`, an addition of Escapement.
pub mod endpoint_flags {
    /// Only senders that donate may send.
    pub const DONATION_REQUIRED: usize = 1;
    /// A server may use no more of a donated budget than the threshold.
    pub const LIMIT: usize = 2;
    /// Receivers learn the donated budget: microseconds in the message word behind the message (two words on
    /// 32-bit machines), zero without a donation.
    pub const TELL_BUDGET: usize = 4;
    /// All flags that exist.
    pub const MASK: usize = DONATION_REQUIRED | LIMIT | TELL_BUDGET;
}

/// Thread flags of `TCB_SetFlags`.
pub mod thread_flags {
    /// The thread may not use the floating-point unit: its first use is an exception.
    pub const FPU_DISABLED: usize = 1;
    /// All flags that exist.
    pub const MASK: usize = FPU_DISABLED;
}
