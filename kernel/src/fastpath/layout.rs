//! What fast paths in assembly must know of the kernel's objects: where their fields lie, and the
//! numbers of what is written into them.
//!
//! Offsets follow from the types themselves, so that nobody can change those without changing the
//! assembly. The tags of enums with fields are written down, as the language has no name for them; a test
//! (`tests/host/tests/suite/layout.rs`) compares them with the enums. Offsets are in bytes, from the
//! beginning of the object that the name begins with.

use core::marker::PhantomData;
use core::mem::offset_of;

use crate::Kernel;
use crate::arch::Arch;
use crate::cap::{RawCap, Slot};
use crate::collections::{Links, PriorityBitmap};
use crate::cores::Gate;
use crate::object::{
    Above, Membership, PendingFault, Reply, SchedContext, Thread, ThreadSlot, ThreadState,
};
use crate::sched::{Alarm, Core, ReadyQueues};

/// A thread's membership in no queue.
pub const NO_MEMBER: u8 = Membership::None as u8;

/// The tag of a value.
///
/// # Safety
/// The type is a `repr(usize)` enum, which begins with its tag (RFC 2195).
const unsafe fn tag<T>(value: &T) -> usize {
    // SAFETY: the caller vouches for the tag.
    unsafe { core::ptr::from_ref(value).cast::<usize>().read() }
}

/// The layout of the objects of one architecture's kernel.
#[derive(Debug)]
pub struct Layout<A: Arch>(PhantomData<A>);

/// Kernel.
impl<A: Arch> Layout<A> {
    const ALARM: usize = Self::KERNEL_CORE + offset_of!(Core<A>, alarm);
    const OCCUPIED: usize =
        Self::KERNEL_CORE + offset_of!(Core<A>, ready) + ReadyQueues::<A>::OCCUPIED;

    const GATE: usize = offset_of!(Kernel<A>, gate);
    /// The address of the word that tells others where this core is. This and what follows is there on
    /// several cores only.
    pub const GATE_PLACE: usize = Self::GATE + Gate::<A>::PLACE;
    /// The address of the byte that tells whether the world is stopped.
    pub const GATE_STOPPED: usize = Self::GATE + Gate::<A>::STOPPED;
    /// Whether somebody has been here; 8 bits.
    pub const GATE_VISITED: usize = Self::GATE + Gate::<A>::VISITED;
    /// The core, as it stands in the words of endpoints and reply objects.
    pub const GATE_BITS: usize = Self::GATE + Gate::<A>::BITS;
    /// The same, with the mark of receivers.
    pub const GATE_RECEIVING: usize = Self::GATE + Gate::<A>::RECEIVING;

    /// What belongs to the core; most of what follows is near its beginning.
    pub const KERNEL_CORE: usize = offset_of!(Kernel<A>, core);
    /// The architecture's own state.
    pub const KERNEL_ARCH: usize = offset_of!(Kernel<A>, arch);
    /// The current thread.
    pub const KERNEL_CURRENT: usize = Self::KERNEL_CORE + offset_of!(Core<A>, current);
    /// The scheduling context that pays.
    pub const KERNEL_CONTEXT: usize = Self::KERNEL_CORE + offset_of!(Core<A>, current_context);
    /// The time of the last kernel entry that looked at the clock; 64 bits.
    pub const KERNEL_NOW: usize = Self::KERNEL_CORE + offset_of!(Core<A>, now);
    /// What may be used until somebody must look; 64 bits.
    pub const KERNEL_ALLOWANCE: usize = Self::KERNEL_CORE + offset_of!(Core<A>, allowance);
    /// The moment that the timer is armed for; 64 bits.
    pub const KERNEL_ALARM_TIME: usize = Self::ALARM + Alarm::TIME;
    /// The level from which on no earlier alarm is wanted; 16 bits.
    pub const KERNEL_ALARM_LOWEST: usize = Self::ALARM + Alarm::LOWEST;
    /// The level from which on the alarm may be too early; 16 bits.
    pub const KERNEL_ALARM_END: usize = Self::ALARM + Alarm::END;
    /// Which of the words that follow have bits, of the priorities at which somebody is ready.
    pub const KERNEL_READY_SUMMARY: usize = Self::OCCUPIED + PriorityBitmap::SUMMARY;
    /// These words.
    pub const KERNEL_READY_WORDS: usize = Self::OCCUPIED + PriorityBitmap::WORDS;
}

/// Thread.
impl<A: Arch> Layout<A> {
    const LINKS: usize = offset_of!(Thread<A>, links);

    const fn slot(slot: ThreadSlot) -> usize {
        offset_of!(Thread<A>, slots) + slot as usize * size_of::<Slot<A>>() + Slot::<A>::CAP
    }

    /// The registers and whatever else the architecture keeps.
    pub const THREAD_CONTEXT: usize = offset_of!(Thread<A>, context);
    /// The capability to the root of the capability space: two words.
    pub const THREAD_CSPACE: usize = Self::slot(ThreadSlot::CSpace) + RawCap::offset(0);
    /// The capability to the root of the address space: two words.
    pub const THREAD_VSPACE: usize = Self::slot(ThreadSlot::VSpace) + RawCap::offset(0);
    /// What it is doing.
    pub const THREAD_STATE: usize = offset_of!(Thread<A>, state);
    /// Where it is blocked on receive: the endpoint. Behind the tag stand the fields in order, as in C
    /// (RFC 2195).
    pub const THREAD_RECEIVES_FROM: usize = Self::THREAD_STATE + size_of::<usize>();
    /// Where it is blocked on receive: what will track the caller.
    pub const THREAD_RECEIVES_WITH: usize = Self::THREAD_STATE + 2 * size_of::<usize>();
    /// Where it is blocked on reply: what tracks the call.
    pub const THREAD_CALLS_WITH: usize = Self::THREAD_STATE + size_of::<usize>();
    /// [`ThreadState::Running`](crate::object::ThreadState::Running).
    // SAFETY: the enum is `repr(usize)`.
    pub const RUNNING: usize = unsafe { tag(&ThreadState::<A>::Running) };
    /// [`ThreadState::BlockedOnReceive`](crate::object::ThreadState::BlockedOnReceive).
    pub const BLOCKED_ON_RECEIVE: usize = 4;
    /// [`ThreadState::BlockedOnReply`](crate::object::ThreadState::BlockedOnReply).
    pub const BLOCKED_ON_REPLY: usize = 5;
    /// What went wrong.
    pub const THREAD_FAULT: usize = offset_of!(Thread<A>, fault);
    /// [`PendingFault::None`](crate::object::PendingFault::None).
    // SAFETY: the enum is `repr(usize)`.
    pub const NO_FAULT: usize = unsafe { tag(&PendingFault::None) };
    /// The scheduling context.
    pub const THREAD_SCHED_CONTEXT: usize = offset_of!(Thread<A>, sched_context);
    /// The notification that is delivered when it receives.
    pub const THREAD_NOTIFICATION: usize = offset_of!(Thread<A>, bound_notification);
    /// The queue that it is in, or [`NO_MEMBER`]; 8 bits.
    pub const THREAD_MEMBERSHIP: usize = offset_of!(Thread<A>, membership);
    /// That of an endpoint.
    pub const WAITING: u8 = Membership::Waiting as u8;
    /// The priority; 8 bits.
    pub const THREAD_PRIORITY: usize = offset_of!(Thread<A>, priority);
    /// See [`abi::thread_flags`]; 8 bits.
    pub const THREAD_FLAGS: usize = offset_of!(Thread<A>, flags);
    /// The core; 8 bits.
    pub const THREAD_CORE: usize = offset_of!(Thread<A>, core);
    /// Its links: the member above it.
    pub const THREAD_PARENT: usize = Self::LINKS + Links::<Thread<A>>::PARENT;
    /// Its links: the first of two members below it.
    pub const THREAD_CHILDREN: usize = Self::LINKS + Links::<Thread<A>>::CHILDREN;
    /// Its links: the next member of its priority.
    pub const THREAD_NEXT: usize = Self::LINKS + Links::<Thread<A>>::NEXT;
    /// Its links: the previous one.
    pub const THREAD_PREVIOUS: usize = Self::LINKS + Links::<Thread<A>>::PREVIOUS;
    /// Its links: the key, 64 bits, which is [`u8::MAX`] less the priority.
    pub const THREAD_KEY: usize = Self::LINKS + Links::<Thread<A>>::KEY;
}

/// Reply object.
impl<A: Arch> Layout<A> {
    /// The thread that waits.
    pub const REPLY_THREAD: usize = Reply::<A>::USER;
    /// The reply object of the next outer call.
    pub const REPLY_BELOW: usize = offset_of!(Reply<A>, below);
    /// What lies above.
    pub const REPLY_ABOVE: usize = offset_of!(Reply<A>, above);
    /// Which reply object, or context, lies above.
    pub const REPLY_ABOVE_WHICH: usize = Self::REPLY_ABOVE + size_of::<usize>();
    /// [`Above::None`](crate::object::Above::None).
    // SAFETY: the enum is `repr(usize)`.
    pub const ABOVE_NONE: usize = unsafe { tag(&Above::<A>::None) };
    /// [`Above::Reply`](crate::object::Above::Reply).
    pub const ABOVE_REPLY: usize = 1;
    /// [`Above::Context`](crate::object::Above::Context).
    pub const ABOVE_CONTEXT: usize = 2;
}

/// Scheduling context.
impl<A: Arch> Layout<A> {
    /// The thread that runs on it.
    pub const SCHED_CONTEXT_THREAD: usize = offset_of!(SchedContext<A>, thread);
    /// Top of its call stack.
    pub const SCHED_CONTEXT_REPLY: usize = offset_of!(SchedContext<A>, reply);
    /// Its core; 8 bits.
    pub const SCHED_CONTEXT_CORE: usize = offset_of!(SchedContext<A>, core);
}
