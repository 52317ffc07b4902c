//! The parts of a platform's kernel image: the kernel's state, and the functions that exceptions call.
//! They have to be monomorphic, so they are instantiated in the platform's crate.

use core::cell::UnsafeCell;

use kernel::Kernels;
use kernel::boot::RootTaskImage;
use kernel::cores::{CoreHandle, Irqs};
use kernel::object::IrqEntry;
#[cfg(not(feature = "smp"))]
use kernel::object::Thread;

use super::{ExecutionState, Machine};
use crate::lines::take_interrupt;
use crate::platform::Platform;

/// The kernels of all cores. The handle of one is handed out once per kernel entry.
#[repr(transparent)]
pub struct KernelCell<V: ExecutionState, P: Platform>(Kernels<Machine<V, P>>);

impl<V: ExecutionState, P: Platform> KernelCell<V, P> {
    /// The state before boot.
    pub const fn new() -> Self {
        Self(Kernels::new())
    }

    /// Makes the kernel, and the initial thread. Returns the context to continue with.
    ///
    /// # Safety
    /// Called once, before anything else, on the boot stack. The record `root_task` was written before the
    /// kernel was loaded.
    pub unsafe fn boot<const N: usize>(
        &'static self,
        irqs: &'static IrqTable<V, P, N>,
        root_task: *const RootTaskImage,
        entered: V::Entered,
    ) -> *const V::Context {
        // SAFETY: by contract.
        let root_task = unsafe { root_task.read_volatile() };
        // SAFETY: there is no other reference to it yet.
        let irqs = Irqs::new(unsafe { &mut *irqs.0.get() });
        leave(&mut V::boot(&self.0, irqs, &root_task, entered))
    }

    /// Makes the kernel of a secondary core, and waits until the boot core is ready. Returns the context to
    /// continue with.
    ///
    /// # Safety
    /// Called once on each secondary core, before anything else, on its stack.
    #[cfg(feature = "smp")]
    pub unsafe fn boot_core(&'static self, number: usize) -> *const V::Context {
        leave(&mut V::boot_core(&self.0, number))
    }

    /// The handle of this core.
    ///
    /// # Safety
    /// `boot` has made it, and this is the only kernel entry on this core.
    #[cfg(not(feature = "smp"))]
    #[inline(always)]
    unsafe fn own(&'static self) -> CoreHandle<Machine<V, P>> {
        // SAFETY: by contract.
        unsafe { self.0.handle(0) }
    }

    /// As above; `boot` has set the address of the kernel.
    #[cfg(feature = "smp")]
    #[inline(always)]
    #[expect(clippy::unused_self, reason = "same signature as on one core")]
    unsafe fn own(&'static self) -> CoreHandle<Machine<V, P>> {
        // SAFETY: by contract.
        unsafe { CoreHandle::from_address(V::core_local().kernel()) }
    }

    /// Handles an exception in the kernel. Returns the context to continue with.
    ///
    /// # Safety
    /// Called by the exception's stub, after boot.
    #[inline(always)]
    pub unsafe fn enter(
        &'static self,
        handle: impl FnOnce(&mut CoreHandle<Machine<V, P>>),
    ) -> *const V::Context {
        // SAFETY: `boot` has made it, and there is no other kernel entry on this core.
        let mut core = unsafe { self.own() };
        handle(&mut core);
        leave(&mut core)
    }
}

/// The interrupt lines.
pub struct IrqTable<V: ExecutionState, P: Platform, const N: usize>(
    UnsafeCell<[IrqEntry<Machine<V, P>>; N]>,
);

// SAFETY: only the kernel accesses it, from boot on.
unsafe impl<V: ExecutionState, P: Platform, const N: usize> Sync for IrqTable<V, P, N> {}

impl<V: ExecutionState, P: Platform, const N: usize> IrqTable<V, P, N> {
    /// Lines without a handler.
    pub const fn new() -> Self {
        Self(UnsafeCell::new([const { IrqEntry::EMPTY }; N]))
    }
}

/// The context to return to; waits until there is one. A pending interrupt ends the wait although
/// interrupts are masked (ARM DDI 0406, section B1.8.14; Arm ARM, section D1.6.2).
fn leave<V: ExecutionState, P: Platform>(
    core: &mut CoreHandle<Machine<V, P>>,
) -> *const V::Context {
    loop {
        #[cfg(not(feature = "smp"))]
        {
            let kernel = core.enter();
            if let Some(thread) = kernel.core.current {
                return Thread::context_of(thread);
            }
        }
        // The entry lock is released, so only core-local data may be read here.
        #[cfg(feature = "smp")]
        if let Some(context) = V::core_local().current() {
            return context;
        }
        V::wait_for_interrupt();
        take_interrupt(core);
    }
}

/// Makes the parts of a platform's kernel image that both execution states have. `$symbol: $handle` are
/// functions that the state's exception stubs call, by the calling convention `$convention`, and how the kernel
/// handles the exceptions.
#[macro_export]
macro_rules! kernel_image_of {
    ($state:ty, $platform:ty, $convention:literal, { $($symbol:ident: $handle:expr,)* }) => {
        /// The kernel's state, which fast paths in assembly find by its symbol.
        #[unsafe(export_name = "kernel_state")]
        static KERNEL: $crate::machine::KernelCell<$state, $platform> =
            $crate::machine::KernelCell::new();
        static IRQS: $crate::machine::IrqTable<
            $state,
            $platform,
            { $crate::platform::interrupts::<$platform>() },
        > = $crate::machine::IrqTable::new();

        /// Filled in by the tool that assembles the boot image.
        #[unsafe(no_mangle)]
        #[unsafe(link_section = ".data.root_task")]
        static ROOT_TASK: ::kernel::boot::RootTaskImage = ::kernel::boot::RootTaskImage::EMPTY;

        $crate::kernel_image_of!(@handlers $state, $convention,
            trap_handle_call: |core| {
                core.enter().handle_syscall(|kernel| {
                    kernel.take_fast_path_of_call(&::kernel::fastpath::SystemCall::of_current(kernel)?)
                });
            },
            trap_handle_other_syscall: |core| {
                core.enter().handle_syscall(|kernel| {
                    kernel.take_other_fast_path(&::kernel::fastpath::SystemCall::of_current(kernel)?)
                });
            },
            trap_handle_taken: |core| core.after_assembly(),
            trap_handle_interrupt: $crate::lines::take_interrupt,
            $($symbol: $handle,)*
        );

        #[panic_handler]
        fn panic(info: &::core::panic::PanicInfo<'_>) -> ! {
            $crate::machine::panic::<$state, $platform>(info)
        }
    };
    (@handlers $state:ty, $convention:literal, $($symbol:ident: $handle:expr,)*) => {$(
        #[unsafe(no_mangle)]
        extern $convention fn $symbol() -> *const <$state as $crate::machine::ExecutionState>::Context {
            // SAFETY: the stub calls this.
            unsafe { KERNEL.enter($handle) }
        }
    )*};
}
