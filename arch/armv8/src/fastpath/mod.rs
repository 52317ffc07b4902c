//! Fast paths of Call and ReplyRecv in assembly.
//!
//! Eligible are messages that travel in registers, without capabilities; capability spaces of one level;
//! a passive server that is, or will be, the only thread waiting; and no other thread that would have to
//! run. All other entries exit to the portable kernel before anything has changed, which handles them by
//! its own fast paths ([`kernel::fastpath`]) or the slow path. The assembly has the same effects as these;
//! [`Layout`] describes the layout of the kernel's objects.
//!
//! `entry.s` is the kernel entry, up to the branch to the two fast paths; `require.s` has the conditions that
//! both check first; `call.s` and `reply_recv.s` are the fast paths, and `leave.s` makes the other thread
//! the current one and returns to it.
//!
//! # Safety
//! The assembly maintains the invariants of the rest of the kernel:
//! - It has exclusive access to the kernel like the one reference of the entry: interrupts are masked, and
//!   no reference is alive while it runs.
//! - It pushes nothing: the stack pointer is at a thread's context meanwhile. Exceptions of the kernel
//!   are fatal, on a stack of their own.
//! - No register keeps a value of the kernel or of another thread: all are loaded from the receiver's
//!   context.

use core::arch::naked_asm;
use core::mem::offset_of;

use abi::config::DOMAINS;
use abi::registers::{MESSAGE_REGISTERS, SYSCALL_BYTES};
use abi::sizes::SLOT_BITS;
use abi::{MessageInfo, Rights, Syscall};
use arch_arm::machine::fpu::Fpu;
use arch_arm::timer::Timer;
use arch_arm::user_timer::UserTimer;
use kernel::cap::{Packing, RawCap};
use kernel::fastpath::{Layout, NO_MEMBER};
use kernel::object::{CORE_SHIFT, Endpoint};
use kernel::sched::{BIG_LOCK, CORES};

use crate::context::Context;
use crate::core_local::CoreLocal;
use crate::spaces::{KnownSpace, Spaces};
use crate::trap::class;
use crate::{Aarch64, Armv8, Platform};

/// The position of CPACR_EL1.FPEN, two bits that enable floating point.
const FPEN_SHIFT: usize = 20;

/// Offsets in the kernel of one platform.
struct Offsets<P: Platform>(core::marker::PhantomData<P>);

type Of<P> = Layout<Armv8<P>>;

impl<P: Platform> Offsets<P> {
    /// Offset of a thread's context.
    const CONTEXT: usize = Of::<P>::THREAD_CONTEXT;
    const SPACES: usize = Of::<P>::KERNEL_ARCH + offset_of!(Armv8<P>, spaces);
    const FPU: usize = Of::<P>::KERNEL_ARCH + offset_of!(Armv8<P>, fpu);
    const TIMER: usize = Of::<P>::KERNEL_ARCH + offset_of!(Armv8<P>, user_timer);

    /// Offset of a field of a thread from its context.
    const fn thread(field: usize) -> isize {
        field as isize - Self::CONTEXT as isize
    }
}

const fn right_bit(right: Rights) -> u32 {
    Packing::RIGHTS.place().1 + right.word().trailing_zeros()
}

// The guard and the badge fill the second word; the rights of endpoints are in the first.
const _: () = assert!(Packing::GUARD.place().0 == 1 && Packing::GUARD.place().1 == 0);
const _: () = assert!(Packing::BADGE.place().0 == 1 && Packing::BADGE.place().1 == 0);
const _: () = assert!(Packing::RIGHTS.place().0 == 0 && Packing::SPLIT.place().0 == 0);
const _: () = assert!(RawCap::offset(0) == 0 && RawCap::offset(1) == 8);
const _: () = assert!(MESSAGE_REGISTERS == 4);
const _: () = assert!(NO_MEMBER == 0);

/// The kernel entry of users' synchronous exceptions. Used by their vector only.
#[unsafe(naked)]
#[unsafe(link_section = ".text.entry")]
pub extern "C" fn synchronous_exception<P: Platform>() {
    naked_asm!(
        include_str!("../registers.s"),
        include_str!("require.s"),
        include_str!("entry.s"),
        include_str!("call.s"),
        include_str!("reply_recv.s"),
        include_str!("leave.s"),
        // The kernel.
        CURRENT = const Of::<P>::KERNEL_CURRENT,
        PAYING = const Of::<P>::KERNEL_CONTEXT,
        NOW = const Of::<P>::KERNEL_NOW,
        CHECK_THRESHOLD = const Of::<P>::KERNEL_CHECK_THRESHOLD,
        DEADLINE_TIME = const Of::<P>::KERNEL_DEADLINE_TIME,
        DEADLINE_LOWEST = const Of::<P>::KERNEL_DEADLINE_LOWEST,
        DEADLINE_END = const Of::<P>::KERNEL_DEADLINE_END,
        READY_SUMMARY = const Of::<P>::KERNEL_READY_SUMMARY,
        READY_WORDS = const Of::<P>::KERNEL_READY_WORDS,
        WALK = const Offsets::<P>::SPACES + Spaces::CURRENT,
        REMOVALS = const Offsets::<P>::SPACES + Spaces::REMOVALS,
        FPU_OWNER = const Offsets::<P>::FPU + Fpu::<Aarch64, P>::OWNER,
        FPU_ENABLED = const Offsets::<P>::FPU + Fpu::<Aarch64, P>::ENABLED,
        TIMER_OWNER = const Offsets::<P>::TIMER + UserTimer::<Armv8<P>>::OWNER,
        TIMER_OPEN = const Offsets::<P>::TIMER + UserTimer::<Armv8<P>>::OPEN,
        LOCK_STATE = const Of::<P>::LOCK_STATE,
        LOCK_EXCLUSIVE = const Of::<P>::LOCK_EXCLUSIVE,
        REMOTELY_MODIFIED = const Of::<P>::REMOTELY_MODIFIED,
        CORE_BITS = const Of::<P>::CORE_BITS,
        CORE_RECEIVING = const Of::<P>::CORE_RECEIVING,
        // Core-local data.
        KERNEL = const CoreLocal::KERNEL,
        LOCAL_CURRENT = const CoreLocal::CURRENT,
        // Threads: offsets from their contexts.
        CONTEXT = const Offsets::<P>::CONTEXT,
        NEXT_PC = const Context::NEXT_PC,
        RESTART_PC = const Context::RESTART_PC,
        THREAD_LOCAL = const Context::THREAD_LOCAL,
        SPACE_WALK = const Context::SPACE + KnownSpace::WALK,
        CSPACE = const Offsets::<P>::thread(Of::<P>::THREAD_CSPACE),
        VSPACE = const Offsets::<P>::thread(Of::<P>::THREAD_VSPACE),
        STATE = const Offsets::<P>::thread(Of::<P>::THREAD_STATE),
        RECEIVES_FROM = const Offsets::<P>::thread(Of::<P>::THREAD_RECEIVES_FROM),
        RECEIVES_WITH = const Offsets::<P>::thread(Of::<P>::THREAD_RECEIVES_WITH),
        CALLS_WITH = const Offsets::<P>::thread(Of::<P>::THREAD_CALLS_WITH),
        FAULT = const Offsets::<P>::thread(Of::<P>::THREAD_FAULT),
        SCHED_CONTEXT = const Offsets::<P>::thread(Of::<P>::THREAD_SCHED_CONTEXT),
        NOTIFICATION = const Offsets::<P>::thread(Of::<P>::THREAD_NOTIFICATION),
        MEMBERSHIP = const Offsets::<P>::thread(Of::<P>::THREAD_MEMBERSHIP),
        PRIORITY = const Offsets::<P>::thread(Of::<P>::THREAD_PRIORITY),
        THREAD_CORE = const Offsets::<P>::thread(Of::<P>::THREAD_CORE),
        PARENT = const Offsets::<P>::thread(Of::<P>::THREAD_PARENT),
        CHILDREN = const Offsets::<P>::thread(Of::<P>::THREAD_CHILDREN),
        NEXT = const Offsets::<P>::thread(Of::<P>::THREAD_NEXT),
        PREVIOUS = const Offsets::<P>::thread(Of::<P>::THREAD_PREVIOUS),
        KEY = const Offsets::<P>::thread(Of::<P>::THREAD_KEY),
        // Other objects.
        ENDPOINT_QUEUE = const Endpoint::<Armv8<P>>::QUEUE,
        REPLY_THREAD = const Of::<P>::REPLY_THREAD,
        REPLY_BELOW = const Of::<P>::REPLY_BELOW,
        REPLY_ABOVE = const Of::<P>::REPLY_ABOVE,
        CONTEXT_THREAD = const Of::<P>::SCHED_CONTEXT_THREAD,
        CONTEXT_REPLY = const Of::<P>::SCHED_CONTEXT_REPLY,
        // Constants.
        SYSTEM_CALL = const class::SYSTEM_CALL,
        CALL_NEGATED = const -(Syscall::Call.number() as isize),
        REPLY_RECV_NEGATED = const -(Syscall::ReplyRecv.number() as isize),
        SYSCALL_BYTES = const SYSCALL_BYTES,
        MESSAGE_REGISTERS = const MESSAGE_REGISTERS,
        LENGTH = const MessageInfo::LENGTH,
        LENGTH_AND_CAPS = const MessageInfo::LENGTH | MessageInfo::EXTRA_CAPS,
        CAPS_AND_UNWRAPPED = const MessageInfo::EXTRA_CAPS | MessageInfo::UNWRAPPED,
        SLOT_BITS = const SLOT_BITS,
        OBJECT_SHIFT = const Packing::OBJECT.place().1,
        KIND_MASK = const Packing::KIND,
        CNODE = const Packing::CNODE,
        SPLIT_BIT = const Packing::SPLIT.place().1,
        RADIX_SHIFT = const Packing::RADIX.place().1,
        RADIX_WIDTH = const Packing::RADIX.width(),
        ENDPOINT = const Packing::ENDPOINT,
        READ_BIT = const right_bit(Rights::READ),
        WRITE_BIT = const right_bit(Rights::WRITE),
        MAY_REPLY = const 1_usize << right_bit(Rights::GRANT) | 1 << right_bit(Rights::GRANT_REPLY),
        REPLY_KIND = const Packing::REPLY,
        ROOT_KIND = const crate::cap::ROOT_KIND,
        ENDPOINT_STATE_MASK = const Endpoint::<Armv8<P>>::STATE_MASK,
        ENDPOINT_RECEIVING = const Endpoint::<Armv8<P>>::RECEIVING,
        RUNNING = const Of::<P>::RUNNING,
        BLOCKED_ON_RECEIVE = const Of::<P>::BLOCKED_ON_RECEIVE,
        BLOCKED_ON_REPLY = const Of::<P>::BLOCKED_ON_REPLY,
        NO_FAULT = const Of::<P>::NO_FAULT,
        WAITING = const Of::<P>::WAITING,
        ABOVE_REPLY = const Of::<P>::ABOVE_REPLY,
        ABOVE_CONTEXT = const Of::<P>::ABOVE_CONTEXT,
        HIGHEST_PRIORITY = const u8::MAX,
        FPEN_SHIFT = const FPEN_SHIFT,
        MARKS = const Endpoint::<Armv8<P>>::MARKS,
        CORE_SHIFT = const CORE_SHIFT,
        SHARED = const kernel::cores::SHARED,
        UNLOCKED = const kernel::cores::UNLOCKED,
        DOMAINS = const DOMAINS,
        BIG_LOCK = const BIG_LOCK as usize,
        CORES = const CORES,
        USER_TIMER = const P::Timer::FOR_USERS as usize,
        CHECKED = const cfg!(feature = "debug") as usize,
    )
}
