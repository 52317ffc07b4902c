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
//! - It pushes nothing: the stack pointer is in a thread's context meanwhile. Exceptions of the kernel
//!   are fatal, on a stack of their own.
//! - No register keeps a value of the kernel or of another thread: all are loaded from the receiver's
//!   context.

use core::mem::offset_of;

use abi::config::{DOMAINS, HARDWARE_DEBUG};
use abi::registers::MESSAGE_REGISTERS;
use abi::{Rights, Syscall};
use kernel::cap::{Packing, RawCap};
use kernel::fastpath::{Layout, NO_MEMBER};
use kernel::object::{CORE_MASK, Endpoint};
use kernel::sched::BIG_LOCK;

use super::{CoreLocal, Machine, State};
use crate::aarch32::{Context, KnownSpace, Spaces};
use crate::breakpoints::Debug;
use crate::machine::debug::Unit;
use crate::machine::fpu::Fpu;
use crate::platform::Platform;
use crate::timer::{Counter, Timer};
use crate::user_timer::UserTimer;

/// Offsets in the kernel of one platform.
struct Offsets<P: Platform>(core::marker::PhantomData<P>);

type Of<P> = Layout<Machine<P>>;

impl<P: Platform> Offsets<P> {
    /// Offset in a thread to which the stack pointer points: just past the general registers.
    const BASE: usize = Of::<P>::THREAD_CONTEXT + Context::RETURN_STATE;
    const SPACE: isize = (Context::SPACE - Context::RETURN_STATE) as isize;

    /// Offset of a field of the kernel from the core's part of it.
    const fn core(field: usize) -> isize {
        field as isize - Of::<P>::KERNEL_CORE as isize
    }

    /// Offset of a field of the architecture's state from the core's part.
    const fn arch(field: usize) -> isize {
        Self::core(Of::<P>::KERNEL_ARCH + field)
    }

    const SPACES: usize = offset_of!(Machine<P>, spaces);
    const FPU: usize = offset_of!(Machine<P>, fpu);
    const DEBUG: usize = offset_of!(Machine<P>, debug);
    const TIMER: usize = offset_of!(Machine<P>, user_timer);

    /// How the assembly reads the clock: not at all, from the virtual counter, or from memory; and where the address is.
    const COUNTER: (usize, isize) = match P::Timer::COUNTER {
        Counter::Unknown => (0, 0),
        Counter::Virtual => (1, 0),
        Counter::Memory(offset) => (2, Self::arch(offset_of!(Machine<P>, timer) + offset)),
    };
}

/// Shifts the address bits out of a thread's handle; the flags and the core number, which handles in
/// endpoints and reply objects have, remain.
const HANDLE_SHIFT: u32 = CORE_MASK.leading_zeros();

/// Bits of the second word of an endpoint's capability.
const fn rights(rights: Rights) -> usize {
    rights.word() << Packing::RIGHTS.position().1
}

// The fields of the second words of capabilities, and those that fill the first.
const _: () = assert!(Packing::GUARD.position().0 == 1);
const _: () = assert!(Packing::GUARD.position().1 + Packing::GUARD.width() == usize::BITS);
const _: () = assert!(Packing::RADIX.position().0 == 1 && Packing::SPLIT.position().0 == 1);
const _: () = assert!(Packing::SPLIT.position().1 >= Packing::RADIX.position().1 + u8::BITS);
const _: () = assert!(Packing::BADGE.position().0 == 1 && Packing::BADGE.position().1 == 0);
const _: () = assert!(Packing::RIGHTS.position().0 == 1 && Packing::RIGHTS.position().1 == 28);
const _: () = assert!(RawCap::offset(0) == 0 && RawCap::offset(1) == 4);
const _: () = assert!(MESSAGE_REGISTERS == 4);
const _: () = assert!(NO_MEMBER == 0);
// In `KnownSpace`, the translation registers follow two words.
const _: () = assert!(KnownSpace::WALK == KnownSpace::SPACE + 8);

/// The kernel entry of system calls. Used by the vector of system calls only.
#[unsafe(naked)]
#[instruction_set(arm::a32)]
#[unsafe(link_section = ".text.entry")]
pub extern "C" fn system_call_entry<P: Platform>() {
    kernel::fast_path_asm!(
        Machine<P>,
        Of::<P>::KERNEL_CORE,
        Offsets::<P>::BASE,
        include_str!("require.s"),
        include_str!("entry.s"),
        include_str!("call.s"),
        include_str!("reply_recv.s"),
        include_str!("leave.s"),
        // The kernel.
        CORE = const Of::<P>::KERNEL_CORE,
        WALKED =
            const Offsets::<P>::arch(Offsets::<P>::SPACES + Spaces::<Machine<P>>::CURRENT),
        KERNEL_SPACE =
            const Offsets::<P>::arch(Offsets::<P>::SPACES + Spaces::<Machine<P>>::KERNEL_WALK),
        GENERATION =
            const Offsets::<P>::arch(Offsets::<P>::SPACES + Spaces::<Machine<P>>::GENERATION),
        FPU_OWNER = const Offsets::<P>::arch(Offsets::<P>::FPU + Fpu::<State, P>::OWNER),
        FPU_ENABLED = const Offsets::<P>::arch(Offsets::<P>::FPU + Fpu::<State, P>::ENABLED),
        TIMER_OWNER = const Offsets::<P>::arch(
            Offsets::<P>::TIMER + UserTimer::<Machine<P>>::OWNER
        ),
        TIMER_OPEN = const Offsets::<P>::arch(
            Offsets::<P>::TIMER + UserTimer::<Machine<P>>::OPEN
        ),
        DEBUG_IN_USE = const Offsets::<P>::arch(Offsets::<P>::DEBUG + Unit::ACTIVE),
        // Core-local data.
        KERNEL = const CoreLocal::KERNEL,
        LOCAL_CURRENT = const CoreLocal::CURRENT,
        // Threads.
        RETURN_STATE = const Context::RETURN_STATE,
        BASE = const Offsets::<P>::BASE,
        R0 = const Context::GENERAL as isize - Context::RETURN_STATE as isize,
        RESTART_PC = const Context::RESTART_PC - Context::RETURN_STATE,
        THREAD_LOCAL = const Context::THREAD_LOCAL - Context::RETURN_STATE,
        THREAD_LOCAL_READ_ONLY = const Context::THREAD_LOCAL_READ_ONLY - Context::RETURN_STATE,
        SPACE = const Offsets::<P>::SPACE + KnownSpace::SPACE as isize,
        DEBUG_ACTIVE = const Context::DEBUG + Debug::ACTIVE - Context::RETURN_STATE,
        // Other objects.
        REPLY_ABOVE_WHICH = const Of::<P>::REPLY_ABOVE_WHICH,
        ENDPOINT_THRESHOLD = const Endpoint::<Machine<P>>::THRESHOLD,
        // Constants.
        CALL_NEGATED = const -(Syscall::Call.number() as isize),
        REPLY_RECV_NEGATED = const -(Syscall::ReplyRecv.number() as isize),
        CNODE = const Packing::CNODE,
        SPLIT = const 1_usize << Packing::SPLIT.position().1,
        GUARD_SHIFT = const Packing::GUARD.position().1,
        ENDPOINT = const Packing::ENDPOINT,
        RIGHTS = const rights(Rights::ALL),
        READ = const rights(Rights::READ),
        WRITE = const rights(Rights::WRITE),
        MAY_REPLY = const rights(Rights::GRANT) | rights(Rights::GRANT_REPLY),
        HANDLE_SHIFT = const HANDLE_SHIFT,
        HAS_THRESHOLD = const Endpoint::<Machine<P>>::HAS_THRESHOLD,
        COUNTER = const Offsets::<P>::COUNTER.0,
        COUNTER_AT = const Offsets::<P>::COUNTER.1,
        CONSUMED = const Offsets::<P>::core(Of::<P>::KERNEL_CONSUMED),
        DOMAINS = const DOMAINS,
        HARDWARE_DEBUG = const HARDWARE_DEBUG as usize,
        BIG_LOCK = const BIG_LOCK as usize,
        ARMV6 = const cfg!(not(target_feature = "v7")) as usize,
        USER_TIMER = const P::Timer::FOR_USERS as usize,
    )
}
