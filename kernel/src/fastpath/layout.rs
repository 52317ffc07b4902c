//! The layout of kernel objects for fast paths in assembly: offsets of fields, and values of enum tags.
//!
//! Offsets are computed from the types, so that the assembly follows a change of the types. The tags of
//! enum variants with fields are literals, as the language has no name for them; a test
//! (`tests/kernel-host/tests/suite/layout.rs`) compares them with the enums. Offsets are in bytes, from the
//! beginning of the object that the name begins with.

use core::marker::PhantomData;
use core::mem::offset_of;

use crate::arch::Arch;
use crate::collections::{Links, PriorityBitmap};
use crate::cores::EntryLock;
use crate::ipc::Ipc;
use crate::object::{
    Above, Membership, PendingFault, Reply, SchedContext, Thread, ThreadSlot, ThreadState,
};
use crate::sched::{Core, ReadyQueues, Scheduler, TimerDeadline};
use crate::slot::{RawCap, Slot};

/// The membership of a thread that is in no queue.
pub const NO_MEMBER: u8 = Membership::None as u8;

/// The tag of a value.
///
/// # Safety
/// `T` must be a `repr(usize)` enum, which begins with its tag (RFC 2195).
const unsafe fn tag<T>(value: &T) -> usize {
    // SAFETY: the caller guarantees that the value begins with its tag.
    unsafe { core::ptr::from_ref(value).cast::<usize>().read() }
}

/// The layout of the objects of one architecture's kernel.
#[derive(Debug)]
pub struct Layout<A: Arch>(PhantomData<A>);

/// Kernel.
impl<A: Arch> Layout<A> {
    const TIMER_DEADLINE: usize = Self::KERNEL_CORE + offset_of!(Core<A>, timer_deadline);
    const OCCUPIED: usize =
        Self::KERNEL_CORE + offset_of!(Core<A>, ready) + ReadyQueues::<A>::OCCUPIED;

    /// The scheduler; a kernel has the address of its part for communication.
    const SCHEDULER: usize = Ipc::<A>::SCHEDULER;
    const ENTRY_LOCK: usize = Self::SCHEDULER + offset_of!(Scheduler<A>, entry_lock);
    /// Address of the word that shows other cores whether this core holds the entry lock. This and the other
    /// constants of the entry lock are used in multicore kernels only.
    pub const LOCK_STATE: usize = Self::ENTRY_LOCK + EntryLock::<A>::STATE;
    /// Address of the byte that shows whether the entry lock is taken or requested exclusively.
    pub const LOCK_EXCLUSIVE: usize = Self::ENTRY_LOCK + EntryLock::<A>::EXCLUSIVE;
    /// Whether this core was remotely modified; 8 bits.
    pub const REMOTELY_MODIFIED: usize = Self::ENTRY_LOCK + EntryLock::<A>::REMOTELY_MODIFIED;
    /// The core number, in the format of the words of endpoints and reply objects.
    pub const CORE_BITS: usize = Self::ENTRY_LOCK + EntryLock::<A>::BITS;
    /// The core number in that format, combined with the state of an endpoint with receivers.
    pub const CORE_RECEIVING: usize = Self::ENTRY_LOCK + EntryLock::<A>::RECEIVING;

    /// The state of the core; most of the fields below are near its beginning.
    pub const KERNEL_CORE: usize = Self::SCHEDULER + offset_of!(Scheduler<A>, core);
    /// The state of the architecture.
    pub const KERNEL_ARCH: usize = Self::SCHEDULER + offset_of!(Scheduler<A>, arch);
    /// The current thread.
    pub const KERNEL_CURRENT: usize = Self::KERNEL_CORE + offset_of!(Core<A>, current);
    /// The current scheduling context.
    pub const KERNEL_CONTEXT: usize = Self::KERNEL_CORE + offset_of!(Core<A>, current_context);
    /// The time of the last kernel entry that read the clock; 64 bits.
    pub const KERNEL_NOW: usize = Self::KERNEL_CORE + offset_of!(Core<A>, now);
    /// The time consumed from the current context and not charged yet; 64 bits.
    pub const KERNEL_CONSUMED: usize = Self::KERNEL_CORE + offset_of!(Core<A>, consumed);
    /// The budget check threshold; 64 bits.
    pub const KERNEL_CHECK_THRESHOLD: usize =
        Self::KERNEL_CORE + offset_of!(Core<A>, check_threshold);
    /// The timer deadline; 64 bits.
    pub const KERNEL_DEADLINE_TIME: usize = Self::TIMER_DEADLINE + TimerDeadline::TIME;
    /// The preemption rank from which no earlier deadline is needed; 16 bits.
    pub const KERNEL_DEADLINE_LOWEST: usize = Self::TIMER_DEADLINE + TimerDeadline::LOWEST;
    /// The preemption rank from which the deadline may be too early; 16 bits.
    pub const KERNEL_DEADLINE_END: usize = Self::TIMER_DEADLINE + TimerDeadline::END;
    /// The upper level of the bitmap of priorities with ready threads: a bit per word that is not zero.
    pub const KERNEL_READY_SUMMARY: usize = Self::OCCUPIED + PriorityBitmap::SUMMARY;
    /// The lower level of that bitmap: the words with a bit per priority.
    pub const KERNEL_READY_WORDS: usize = Self::OCCUPIED + PriorityBitmap::WORDS;
}

/// Thread.
impl<A: Arch> Layout<A> {
    const LINKS: usize = offset_of!(Thread<A>, links);

    const fn slot(slot: ThreadSlot) -> usize {
        offset_of!(Thread<A>, slots) + slot as usize * size_of::<Slot<A>>() + Slot::<A>::CAP
    }

    /// The register context.
    pub const THREAD_CONTEXT: usize = offset_of!(Thread<A>, context);
    /// The capability to the root of the capability space: two words.
    pub const THREAD_CSPACE: usize = Self::slot(ThreadSlot::CSpace) + RawCap::offset(0);
    /// The capability to the root of the address space: two words.
    pub const THREAD_VSPACE: usize = Self::slot(ThreadSlot::VSpace) + RawCap::offset(0);
    /// The state.
    pub const THREAD_STATE: usize = offset_of!(Thread<A>, state);
    /// The endpoint, in the state blocked on receive. The fields follow the tag in order, as in C (RFC 2195).
    pub const THREAD_RECEIVES_FROM: usize = Self::THREAD_STATE + size_of::<usize>();
    /// The reply object that will track the caller, in the state blocked on receive.
    pub const THREAD_RECEIVES_WITH: usize = Self::THREAD_STATE + 2 * size_of::<usize>();
    /// The reply object that tracks the call, in the state blocked on reply.
    pub const THREAD_CALLS_WITH: usize = Self::THREAD_STATE + size_of::<usize>();
    /// [`ThreadState::Running`].
    // SAFETY: the enum is `repr(usize)`.
    pub const RUNNING: usize = unsafe { tag(&ThreadState::<A>::Running) };
    /// [`ThreadState::BlockedOnReceive`].
    pub const BLOCKED_ON_RECEIVE: usize = 4;
    /// [`ThreadState::BlockedOnReply`].
    pub const BLOCKED_ON_REPLY: usize = 5;
    /// The pending fault.
    pub const THREAD_FAULT: usize = offset_of!(Thread<A>, fault);
    /// [`PendingFault::None`].
    // SAFETY: the enum is `repr(usize)`.
    pub const NO_FAULT: usize = unsafe { tag(&PendingFault::None) };
    /// The scheduling context.
    pub const THREAD_SCHED_CONTEXT: usize = offset_of!(Thread<A>, sched_context);
    /// The notification that is delivered when it receives.
    pub const THREAD_NOTIFICATION: usize = offset_of!(Thread<A>, bound_notification);
    /// The queue that it is in, or [`NO_MEMBER`]; 8 bits.
    pub const THREAD_MEMBERSHIP: usize = offset_of!(Thread<A>, membership);
    /// The membership in the wait queue of an endpoint.
    pub const WAITING: u8 = Membership::Waiting as u8;
    /// The priority; 8 bits.
    pub const THREAD_PRIORITY: usize = offset_of!(Thread<A>, priority);
    /// See [`abi::thread_flags`]; 8 bits.
    pub const THREAD_FLAGS: usize = offset_of!(Thread<A>, flags);
    /// The owning core; 8 bits.
    pub const THREAD_CORE: usize = offset_of!(Thread<A>, core);
    /// Links: the parent in the tree.
    pub const THREAD_PARENT: usize = Self::LINKS + Links::<Thread<A>>::PARENT;
    /// Links: the first of the two children in the tree.
    pub const THREAD_CHILDREN: usize = Self::LINKS + Links::<Thread<A>>::CHILDREN;
    /// Links: the next member of the same priority.
    pub const THREAD_NEXT: usize = Self::LINKS + Links::<Thread<A>>::NEXT;
    /// Links: the previous member of the same priority.
    pub const THREAD_PREVIOUS: usize = Self::LINKS + Links::<Thread<A>>::PREVIOUS;
    /// Links: the sort key, 64 bits, which is [`u8::MAX`] minus the priority.
    pub const THREAD_KEY: usize = Self::LINKS + Links::<Thread<A>>::KEY;
}

/// Reply object.
impl<A: Arch> Layout<A> {
    /// The thread that is blocked with it, and the owning core.
    pub const REPLY_THREAD: usize = Reply::<A>::USER;
    /// The reply object of the next outer call.
    pub const REPLY_BELOW: usize = offset_of!(Reply<A>, below);
    /// The link to the next inner call or the context, next to the other link.
    pub const REPLY_ABOVE: usize = offset_of!(Reply<A>, above);
    /// The reply object or context of that link.
    pub const REPLY_ABOVE_WHICH: usize = Self::REPLY_ABOVE + size_of::<usize>();
    /// [`Above::None`].
    // SAFETY: the enum is `repr(usize)`.
    pub const ABOVE_NONE: usize = unsafe { tag(&Above::<A>::None) };
    /// [`Above::Reply`].
    pub const ABOVE_REPLY: usize = 1;
    /// [`Above::Context`].
    pub const ABOVE_CONTEXT: usize = 2;
}

/// Scheduling context.
impl<A: Arch> Layout<A> {
    /// The thread that runs on it.
    pub const SCHED_CONTEXT_THREAD: usize = offset_of!(SchedContext<A>, thread);
    /// The innermost reply object of its call chain.
    pub const SCHED_CONTEXT_REPLY: usize = offset_of!(SchedContext<A>, reply);
}

/// The body of a fast path in assembly: [`core::arch::naked_asm`] with the operands that all architectures use, for
/// the kernel of `$arch`. Offsets in the kernel and in threads are relative to the addresses in the registers of the
/// assembly, which are at the offsets `$kernel` and `$thread`.
#[macro_export]
macro_rules! fast_path_asm {
    ($arch:ty, $kernel:expr, $thread:expr, $($own:tt)*) => {
        $crate::fast_path_asm! {
            @operands $arch, [$($own)*]
            offsets from ($kernel) {
                KERNEL_CURRENT: KERNEL_CURRENT, CURRENT_CONTEXT: KERNEL_CONTEXT, NOW: KERNEL_NOW,
                CHECK_THRESHOLD: KERNEL_CHECK_THRESHOLD, DEADLINE_TIME: KERNEL_DEADLINE_TIME,
                DEADLINE_LOWEST: KERNEL_DEADLINE_LOWEST, DEADLINE_END: KERNEL_DEADLINE_END,
                READY_SUMMARY: KERNEL_READY_SUMMARY, READY_WORDS: KERNEL_READY_WORDS,
                LOCK_STATE: LOCK_STATE, LOCK_EXCLUSIVE: LOCK_EXCLUSIVE,
                REMOTELY_MODIFIED: REMOTELY_MODIFIED, CORE_BITS: CORE_BITS, CORE_RECEIVING: CORE_RECEIVING,
            }
            offsets from ($thread) {
                CSPACE: THREAD_CSPACE, VSPACE: THREAD_VSPACE, STATE: THREAD_STATE,
                RECEIVES_FROM: THREAD_RECEIVES_FROM, RECEIVES_WITH: THREAD_RECEIVES_WITH,
                CALLS_WITH: THREAD_CALLS_WITH, FAULT: THREAD_FAULT, SCHED_CONTEXT: THREAD_SCHED_CONTEXT,
                NOTIFICATION: THREAD_NOTIFICATION, MEMBERSHIP: THREAD_MEMBERSHIP, PRIORITY: THREAD_PRIORITY,
                THREAD_CORE: THREAD_CORE, PARENT: THREAD_PARENT, CHILDREN: THREAD_CHILDREN, NEXT: THREAD_NEXT,
                PREVIOUS: THREAD_PREVIOUS, KEY: THREAD_KEY,
            }
            offsets from 0 {
                REPLY_THREAD: REPLY_THREAD, REPLY_BELOW: REPLY_BELOW, REPLY_ABOVE: REPLY_ABOVE,
                CONTEXT_THREAD: SCHED_CONTEXT_THREAD, CONTEXT_REPLY: SCHED_CONTEXT_REPLY,
                RUNNING: RUNNING, BLOCKED_ON_RECEIVE: BLOCKED_ON_RECEIVE, BLOCKED_ON_REPLY: BLOCKED_ON_REPLY,
                NO_FAULT: NO_FAULT, WAITING: WAITING, ABOVE_REPLY: ABOVE_REPLY, ABOVE_CONTEXT: ABOVE_CONTEXT,
            }
        }
    };
    (@operands $arch:ty, [$($own:tt)*] $(offsets from $base:tt { $($name:ident: $value:ident,)* })*) => {
        ::core::arch::naked_asm!(
            $($own)*
            $($($name = const $crate::fastpath::Layout::<$arch>::$value as isize - $base as isize,)*)*
            ENDPOINT_QUEUE = const $crate::object::Endpoint::<$arch>::QUEUE,
            ENDPOINT_STATE_MASK = const $crate::object::Endpoint::<$arch>::STATE_MASK,
            ENDPOINT_RECEIVING = const $crate::object::Endpoint::<$arch>::RECEIVING,
            SLOT_BITS = const ::abi::sizes::SLOT_BITS,
            KIND_MASK = const $crate::cap::Packing::KIND,
            RADIX_SHIFT = const $crate::cap::Packing::RADIX.position().1,
            REPLY_KIND = const $crate::cap::Packing::REPLY,
            SYSCALL_BYTES = const ::abi::registers::SYSCALL_BYTES,
            MESSAGE_REGISTERS = const ::abi::registers::MESSAGE_REGISTERS,
            CAPS_AND_UNWRAPPED = const ::abi::MessageInfo::EXTRA_CAPS | ::abi::MessageInfo::UNWRAPPED,
            HIGHEST_PRIORITY = const u8::MAX,
            CORE_SHIFT = const $crate::object::CORE_SHIFT,
            SHARED = const $crate::cores::SHARED,
            UNLOCKED = const $crate::cores::UNLOCKED,
            CORES = const $crate::config::CORES,
            CHECKED = const cfg!(feature = "debug") as usize,
        )
    };
}
