//! Threads.

use core::mem::offset_of;
use core::num::NonZeroU64;
use core::ptr::NonNull;

use abi::LookupFailure;

use super::{Endpoint, Notification, Reply, SchedContext};
use crate::arch::{Arch, UserContext};
use crate::cap::{Cap, Slot};
use crate::collections::{Linked, Links};
use crate::sched::Usage;
use crate::threads::Neighbours;
use crate::time::Ticks;
use crate::token::Ptr;

/// Number of capability slots in a thread.
pub const THREAD_SLOTS: usize = 5;

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
    /// Endpoint for faults.
    FaultHandler,
    /// Endpoint for timeouts.
    TimeoutHandler,
}

impl ThreadSlot {
    /// All of them, in order.
    pub const ALL: [Self; THREAD_SLOTS] = [
        Self::CSpace,
        Self::VSpace,
        Self::Buffer,
        Self::FaultHandler,
        Self::TimeoutHandler,
    ];
}

/// What a thread is doing. Fast paths in assembly know how it is laid out, so its tags are written down.
#[repr(usize)]
pub enum ThreadState<A: Arch> {
    /// Suspended, or gave up.
    Inactive = 0,
    /// Continues behind its last system call.
    Running = 1,
    /// Executes its instruction again.
    Restart = 2,
    /// In the queue of senders of an endpoint.
    BlockedOnSend {
        /// Where.
        endpoint: Ptr<Endpoint<A>>,
        /// Badge of the capability that was used.
        badge: usize,
        /// Its right Grant.
        grant: bool,
        /// Its right GrantReply.
        grant_reply: bool,
        /// Whether a reply is expected.
        call: bool,
    } = 3,
    /// In the queue of receivers of an endpoint.
    BlockedOnReceive {
        /// Where.
        endpoint: Ptr<Endpoint<A>>,
        /// What will track the caller.
        reply: Option<Ptr<Reply<A>>>,
    } = 4,
    /// Called, and waits for the reply.
    BlockedOnReply {
        /// What tracks the call.
        reply: Ptr<Reply<A>>,
    } = 5,
    /// In the queue of a notification.
    BlockedOnNotification {
        /// Where.
        notification: Ptr<Notification<A>>,
    } = 6,
    /// Called with a limit, and its server is out of the way: there will be no answer. An inner server
    /// still has the time, which comes back by the reply object of that server; then the call fails.
    BlockedOnReturn {
        /// What brings the time back.
        reply: Ptr<Reply<A>>,
    } = 7,
}

impl<A: Arch> Clone for ThreadState<A> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<A: Arch> Copy for ThreadState<A> {}

/// What went wrong with a thread; the message to its handler follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Fault {
    /// A capability address did not resolve.
    Cap {
        /// The address.
        address: usize,
        /// Whether it was to be received from.
        in_receive_phase: bool,
        /// Why.
        failure: LookupFailure,
    },
    /// A system call that does not exist.
    UnknownSyscall {
        /// Its number.
        number: usize,
    },
    /// A processor exception.
    UserException {
        /// Which (x86: vector).
        number: usize,
        /// Its code.
        code: usize,
    },
    /// A breakpoint, a single step, or an instruction that exists to stop.
    Debug {
        /// Which of them, see [`abi::breakpoint`].
        reason: usize,
        /// What the breakpoint waits for.
        address: usize,
        /// The breakpoint.
        number: usize,
    },
    /// The budget ran out.
    Timeout {
        /// Badge of the scheduling context.
        badge: usize,
        /// What the longer message tells, see [`abi::fault::timeout_flags`].
        more: Option<usize>,
    },
    /// A memory access without mapping.
    Vm {
        /// The address.
        address: usize,
        /// The processor's status word.
        status: usize,
        /// Whether it was an instruction fetch.
        instruction: bool,
    },
}

/// The fault of a thread that is not handled yet. Fast paths in assembly look at its tag, so the tag is
/// written down: an `Option<Fault>` has none, and the compiler chooses what stands for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum PendingFault {
    /// There is none.
    None = 0,
    /// This one.
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

    /// Whether there is one.
    #[must_use]
    pub const fn is_some(&self) -> bool {
        matches!(self, Self::Some(_))
    }

    /// The fault, which is no longer pending.
    pub const fn take(&mut self) -> Option<Fault> {
        core::mem::replace(self, Self::None).get()
    }
}

/// How much the answer to a `YieldTo` tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum YieldAnswer {
    /// The time used.
    Short,
    /// The state of the target and the time as well.
    Long,
}

/// The queue that a thread is in; one at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Membership {
    /// None.
    None,
    /// A ready queue.
    Ready,
    /// The release queue: waits for time.
    Release,
    /// The queue of an endpoint or notification.
    Waiting,
}

/// A way through the senders of an endpoint; see `ipc::sweep`.
pub struct Sweep<A: Arch> {
    /// The sender to be looked at next.
    pub next: Ptr<Thread<A>>,
    /// Whose senders are meant.
    pub badge: usize,
    /// Its number among all sweeps.
    pub number: u64,
}

impl<A: Arch> Clone for Sweep<A> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<A: Arch> Copy for Sweep<A> {}

/// How far a thread has come in a long operation that it is going to take up again, where the objects
/// themselves do not tell. What is named here may be gone meanwhile; it is compared and never followed.
#[derive(Default)]
pub enum Progress<A: Arch> {
    /// It is in none, or at its beginning.
    #[default]
    None,
    /// Its own sweep of an endpoint.
    Sweep {
        /// Where.
        endpoint: Ptr<Endpoint<A>>,
        /// The number of the sweep.
        number: u64,
    },
    /// A message that it waits to have the time for.
    Deferred {
        /// The odometer of its context when it began to wait.
        since: u64,
    },
    /// Something that is done to a range of addresses.
    Range {
        /// Where it goes on.
        next: usize,
    },
    /// A retype.
    Retype {
        /// The slot of the untyped memory.
        untyped: Ptr<Slot<A>>,
        /// How many objects there are already.
        done: usize,
    },
}

/// A thread.
#[repr(C)]
pub struct Thread<A: Arch> {
    /// Its capability slots; first, so that they are aligned as slots must be.
    pub slots: [Slot<A>; THREAD_SLOTS],
    /// Its registers.
    pub context: A::Context,
    /// What it is doing.
    pub state: ThreadState<A>,
    /// What went wrong, while a handler has not mended it.
    pub fault: PendingFault,
    /// The time that it runs on; without, it is *passive*.
    pub sched_context: Option<Ptr<SchedContext<A>>>,
    /// The scheduling context that it yielded to, while it waits for the answer or has set a timer.
    pub yielding_to: Option<Ptr<SchedContext<A>>>,
    /// The answer that it waits for.
    pub yield_answer: Option<YieldAnswer>,
    /// The moment at which the run of what it yielded to ends; never if that is not set.
    pub yield_timer: Ticks,
    /// While it waits at an endpoint, on time that idles: until when that was charged.
    pub idling: Option<Ticks>,
    /// While it waits for the reply to a call with a budget limit: the limit of the call that it
    /// serves itself.
    pub outer_limit: Option<NonZeroU64>,
    /// The notification that is delivered when it receives.
    pub bound_notification: Option<Ptr<Notification<A>>>,
    /// Address of its IPC buffer, as it sees it.
    pub buffer_address: usize,
    /// Its place in the queue that `membership` names.
    pub links: Links<Thread<A>>,
    /// The queue that it is in.
    pub membership: Membership,
    /// Its priority.
    pub priority: u8,
    /// The highest priority that it may give to others.
    pub max_controlled_priority: u8,
    /// Its domain.
    pub domain: u8,
    /// What it gives to scheduling contexts that are bound or lent to it; it runs at that of the context
    /// that it runs on.
    pub criticality: u8,
    /// The highest criticality that it may give to others.
    pub max_controlled_criticality: u8,
    /// See [`abi::thread_flags`].
    pub flags: u8,
    /// The core that it belongs to: that of its scheduling context, while it has one.
    pub core: u8,
    /// Its name, for people who debug it.
    pub name: [u8; 16],
    /// How far it has come in a long operation.
    pub progress: Progress<A>,
    /// As a sender: the last sweep that began before.
    pub last_sweep: u64,
    /// As the root of an endpoint's queue: the sweep that goes through it.
    pub sweep: Option<Sweep<A>>,
    /// The scheduling context that was bound to it, while nothing undid that; it may be lent to another.
    pub own_context: Option<Ptr<SchedContext<A>>>,
    /// What it has used, for people who measure.
    pub usage: Usage,
    /// Its place among all threads, in debug kernels.
    pub(crate) neighbours: Neighbours<A>,
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
    /// A thread as retype makes it.
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
            flags: 0,
            core,
            name: [0; 16],
            progress: Progress::None,
            last_sweep: 0,
            sweep: None,
            own_context: None,
            usage: Usage::NONE,
            neighbours: Neighbours::NONE,
        }
    }

    /// The thread that has a context.
    ///
    /// # Safety
    /// The context is part of a thread, for which [`Ptr::new`] can be called.
    #[inline(always)]
    pub const unsafe fn of_context(context: NonNull<A::Context>) -> Ptr<Self> {
        // SAFETY: the caller's promise.
        unsafe { Ptr::new(context.byte_sub(offset_of!(Self, context)).cast()) }
    }

    /// The capability in one of its slots.
    #[inline(always)]
    pub fn cap(&self, slot: ThreadSlot) -> Cap<A> {
        self.slots[slot as usize].cap()
    }

    /// Root of its address space.
    #[inline(always)]
    pub fn vspace_cap(&self) -> Cap<A> {
        self.cap(ThreadSlot::VSpace)
    }

    /// Whether it would run if it had time.
    pub const fn is_runnable(&self) -> bool {
        matches!(self.state, ThreadState::Running | ThreadState::Restart)
    }

    /// Whether it waits for another thread.
    pub const fn is_blocked(&self) -> bool {
        matches!(
            self.state,
            ThreadState::BlockedOnSend { .. }
                | ThreadState::BlockedOnReceive { .. }
                | ThreadState::BlockedOnReply { .. }
                | ThreadState::BlockedOnReturn { .. }
                | ThreadState::BlockedOnNotification { .. }
        )
    }

    /// Whether it does not run and will not by itself.
    pub const fn is_stopped(&self) -> bool {
        !self.is_runnable()
    }

    /// Whether the floating-point unit is withheld from it.
    pub const fn fpu_disabled(&self) -> bool {
        self.flags as usize & abi::thread_flags::FPU_DISABLED != 0
    }
}

/// The handle of one of a thread's slots.
pub fn thread_slot<A: Arch>(thread: Ptr<Thread<A>>, slot: ThreadSlot) -> Ptr<Slot<A>> {
    let address = thread.address() + slot as usize * size_of::<Slot<A>>();
    // SAFETY: the slots are the first field of a `repr(C)` thread, which outlives its handles.
    unsafe { Ptr::from_address(address) }.unwrap_or_else(|| unreachable!())
}
