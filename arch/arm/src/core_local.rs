//! Core-local data that kernel entries need first: a register that users cannot read points to it.

use core::cell::{Cell, UnsafeCell};
use core::mem::offset_of;
use core::ptr::null_mut;

use kernel::sched::CORES;

/// The state of one core that assembly uses; `C` is the register context of a thread. No core writes to
/// the cache line of another.
#[repr(C, align(64))]
pub struct CoreLocal<C> {
    /// The end of the kernel's stack.
    stack: usize,
    /// The end of the stack on which the kernel reports an exception of its own: the usual stack may have
    /// caused it.
    fatal_stack: usize,
    /// The core's kernel. This field and the next are used on several cores only.
    kernel: Cell<usize>,
    /// The register context of the current thread, which is loaded; null in the idle loop.
    current: Cell<*mut C>,
}

/// Offsets, for assembly.
impl<C> CoreLocal<C> {
    /// Of the end of the kernel's stack.
    pub const STACK: usize = offset_of!(Self, stack);
    /// Of the end of the stack on which the kernel reports an exception of its own.
    pub const FATAL_STACK: usize = offset_of!(Self, fatal_stack);
    /// Of the address of the core's kernel.
    pub const KERNEL: usize = offset_of!(Self, kernel);
    /// Of the current context.
    pub const CURRENT: usize = offset_of!(Self, current);
}

impl<C> CoreLocal<C> {
    const fn new() -> Self {
        Self {
            stack: 0,
            fatal_stack: 0,
            kernel: Cell::new(0),
            current: Cell::new(null_mut()),
        }
    }

    /// Sets the kernel that kernel entries on this core use.
    pub fn set_kernel(&self, address: usize) {
        self.kernel.set(address);
    }

    /// The address of this core's kernel.
    #[inline(always)]
    pub fn kernel(&self) -> usize {
        self.kernel.get()
    }

    /// Sets the context with which kernel entries return from now on; none for the idle loop.
    #[inline(always)]
    pub fn set_current(&self, context: Option<*mut C>) {
        self.current.set(context.unwrap_or(null_mut()));
    }

    /// The context with which the kernel entry returns; none for the idle loop.
    #[inline(always)]
    pub fn current(&self) -> Option<*mut C> {
        let context = self.current.get();
        (!context.is_null()).then_some(context)
    }
}

/// The core-local data of all cores.
pub struct OfCores<C>(UnsafeCell<[CoreLocal<C>; CORES]>);

// SAFETY: each element is used by its own core only.
unsafe impl<C> Sync for OfCores<C> {}

impl<C> OfCores<C> {
    /// Empty data for all cores.
    pub const fn new() -> Self {
        Self(UnsafeCell::new([const { CoreLocal::new() }; CORES]))
    }

    /// Sets the ends of a core's kernel stacks. Returns the address of its core-local data, for the core's
    /// register.
    ///
    /// # Safety
    /// Called once for each core, before that core reads its data.
    ///
    /// # Panics
    /// If there is no such core.
    pub unsafe fn start(&self, core: usize, stack: usize, fatal_stack: usize) -> usize {
        assert!(core < CORES);
        let place = self.0.get().cast::<CoreLocal<C>>().wrapping_add(core);
        // SAFETY: the core does not read it yet.
        unsafe { ((*place).stack, (*place).fatal_stack) = (stack, fatal_stack) };
        place as usize
    }
}
