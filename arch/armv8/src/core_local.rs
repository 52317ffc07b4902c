//! What belongs to one core and must be found by the trap entry: TPIDR_EL1 points at it.

use core::cell::UnsafeCell;
use core::mem::offset_of;

use aarch64_cpu::registers::{TPIDR_EL1, Writeable};
use kernel::sched::CORES;

#[cfg(feature = "smp")]
use crate::context::Context;

const FATAL_STACK_SIZE: usize = 8 * 1024;

/// The state of one core that assembly code uses.
///
/// With several cores, none writes to the cache line of another.
#[derive(Debug)]
#[repr(C)]
#[cfg_attr(feature = "smp", repr(align(64)))]
pub(crate) struct CoreLocal {
    /// Top of the kernel's stack.
    stack: usize,
    /// Top of the stack on which the kernel reports an exception of its own: the usual one may be the
    /// reason.
    fatal_stack: usize,
    /// The kernel.
    #[cfg(feature = "smp")]
    kernel: usize,
    /// The context of the thread whose address space and registers are loaded; null in the idle loop.
    #[cfg(feature = "smp")]
    current: *const Context,
}

impl CoreLocal {
    pub(crate) const STACK: usize = offset_of!(Self, stack);
    pub(crate) const FATAL_STACK: usize = offset_of!(Self, fatal_stack);
    /// Offset of the address of the core's kernel, for fast paths in assembly.
    #[cfg(feature = "smp")]
    pub(crate) const KERNEL: usize = offset_of!(Self, kernel);
    /// Offset of the current context, for fast paths in assembly.
    #[cfg(feature = "smp")]
    pub(crate) const CURRENT: usize = offset_of!(Self, current);
    /// As above; one core has none.
    #[cfg(not(feature = "smp"))]
    pub(crate) const KERNEL: usize = 0;
    /// As above; one core has none.
    #[cfg(not(feature = "smp"))]
    pub(crate) const CURRENT: usize = 0;
}

#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Stack([u8; FATAL_STACK_SIZE]);

struct Stacks(UnsafeCell<[Stack; CORES]>);
// SAFETY: only the handler of fatal exceptions uses a core's, as its stack.
unsafe impl Sync for Stacks {}

struct Cells(UnsafeCell<[CoreLocal; CORES]>);
// SAFETY: each is used by its own core.
unsafe impl Sync for Cells {}

static FATAL_STACKS: Stacks = Stacks(UnsafeCell::new([Stack([0; _]); CORES]));
static OF_CORES: Cells = Cells(UnsafeCell::new(
    [const {
        CoreLocal {
            stack: 0,
            fatal_stack: 0,
            #[cfg(feature = "smp")]
            kernel: 0,
            #[cfg(feature = "smp")]
            current: core::ptr::null(),
        }
    }; CORES],
));

// Places in the image; see `kernel.ld`.
unsafe extern "C" {
    static stack_end: u8;
}

/// Gives the boot core its state.
pub(crate) fn start() {
    start_core(0, &raw const stack_end as usize);
}

/// Gives this core its state; `stack` is the top of the kernel's stack.
pub(crate) fn start_core(number: usize, stack: usize) {
    let fatal_stacks = FATAL_STACKS.0.get().cast::<Stack>();
    let place = OF_CORES.0.get().cast::<CoreLocal>().wrapping_add(number);
    // SAFETY: this happens once for each core, and nobody else looks at it yet.
    unsafe {
        (*place).stack = stack;
        (*place).fatal_stack = fatal_stacks.add(number + 1) as usize;
    }
    TPIDR_EL1.set(place as u64);
}

/// What several cores find here.
#[cfg(feature = "smp")]
mod several {
    use core::ptr::null;

    use aarch64_cpu::registers::{Readable, TPIDR_EL1};

    use super::CoreLocal;
    use crate::context::Context;

    fn own() -> *mut CoreLocal {
        core::ptr::with_exposed_provenance_mut(TPIDR_EL1.get() as usize)
    }

    /// Kernel entries on this core find its kernel here.
    pub(crate) fn set_kernel(address: usize) {
        // SAFETY: this core uses it alone.
        unsafe { (*own()).kernel = address };
    }

    /// The address of this core's kernel.
    #[inline(always)]
    pub(crate) fn kernel() -> usize {
        // SAFETY: as above.
        unsafe { (*own()).kernel }
    }

    /// Kernel entries end with this context from now on, or in the idle loop.
    #[inline(always)]
    pub(crate) fn set_current(context: Option<&Context>) {
        // SAFETY: as above.
        unsafe { (*own()).current = context.map_or(null(), core::ptr::from_ref) };
    }

    /// The context with which the kernel entry ends; none for the idle loop.
    #[inline(always)]
    pub(crate) fn current() -> Option<*const Context> {
        // SAFETY: as above.
        let context = unsafe { (*own()).current };
        (!context.is_null()).then_some(context)
    }
}

#[cfg(feature = "smp")]
pub(crate) use several::{current, kernel, set_current, set_kernel};
