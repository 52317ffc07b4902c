//! Fast paths of Call and ReplyRecv in assembly.
//!
//! Eligible are messages that travel in registers, without capabilities; capability spaces of one level;
//! a passive server that is, or will be, the only thread waiting; and no other thread that would have to
//! run. A Call through an endpoint with a threshold without flags reads the clock, and is eligible if the caller has
//! the budget. All other entries exit to the portable kernel before anything has changed, which handles them by
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

use core::mem::offset_of;

use abi::config::{DOMAINS, HARDWARE_DEBUG};
use abi::registers::MESSAGE_REGISTERS;
use abi::{MessageInfo, Rights, Syscall};
use arch_arm::breakpoints::Debug;
use arch_arm::machine::debug::Unit;
use arch_arm::machine::fpu::Fpu;
use arch_arm::timer::Timer;
use arch_arm::user_timer::UserTimer;
use kernel::cap::{Packing, RawCap};
use kernel::fastpath::{Layout, NO_MEMBER};
use kernel::object::Endpoint;
use kernel::sched::BIG_LOCK;

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
    const DEBUG: usize = Of::<P>::KERNEL_ARCH + offset_of!(Armv8<P>, debug);
    const TIMER: usize = Of::<P>::KERNEL_ARCH + offset_of!(Armv8<P>, user_timer);
}

const fn right_bit(right: Rights) -> u32 {
    Packing::RIGHTS.position().1 + right.word().trailing_zeros()
}

// The guard and the badge fill the second word; the rights of endpoints are in the first.
const _: () = assert!(Packing::GUARD.position().0 == 1 && Packing::GUARD.position().1 == 0);
const _: () = assert!(Packing::BADGE.position().0 == 1 && Packing::BADGE.position().1 == 0);
const _: () = assert!(Packing::RIGHTS.position().0 == 0 && Packing::SPLIT.position().0 == 0);
const _: () = assert!(RawCap::offset(0) == 0 && RawCap::offset(1) == 8);
const _: () = assert!(MESSAGE_REGISTERS == 4);
const _: () = assert!(NO_MEMBER == 0);

/// The kernel entry of users' synchronous exceptions. Used by their vector only.
#[unsafe(naked)]
#[unsafe(link_section = ".text.entry")]
pub extern "C" fn synchronous_exception<P: Platform>() {
    kernel::fast_path_asm!(
        Armv8<P>,
        0,
        Offsets::<P>::CONTEXT,
        include_str!("../registers.s"),
        include_str!("require.s"),
        include_str!("entry.s"),
        include_str!("call.s"),
        include_str!("reply_recv.s"),
        include_str!("leave.s"),
        // The kernel.
        WALK = const Offsets::<P>::SPACES + Spaces::CURRENT,
        GENERATION = const Offsets::<P>::SPACES + Spaces::GENERATION,
        CONSUMED = const Of::<P>::KERNEL_CONSUMED,
        FPU_OWNER = const Offsets::<P>::FPU + Fpu::<Aarch64, P>::OWNER,
        FPU_ENABLED = const Offsets::<P>::FPU + Fpu::<Aarch64, P>::ENABLED,
        TIMER_OWNER = const Offsets::<P>::TIMER + UserTimer::<Armv8<P>>::OWNER,
        TIMER_OPEN = const Offsets::<P>::TIMER + UserTimer::<Armv8<P>>::OPEN,
        DEBUG_IN_USE = const Offsets::<P>::DEBUG + Unit::ACTIVE,
        // Core-local data.
        KERNEL = const CoreLocal::KERNEL,
        LOCAL_CURRENT = const CoreLocal::CURRENT,
        // Threads: offsets from their contexts.
        THREAD_CONTEXT = const Offsets::<P>::CONTEXT,
        NEXT_PC = const Context::NEXT_PC,
        RESTART_PC = const Context::RESTART_PC,
        THREAD_LOCAL = const Context::THREAD_LOCAL,
        DEBUG_ACTIVE = const Context::DEBUG + Debug::ACTIVE,
        SPACE_WALK = const Context::SPACE + KnownSpace::WALK,
        // Other objects.
        ENDPOINT_THRESHOLD = const Endpoint::<Armv8<P>>::THRESHOLD,
        // Constants.
        HAS_THRESHOLD = const Endpoint::<Armv8<P>>::HAS_THRESHOLD,
        SYSTEM_CALL = const class::SYSTEM_CALL,
        CALL_NEGATED = const -(Syscall::Call.number() as isize),
        REPLY_RECV_NEGATED = const -(Syscall::ReplyRecv.number() as isize),
        LENGTH = const MessageInfo::LENGTH,
        LENGTH_AND_CAPS = const MessageInfo::LENGTH | MessageInfo::EXTRA_CAPS,
        OBJECT_SHIFT = const Packing::OBJECT.position().1,
        CNODE = const Packing::CNODE,
        SPLIT_BIT = const Packing::SPLIT.position().1,
        RADIX_WIDTH = const Packing::RADIX.width(),
        ENDPOINT = const Packing::ENDPOINT,
        READ_BIT = const right_bit(Rights::READ),
        WRITE_BIT = const right_bit(Rights::WRITE),
        MAY_REPLY = const 1_usize << right_bit(Rights::GRANT) | 1 << right_bit(Rights::GRANT_REPLY),
        ROOT_KIND = const crate::cap::ROOT_KIND,
        FPEN_SHIFT = const FPEN_SHIFT,
        MARKS = const Endpoint::<Armv8<P>>::STATE_MASK,
        DOMAINS = const DOMAINS,
        HARDWARE_DEBUG = const HARDWARE_DEBUG as usize,
        BIG_LOCK = const BIG_LOCK as usize,
        USER_TIMER = const P::Timer::FOR_USERS as usize,
    )
}
