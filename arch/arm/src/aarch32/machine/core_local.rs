//! What belongs to one core, where there are several. The register TPIDRPRW points there (ARM DDI 0406,
//! section B4.1.150); users cannot read it.

use core::mem::offset_of;

/// Offset of the end of the kernel's stack, for assembly.
pub const STACK: usize = offset_of!(CoreLocal, stack);
/// Offset of the end of the stack on which the kernel reports an exception of its own.
pub const FATAL_STACK: usize = offset_of!(CoreLocal, fatal_stack);

/// Offset of the address of the core's kernel, for fast paths in assembly.
pub(super) const KERNEL: usize = offset_of!(CoreLocal, kernel);
/// Offset of the current context, for them.
pub(super) const CURRENT: usize = offset_of!(CoreLocal, current);

/// The state of one core that assembly uses. No core writes to the cache line of another.
#[repr(C, align(64))]
struct CoreLocal {
    stack: usize,
    fatal_stack: usize,
    /// The kernel.
    kernel: usize,
    /// The context of the thread whose address space and registers are loaded; null in the idle loop.
    current: *const crate::aarch32::Context,
}

#[cfg(feature = "smp")]
mod several {
    use core::cell::UnsafeCell;
    use core::ptr::null;

    use aarch32_cpu::register::{SysRegRead, Tpidrprw};
    use kernel::sched::CORES;

    use super::CoreLocal;
    use crate::aarch32::machine::trap;
    use crate::aarch32::{Context, cp15};

    struct Cells(UnsafeCell<[CoreLocal; CORES]>);
    // SAFETY: each is used by its own core.
    unsafe impl Sync for Cells {}

    static OF_CORES: Cells = Cells(UnsafeCell::new(
        [const {
            CoreLocal {
                stack: 0,
                fatal_stack: 0,
                kernel: 0,
                current: null(),
            }
        }; CORES],
    ));

    /// Gives this core its state; kernel entries start at `stack`.
    pub(crate) fn start(number: usize, stack: usize) {
        let place = OF_CORES.0.get().cast::<CoreLocal>().wrapping_add(number);
        // SAFETY: this happens once for each core, and nobody else looks at it.
        unsafe {
            (*place).stack = stack;
            (*place).fatal_stack = trap::fatal_stack_end(number);
            cp15::set_core_local(place as usize);
        }
    }

    fn own() -> *mut CoreLocal {
        let address = <Tpidrprw as SysRegRead>::read_raw();
        core::ptr::with_exposed_provenance_mut(address as usize)
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
pub(crate) use several::{current, kernel, set_current, set_kernel, start};
