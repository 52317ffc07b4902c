//! Core-local data that the trap entry needs: GS points to it in the kernel.

use core::cell::Cell;
use core::mem::offset_of;
#[cfg(feature = "harden-meltdown")]
use core::ops::Range;
use core::ptr::null_mut;

#[cfg(feature = "harden")]
use kernel::arch::PhysAddr;
use kernel::sched::CORES;
use x86_64::VirtAddr;
use x86_64::registers::model_specific::{GsBase, KernelGsBase};

use crate::context::Registers;
use crate::isolation::{Isolation, Visible};
use crate::segments::Segments;
#[cfg(feature = "harden")]
use crate::speculation::Speculation;

/// The state of one core that assembly and the processor read and write: all of it is in cells, so that a reference to
/// it promises nothing about its values. On several cores, no core writes to the cache line of another.
#[derive(Debug)]
#[repr(C)]
#[cfg_attr(feature = "smp", repr(align(64)))]
pub struct CoreLocal {
    /// The registers of the current thread; null while the core is idle.
    current: Cell<*mut Registers>,
    /// Top of the kernel's stack.
    stack: Cell<usize>,
    /// The user's stack pointer, saved during the first instructions of a system call.
    user_stack: Cell<usize>,
    /// The kernel.
    kernel: Cell<usize>,
    segments: Segments,
    #[cfg(feature = "harden")]
    hardening: Hardening,
}

/// The defences of [`crate::speculation`] that this core uses.
#[derive(Debug)]
#[repr(C)]
struct Hardening {
    isolation: Isolation,
    /// Whether the processor can flush indirect branch predictions.
    barrier: Cell<bool>,
    /// Whether the processor's buffers are cleared at kernel exit.
    clear_buffers: Cell<bool>,
}

// SAFETY: each core uses only its own element of `OF_CORES`.
unsafe impl Sync for CoreLocal {}

static OF_CORES: Visible<[CoreLocal; CORES]> = Visible(
    [const {
        CoreLocal {
            current: Cell::new(null_mut()),
            stack: Cell::new(0),
            user_stack: Cell::new(0),
            kernel: Cell::new(0),
            segments: Segments::new(),
            #[cfg(feature = "harden")]
            hardening: Hardening {
                isolation: Isolation::none(),
                barrier: Cell::new(false),
                clear_buffers: Cell::new(false),
            },
        }
    }; CORES],
);

impl CoreLocal {
    /// Offset of the pointer to the current thread's registers.
    pub const CURRENT: usize = offset_of!(Self, current);
    /// Offset of the top of the kernel's stack.
    pub const STACK: usize = offset_of!(Self, stack);
    /// Offset of the scratch word.
    pub const USER_STACK: usize = offset_of!(Self, user_stack);

    /// Offset of the kernel's address.
    pub const KERNEL: usize = offset_of!(Self, kernel);
    /// Offset of the stack pointer for traps from user mode; see [`crate::context`].
    #[cfg(not(feature = "harden-meltdown"))]
    pub const TRAP_STACK: usize = offset_of!(Self, segments) + Segments::TRAP_STACK;
    /// Offset of the pointer to which the stubs copy the frame of traps from user mode.
    #[cfg(feature = "harden-meltdown")]
    pub const TRAP_STACK: usize = Self::ISOLATION + Isolation::REGISTERS_END;

    #[cfg(feature = "harden")]
    const HARDENING: usize = offset_of!(Self, hardening);
    #[cfg(not(feature = "harden"))]
    const HARDENING: usize = 0;
    /// Offset of the data that entries use while the kernel is hidden.
    pub const ISOLATION: usize = Self::HARDENING + offset_of!(Hardening, isolation);
    /// Offset of the byte that indicates whether indirect branch predictions are flushed.
    pub const BARRIER: usize = Self::HARDENING + offset_of!(Hardening, barrier);
    /// Offset of the byte that indicates whether buffers are cleared.
    pub const CLEAR_BUFFERS: usize = Self::HARDENING + offset_of!(Hardening, clear_buffers);

    /// Sets up the data of this core, which is number `number`; its kernel entries start at `stack`.
    ///
    /// # Safety
    /// Called once on each core.
    #[cfg_attr(target_os = "none", optimize(size))]
    pub unsafe fn init(number: usize, stack: usize) -> &'static Self {
        let core = &OF_CORES.0[number];
        core.stack.set(stack);
        // SAFETY: by contract, this is the only call for this core.
        unsafe { core.segments.load(number) };
        GsBase::write(VirtAddr::from_ptr(core));
        KernelGsBase::write(VirtAddr::zero());
        core
    }

    /// Enables the defences that the kernel has and this processor needs; `root` is the kernel's.
    #[cfg(feature = "harden")]
    #[cfg_attr(target_os = "none", optimize(size))]
    pub fn harden(&self, speculation: &Speculation, root: PhysAddr) {
        let Hardening {
            isolation,
            barrier,
            clear_buffers,
        } = &self.hardening;
        barrier.set(speculation.barrier);
        clear_buffers.set(speculation.buffers);
        if cfg!(feature = "harden-meltdown") {
            // SAFETY: a kernel address is canonical.
            let end = unsafe { VirtAddr::new_unsafe(isolation.prepare()) };
            self.segments.set_trap_stack(end);
            if speculation.meltdown {
                isolation.enable(root);
            }
        }
    }

    /// Sets the root for user mode; returns whether the kernel is hidden, so that the return loads it.
    #[cfg(feature = "harden-meltdown")]
    #[inline(always)]
    pub fn set_user_root(&self, root: PhysAddr) -> bool {
        self.hardening.isolation.set_user_root(root)
    }

    /// The part that is mapped in user mode.
    #[cfg(feature = "harden-meltdown")]
    pub fn visible() -> Range<usize> {
        Visible::range(&raw const OF_CORES)
    }

    /// The address of this core's kernel.
    #[cfg(feature = "smp")]
    #[inline(always)]
    pub fn kernel() -> usize {
        let address;
        // SAFETY: in the kernel, GS points to the core-local data.
        unsafe {
            core::arch::asm!(
                "mov {}, gs:[{KERNEL}]",
                out(reg) address,
                KERNEL = const Self::KERNEL,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        address
    }

    /// Sets the kernel that fast paths use.
    pub fn set_kernel(&self, address: usize) {
        self.kernel.set(address);
    }

    /// Sets the registers to which kernel entries save the user's state; `None` if the core is idle.
    pub fn set_current(&self, registers: Option<*mut Registers>) {
        let Some(registers) = registers else {
            return self.current.set(null_mut());
        };
        let end = registers.wrapping_add(1) as u64;
        #[cfg(not(feature = "harden-meltdown"))]
        // SAFETY: a kernel address is canonical.
        self.segments
            .set_trap_stack(unsafe { VirtAddr::new_unsafe(end) });
        #[cfg(feature = "harden-meltdown")]
        self.hardening.isolation.set_registers_end(end);
        self.current.set(registers);
    }
}
