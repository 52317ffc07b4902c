//! Threads.

use core::mem::offset_of;
use core::num::NonZeroU64;
use core::ptr::NonNull;

use abi::fault::FaultLabel;
use abi::{LookupFailure, thread_flags};
use bitflags::bitflags;

use super::{Endpoint, Notification, Reply, SchedContext};
use crate::arch::{Arch, UserContext};
use crate::collections::{Linked, Links};
use crate::instruments::ThreadInstruments;
use crate::slot::Slot;
use crate::time::Ticks;
use crate::token::{Id, Ptr};

/// Number of capability slots in a thread.
pub const THREAD_SLOTS: usize = 5;

bitflags! {
    /// The flags of a thread ([`abi::thread_flags`]).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ThreadFlags: u8 {
        /// It may not use the floating-point unit.
        const FPU_DISABLED = thread_flags::FPU_DISABLED as u8;
    }
}

/// The capability slots of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum ThreadSlot {
    /// Root of the capability space.
    CSpace = 0,
    /// Root of the address space.
    VSpace,
    /// Frame of the IPC buffer.
    Buffer,
    /// Endpoint of the fault handler.
    FaultHandler,
    /// Endpoint of the timeout handler.
    TimeoutHandler,
}

impl ThreadSlot {
    /// All slots, in order.
    pub const ALL: [Self; THREAD_SLOTS] = [
        Self::CSpace,
        Self::VSpace,
        Self::Buffer,
        Self::FaultHandler,
        Self::TimeoutHandler,
    ];
}

/// The state of a thread. Fast paths in assembly depend on the layout, so the tags are explicit.
#[repr(usize)]
pub enum ThreadState<A: Arch> {
    /// Runnable; continues after its last system call. Zero, which AArch64 stores from `xzr` without a load.
    Running = 0,
    /// Runnable; executes its instruction again.
    Restart = 1,
    /// Suspended, or stopped by a fault that no handler takes or by a call that can have no reply.
    Inactive = 2,
    /// In the queue of senders of an endpoint.
    BlockedOnSend {
        /// The endpoint.
        endpoint: Ptr<Endpoint<A>>,
        /// Badge of the capability that was used.
        badge: usize,
        /// Whether that capability has the right Grant.
        grant: bool,
        /// Whether that capability has the right GrantReply.
        grant_reply: bool,
        /// Whether a reply is expected.
        call: bool,
    } = 3,
    /// In the queue of receivers of an endpoint.
    BlockedOnReceive {
        /// The endpoint.
        endpoint: Ptr<Endpoint<A>>,
        /// The reply object that will track the caller.
        reply: Option<Ptr<Reply<A>>>,
    } = 4,
    /// Has called, and waits for the reply.
    BlockedOnReply {
        /// The reply object that tracks the call.
        reply: Ptr<Reply<A>>,
    } = 5,
    /// In the queue of a notification.
    BlockedOnNotification {
        /// The notification.
        notification: Ptr<Notification<A>>,
    } = 6,
    /// Has called with a limit, and its server has dropped out of the call chain, so that there will be no
    /// reply. An inner server still has the context; when that server returns it, the call fails.
    BlockedOnReturn {
        /// The reply object by which the context returns.
        reply: Ptr<Reply<A>>,
    } = 7,
}

copyable!([A: Arch] ThreadState<A>);

impl<A: Arch> ThreadState<A> {
    /// The reply object with which a thread is blocked on receive.
    pub const fn reply(&self) -> Option<Ptr<Reply<A>>> {
        match self {
            Self::BlockedOnReceive { reply, .. } => *reply,
            _ => None,
        }
    }
}

/// The fault of a thread, from which the message to its handler is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Fault {
    /// A capability address did not resolve.
    Cap {
        /// The address.
        address: usize,
        /// Whether the lookup was for the receive phase of a system call.
        in_receive_phase: bool,
        /// The lookup error.
        failure: LookupFailure,
    },
    /// A system call that does not exist.
    UnknownSyscall {
        /// Its number.
        number: usize,
    },
    /// A processor exception.
    UserException {
        /// Its number (x86: vector).
        number: usize,
        /// Its code.
        code: usize,
    },
    /// A breakpoint, a single step, or a software breakpoint instruction.
    Debug {
        /// The reason, see [`abi::breakpoint`].
        reason: usize,
        /// The address at which the breakpoint is set.
        address: usize,
        /// The number of the breakpoint.
        number: usize,
    },
    /// The budget ran out.
    Timeout {
        /// Badge of the scheduling context.
        badge: usize,
        /// The flags of the long message format, see [`abi::fault::timeout_flags`].
        more: Option<usize>,
    },
    /// A memory access that the page tables do not allow.
    Vm {
        /// The address.
        address: usize,
        /// The processor's status word.
        status: usize,
        /// Whether it was an instruction fetch.
        instruction: bool,
    },
}

impl Fault {
    /// The label of the message to its handler.
    #[must_use]
    pub const fn label(&self) -> FaultLabel {
        match self {
            Self::Cap { .. } => FaultLabel::CapFault,
            Self::UnknownSyscall { .. } => FaultLabel::UnknownSyscall,
            Self::UserException { .. } => FaultLabel::UserException,
            Self::Debug { .. } => FaultLabel::DebugException,
            Self::Timeout { .. } => FaultLabel::Timeout,
            Self::Vm { .. } => FaultLabel::VmFault,
        }
    }
}

/// The fault of a thread that is not handled yet. Fast paths in assembly test its tag, so the tag is
/// explicit: for an `Option<Fault>`, the compiler would choose the representation of `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum PendingFault {
    /// No fault is pending.
    None = 0,
    /// This fault is pending.
    Some(Fault) = 1,
}

impl PendingFault {
    /// The fault, if there is one.
    #[must_use]
    pub const fn get(self) -> Option<Fault> {
        match self {
            Self::None => None,
            Self::Some(fault) => Some(fault),
        }
    }

    /// Whether a fault is pending.
    #[must_use]
    pub const fn is_some(&self) -> bool {
        matches!(self, Self::Some(_))
    }

    /// Takes the fault, which is no longer pending.
    pub const fn take(&mut self) -> Option<Fault> {
        core::mem::replace(self, Self::None).get()
    }
}

/// The format of the answer to a `YieldTo`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum YieldAnswer {
    /// The consumed time.
    Short,
    /// The consumed time, the state of the target and the current time.
    Long,
}

/// The queue that a thread is in. A thread is in at most one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Membership {
    /// No queue.
    None,
    /// A ready queue.
    Ready,
    /// The release queue, to wait for a replenishment.
    Release,
    /// The wait queue of an endpoint or notification.
    Waiting,
}

/// The badge cancellation cursor of an endpoint; see `ipc::cancel_badged`.
pub struct CancelCursor<A: Arch> {
    /// The sender to examine next.
    pub next: Ptr<Thread<A>>,
    /// The badge of the sends to cancel.
    pub badge: usize,
    /// The number of the cancellation.
    pub number: u64,
}

copyable!([A: Arch] CancelCursor<A>);

/// The progress of a thread in a preempted operation, if the objects themselves do not show it. The objects
/// named here may have been deleted since.
#[derive(Default)]
pub enum Progress<A: Arch> {
    /// No operation is in progress, or it starts from its beginning.
    #[default]
    None,
    /// A cancellation of badged sends that the thread has started.
    CancelCursor {
        /// The endpoint.
        endpoint: Id<Endpoint<A>>,
        /// The number of the cancellation.
        number: u64,
    },
    /// A message that is deferred until the context has enough budget.
    Deferred {
        /// The total consumed of its context when it was deferred.
        since: u64,
    },
    /// An operation on a range of addresses.
    Range {
        /// The address at which it continues.
        next: usize,
    },
    /// A retype.
    Retype {
        /// The slot of the untyped memory.
        untyped: Id<Slot<A>>,
        /// The number of objects created so far.
        done: usize,
    },
}

/// A thread.
#[repr(C)]
pub struct Thread<A: Arch> {
    /// Its capability slots. They are the first field, because slots need the alignment of the object.
    pub slots: [Slot<A>; THREAD_SLOTS],
    /// Its registers.
    pub context: A::Context,
    /// Its state.
    pub state: ThreadState<A>,
    /// The fault that its handler has not yet replied to.
    pub fault: PendingFault,
    /// The scheduling context that it runs on; without one it is *passive*.
    pub sched_context: Option<Ptr<SchedContext<A>>>,
    /// The scheduling context that it yielded to, while it waits for the answer or has set a timer.
    pub yielding_to: Option<Ptr<SchedContext<A>>>,
    /// The answer that it waits for.
    pub yield_answer: Option<YieldAnswer>,
    /// The time at which the run of the thread that it yielded to ends; [`Ticks::NEVER`] if no timer is set.
    pub yield_timer: Ticks,
    /// While it waits at an endpoint with an idling context: the time up to which that was charged.
    pub idling: Option<Ticks>,
    /// While it waits for the reply to a call with a budget limit: the limit of the call that it
    /// serves itself.
    pub outer_limit: Option<NonZeroU64>,
    /// The notification that is delivered when it receives.
    pub bound_notification: Option<Ptr<Notification<A>>>,
    /// Virtual address of its IPC buffer in its own address space.
    pub buffer_address: usize,
    /// Its links in the queue that `membership` names.
    pub links: Links<Thread<A>>,
    /// The queue that it is in.
    pub membership: Membership,
    /// Its priority.
    pub priority: u8,
    /// The highest priority that it may give to others.
    pub max_controlled_priority: u8,
    /// Its domain.
    pub domain: u8,
    /// The criticality that it gives to scheduling contexts that are bound or lent to it. It runs at the
    /// criticality of its scheduling context.
    pub criticality: u8,
    /// The highest criticality that it may give to others.
    pub max_controlled_criticality: u8,
    /// What `TCB_SetFlags` has set.
    pub flags: ThreadFlags,
    /// The owning core: that of its scheduling context, while it has one.
    pub core: u8,
    /// Its name, for debugging.
    pub name: [u8; 16],
    /// Its progress in a preempted operation.
    pub progress: Progress<A>,
    /// As a sender: the number of the latest badge cancellation that began before it waited.
    pub last_cancel: u64,
    /// As the root of an endpoint's wait queue: the badge cancellation cursor of the endpoint.
    pub cursor: Option<CancelCursor<A>>,
    /// The scheduling context that is bound to it. It may be donated to another thread.
    pub own_context: Option<Ptr<SchedContext<A>>>,
    /// What it stores for kernels that observe themselves.
    pub(crate) instruments: ThreadInstruments<A>,
}

impl<A: Arch> Linked for Thread<A> {
    fn links(&self) -> &Links<Self> {
        &self.links
    }
    fn links_mut(&mut self) -> &mut Links<Self> {
        &mut self.links
    }
}

impl<A: Arch> Thread<A> {
    /// A thread as retype creates it.
    pub fn new(domain: u8, core: u8) -> Self {
        Self {
            slots: [Slot::EMPTY; THREAD_SLOTS],
            context: A::Context::new(),
            state: ThreadState::Inactive,
            fault: PendingFault::None,
            sched_context: None,
            yielding_to: None,
            yield_answer: None,
            yield_timer: Ticks::NEVER,
            idling: None,
            outer_limit: None,
            bound_notification: None,
            buffer_address: 0,
            links: Links::NONE,
            membership: Membership::None,
            priority: 0,
            max_controlled_priority: 0,
            domain,
            criticality: 0,
            max_controlled_criticality: 0,
            flags: ThreadFlags::empty(),
            core,
            name: [0; 16],
            progress: Progress::None,
            last_cancel: 0,
            cursor: None,
            own_context: None,
            instruments: ThreadInstruments::new(),
        }
    }

    /// The thread to which a register context belongs.
    ///
    /// # Safety
    /// The register context must be part of a thread for which [`Ptr::new`] can be called.
    #[inline(always)]
    pub const unsafe fn of_context(context: NonNull<A::Context>) -> Ptr<Self> {
        // SAFETY: the caller guarantees it.
        unsafe { Ptr::new(context.byte_sub(offset_of!(Self, context)).cast()) }
    }

    /// The register context of a thread, for assembly, which saves the user's registers there. A reference would give
    /// access only as long as it is in use, and a shared one none to write.
    #[inline(always)]
    pub const fn context_of(thread: Ptr<Self>) -> *mut A::Context {
        let thread = thread.as_ptr();
        thread.wrapping_byte_add(offset_of!(Self, context)).cast()
    }

    /// Whether it is runnable; to run, it also needs a scheduling context with budget.
    pub const fn is_runnable(&self) -> bool {
        matches!(self.state, ThreadState::Running | ThreadState::Restart)
    }

    /// Whether it is blocked on another thread or a notification.
    pub const fn is_blocked(&self) -> bool {
        !self.is_runnable() && !matches!(self.state, ThreadState::Inactive)
    }

    /// Its name, to be printed.
    pub(crate) fn shown_name(&self) -> impl core::fmt::Display + '_ {
        let end = self.name.iter().position(|byte| *byte == 0);
        self.name[..end.unwrap_or(self.name.len())].escape_ascii()
    }

    /// Whether it may not use the floating-point unit.
    pub const fn fpu_disabled(&self) -> bool {
        self.flags.contains(ThreadFlags::FPU_DISABLED)
    }
}

/// The handle of a slot of a thread.
pub fn thread_slot<A: Arch>(thread: Ptr<Thread<A>>, slot: ThreadSlot) -> Ptr<Slot<A>> {
    let first = thread.as_ptr().cast::<Slot<A>>();
    let pointer = first.wrapping_add(slot as usize);
    // SAFETY: the slots are the first field of a `repr(C)` thread, which outlives its handles.
    unsafe { Ptr::new(NonNull::new_unchecked(pointer)) }
}
