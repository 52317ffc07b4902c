//! Fast paths of Call and ReplyRecv in assembly.
//!
//! Eligible are messages that travel in registers, without capabilities; capability spaces of one level;
//! a passive server that is, or will be, the only thread waiting; and no other thread that would have to
//! run. A Call through an endpoint with a threshold without flags reads the clock, and is eligible if the caller has
//! the budget. All other entries exit to the portable kernel before anything has changed, which handles them by
//! its own fast paths ([`kernel::fastpath`]) or the slow path. The assembly has the same effects as these;
//! [`kernel::fastpath::Layout`] describes the layout of the kernel's objects.
//!
//! `entry.s` is the kernel entry, up to the branch to the two fast paths, which are `call.s` and
//! `reply_recv.s`; `leave.s` makes the other thread the current one and returns to it.
//!
//! # Safety
//! The assembly maintains the invariants of the rest of the kernel:
//! - It has exclusive access to the kernel like the one reference of the entry: interrupts are disabled,
//!   and no reference is alive while it runs.
//! - The stack pointer is at the registers of a thread meanwhile. It pushes nothing, and exceptions that
//!   can occur here have stacks of their own.
//! - No register keeps a value of the kernel or of another thread: all are loaded from the receiver's
//!   context, except those of the message.

use core::mem::offset_of;

use abi::config::{DOMAINS, HARDWARE_DEBUG};
use abi::registers::{MESSAGE_REGISTERS, REPLY};
use abi::{MessageInfo, Rights, Syscall};
use kernel::cap::{Packing, RawCap};
use kernel::fast_path_asm;
use kernel::fastpath::{Layout, NO_MEMBER};
use kernel::object::{CORE_MASK, Endpoint};
use kernel::sched::BIG_LOCK;

use x86_64::VirtAddr;
use x86_64::registers::control::Cr0Flags;
use x86_64::registers::model_specific::LStar;

use crate::bases;
use crate::context::{Context, KnownSpace, Registers, entry_asm};
use crate::core_local::CoreLocal;
use crate::fpu::Fpu;
use crate::space::Asids;
use crate::{Platform, X86_64};

/// Offsets in the kernel of one platform.
struct Offsets<P: Platform>(core::marker::PhantomData<P>);

impl<P: Platform> Offsets<P> {
    const CONTEXT: usize = Layout::<X86_64<P>>::THREAD_CONTEXT;
    /// Offset of a thread's registers.
    const REGISTERS: usize = Self::CONTEXT + offset_of!(Context, registers);
    /// Offset of the floating-point state from the registers.
    const FPU: isize = offset_of!(Context, fpu) as isize - offset_of!(Context, registers) as isize;
    const SPACE: usize = offset_of!(Context, space) - offset_of!(Context, registers);
    const ARCH: usize = Layout::<X86_64<P>>::KERNEL_ARCH;
    const FPU_UNIT: usize = Self::ARCH + offset_of!(X86_64<P>, fpu);
}

/// Bits of the first word of a capability.
const WHOLE_CNODE_MASK: usize = Packing::KIND | 1 << Packing::SPLIT.position().1;

const fn right(right: Rights) -> usize {
    right.word() << Packing::RIGHTS.position().1
}

// The guard and the badge fill the second word.
const _: () = assert!(Packing::GUARD.position().0 == 1 && Packing::GUARD.position().1 == 0);
const _: () = assert!(Packing::BADGE.position().0 == 1 && Packing::BADGE.position().1 == 0);
const _: () = assert!(RawCap::offset(0) == 0 && RawCap::offset(1) == 8);
const _: () = assert!(MESSAGE_REGISTERS == 4);

/// Lets system calls take fast paths from now on, unless the processor lacks features that the assembly
/// needs, or thread switches involve more than the assembly handles.
pub fn enable<P: Platform>(arch: &X86_64<P>) {
    if !bases::has_instructions()
        || arch.fpu.components() == 0
        || HARDWARE_DEBUG
        || DOMAINS > 1
        || BIG_LOCK
    {
        return;
    }
    LStar::write(VirtAddr::new(system_call_entry::<P> as *const () as u64));
}

/// The kernel entry of system calls, with fast paths. Called by the processor only.
#[unsafe(naked)]
#[unsafe(link_section = ".text.entry")]
extern "C" fn system_call_entry<P: Platform>() {
    entry_asm!(
        fast_path_asm,
        X86_64<P>,
        0,
        Offsets::<P>::REGISTERS,
        include_str!("entry.s"),
        include_str!("call.s"),
        include_str!("reply_recv.s"),
        include_str!("leave.s"),
        // Core-local data.
        KERNEL = const CoreLocal::KERNEL,
        // The kernel.
        CONSUMED = const Layout::<X86_64<P>>::KERNEL_CONSUMED,
        GENERATION = const Offsets::<P>::ARCH + offset_of!(X86_64<P>, asids) + Asids::GENERATION,
        ACTIVE_ROOT = const Offsets::<P>::ARCH + offset_of!(X86_64<P>, active_root),
        BASES_OF = const Offsets::<P>::ARCH + offset_of!(X86_64<P>, bases_of),
        FPU_OWNER = const Offsets::<P>::FPU_UNIT + Fpu::<P>::OWNER,
        FPU_TRAPPING = const Offsets::<P>::FPU_UNIT + Fpu::<P>::TRAPPING,
        FPU_COMPONENTS = const Offsets::<P>::FPU_UNIT + Fpu::<P>::COMPONENTS,
        // Threads: offsets from their registers.
        REGISTERS = const Offsets::<P>::REGISTERS,
        REGISTERS_SIZE = const size_of::<Registers>(),
        FLAGS =
            const Layout::<X86_64<P>>::THREAD_FLAGS as isize - Offsets::<P>::REGISTERS as isize,
        FPU = const Offsets::<P>::FPU,
        FPU_OF_THREAD = const Offsets::<P>::CONTEXT + offset_of!(Context, fpu),
        SPACE = const Offsets::<P>::SPACE + offset_of!(KnownSpace, space),
        SPACE_REMOVALS = const Offsets::<P>::SPACE + offset_of!(KnownSpace, generation),
        SPACE_ROOT = const Offsets::<P>::SPACE + offset_of!(KnownSpace, root),
        FS_BASE = const Registers::FS_BASE,
        GS_BASE = const Registers::GS_BASE,
        BASES_LOADED = const Registers::BASES_LOADED,
        REPLY = const Registers::of_abi(REPLY),
        // Other objects.
        REPLY_ABOVE_WHICH = const Layout::<X86_64<P>>::REPLY_ABOVE_WHICH,
        ENDPOINT_THRESHOLD = const Endpoint::<X86_64<P>>::THRESHOLD,
        // Constants.
        CALL = const Syscall::Call.number() as isize,
        REPLY_RECV = const Syscall::ReplyRecv.number() as isize,
        LENGTH = const MessageInfo::LENGTH,
        LENGTH_AND_CAPS = const MessageInfo::LENGTH | MessageInfo::EXTRA_CAPS,
        OBJECT_SHIFT = const Packing::OBJECT.position().1,
        WHOLE_CNODE_MASK = const WHOLE_CNODE_MASK,
        WHOLE_CNODE = const Packing::CNODE,
        WRITABLE_ENDPOINT_MASK = const Packing::KIND | right(Rights::WRITE),
        WRITABLE_ENDPOINT = const Packing::ENDPOINT | right(Rights::WRITE),
        READABLE_ENDPOINT_MASK = const Packing::KIND | right(Rights::READ),
        READABLE_ENDPOINT = const Packing::ENDPOINT | right(Rights::READ),
        MAY_REPLY = const right(Rights::GRANT) | right(Rights::GRANT_REPLY),
        NO_MEMBER = const NO_MEMBER,
        ABOVE_NONE = const Layout::<X86_64<P>>::ABOVE_NONE,
        FPU_DISABLED = const abi::thread_flags::FPU_DISABLED,
        TASK_SWITCHED = const Cr0Flags::TASK_SWITCHED.bits(),
        HAS_THRESHOLD = const Endpoint::<X86_64<P>>::HAS_THRESHOLD,
        NO_THRESHOLD = const !(Endpoint::<X86_64<P>>::HAS_THRESHOLD as isize),
        NO_MARKS = const !(Endpoint::<X86_64<P>>::STATE_MASK as isize),
        CORE_MASK = const CORE_MASK,
    )
}

/// The check after a fast path in kernels that check their own invariants.
pub fn check<P: Platform>() {
    // SAFETY: this is the only handle of the kernel entry.
    unsafe { P::core() }.after_assembly();
}
