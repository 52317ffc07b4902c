//! The parts of a platform's kernel image: the kernel's state, and the functions that exceptions call.
//! They have to be monomorphic, so they are instantiated in the platform's crate.

use core::cell::UnsafeCell;

use kernel::boot::RootTaskImage;
use kernel::cores::Irqs;
use kernel::object::IrqEntry;
use kernel::{Kernel, Kernels};

use super::{Machine, Version, boot, trap};
use crate::aarch32::Context;
use crate::lines::take_interrupt;
use crate::platform::Platform;

/// The kernels of all cores. A reference to one is handed out once per kernel entry.
#[repr(transparent)]
pub struct KernelCell<V: Version, P: Platform>(Kernels<Machine<V, P>>);

impl<V: Version, P: Platform> KernelCell<V, P> {
    /// The state before boot.
    #[expect(clippy::new_without_default, reason = "only one static uses it")]
    pub const fn new() -> Self {
        Self(Kernels::new())
    }

    /// Makes the kernel, and the initial thread. Returns the context to continue with.
    ///
    /// # Safety
    /// Called once, before anything else, on the boot stack.
    pub unsafe fn boot<const N: usize>(
        &'static self,
        irqs: &'static IrqTable<V, P, N>,
        root_task: RootTaskImage,
    ) -> *const Context {
        // SAFETY: there is no other reference to it yet.
        let irqs = Irqs::new(unsafe { &mut *irqs.0.get() });
        trap::leave(boot::boot(&self.0, irqs, &root_task))
    }

    /// Makes the kernel of a secondary core, and waits until the boot core is ready. Returns the context to
    /// continue with.
    ///
    /// # Safety
    /// Called once on each secondary core, before anything else, on its stack.
    #[cfg(feature = "smp")]
    pub unsafe fn boot_core(&'static self) -> *const Context {
        trap::leave(boot::boot_core(&self.0))
    }

    /// The kernel of this core.
    ///
    /// # Safety
    /// `boot` has made it, and this is the only kernel entry on this core.
    #[cfg(not(feature = "smp"))]
    #[inline(always)]
    #[expect(clippy::mut_from_ref, reason = "by its safety contract")]
    unsafe fn own(&self) -> &mut Kernel<Machine<V, P>> {
        // SAFETY: by contract.
        unsafe { self.0.get(0) }
    }

    /// As above; `boot` has set the address of the kernel.
    #[cfg(feature = "smp")]
    #[inline(always)]
    #[expect(clippy::unused_self, reason = "same signature as on one core")]
    #[expect(clippy::mut_from_ref, reason = "by its safety contract")]
    unsafe fn own(&self) -> &mut Kernel<Machine<V, P>> {
        let address = super::core_local::own().kernel();
        // SAFETY: by contract.
        unsafe { &mut *core::ptr::with_exposed_provenance_mut(address) }
    }

    /// Handles an exception in the kernel. Returns the context to continue with.
    ///
    /// # Safety
    /// Called by the exception's stub, after boot.
    #[inline(always)]
    pub unsafe fn enter(&self, handle: impl FnOnce(&mut Kernel<Machine<V, P>>)) -> *const Context {
        // SAFETY: `boot` has made it, and there is no other kernel entry on this core.
        let kernel = unsafe { self.own() };
        handle(kernel);
        trap::leave(kernel)
    }

    /// Handles an undefined instruction of the current thread.
    ///
    /// # Safety
    /// As for [`KernelCell::enter`].
    pub unsafe fn undefined(&self) -> *const Context {
        // SAFETY: by contract.
        unsafe { self.enter(trap::undefined) }
    }

    /// Handles a failed instruction fetch of the current thread.
    ///
    /// # Safety
    /// As for [`KernelCell::enter`].
    pub unsafe fn prefetch_abort(&self) -> *const Context {
        // SAFETY: by contract.
        unsafe { self.enter(trap::prefetch_abort) }
    }

    /// Handles a failed memory access of the current thread.
    ///
    /// # Safety
    /// As for [`KernelCell::enter`].
    pub unsafe fn data_abort(&self) -> *const Context {
        // SAFETY: by contract.
        unsafe { self.enter(trap::data_abort) }
    }

    /// Handles an interrupt.
    ///
    /// # Safety
    /// As for [`KernelCell::enter`].
    pub unsafe fn interrupt(&self) -> *const Context {
        // SAFETY: by contract.
        unsafe { self.enter(take_interrupt) }
    }
}

/// The interrupt lines.
pub struct IrqTable<V: Version, P: Platform, const N: usize>(
    UnsafeCell<[IrqEntry<Machine<V, P>>; N]>,
);

// SAFETY: only the kernel accesses it, from boot on.
unsafe impl<V: Version, P: Platform, const N: usize> Sync for IrqTable<V, P, N> {}

impl<V: Version, P: Platform, const N: usize> IrqTable<V, P, N> {
    /// Lines without a handler.
    #[expect(clippy::new_without_default, reason = "only one static uses it")]
    pub const fn new() -> Self {
        Self(UnsafeCell::new([const { IrqEntry::EMPTY }; N]))
    }
}

/// Makes the kernel image of a platform with cores of an architecture version.
#[macro_export]
macro_rules! aarch32_image {
    ($version:ty, $platform:ty) => {
        /// The kernel's state, which fast paths in assembly find by its symbol.
        #[unsafe(export_name = "kernel_state")]
        static KERNEL: $crate::aarch32::machine::KernelCell<$version, $platform> =
            $crate::aarch32::machine::KernelCell::new();
        static IRQS: $crate::aarch32::machine::IrqTable<
            $version,
            $platform,
            { $crate::platform::interrupts::<$platform>() },
        > = $crate::aarch32::machine::IrqTable::new();

        /// Filled in by the tool that assembles the boot image.
        #[unsafe(no_mangle)]
        #[unsafe(link_section = ".data.root_task")]
        static ROOT_TASK: ::kernel::boot::RootTaskImage = ::kernel::boot::RootTaskImage::EMPTY;

        #[unsafe(no_mangle)]
        extern "C" fn boot_main() -> *const $crate::aarch32::Context {
            // SAFETY: the record is written before the kernel is loaded.
            let root_task = unsafe { (&raw const ROOT_TASK).read_volatile() };
            // SAFETY: boot code calls this once.
            unsafe { KERNEL.boot(&IRQS, root_task) }
        }

        #[unsafe(no_mangle)]
        extern "C" fn trap_handle_syscall() -> *const $crate::aarch32::Context {
            // SAFETY: the stub calls this.
            unsafe { KERNEL.enter(|kernel| kernel.handle_syscall()) }
        }

        #[unsafe(no_mangle)]
        extern "C" fn trap_handle_taken() -> *const $crate::aarch32::Context {
            // SAFETY: the stub calls this.
            unsafe { KERNEL.enter(|kernel| kernel.after_assembly()) }
        }

        /// The target of the system call vector.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        extern "C" fn trap_syscall() {
            ::core::arch::naked_asm!(
                "b {entry}",
                entry = sym $crate::aarch32::machine::system_call_entry::<$version, $platform>,
            )
        }

        #[unsafe(no_mangle)]
        extern "C" fn trap_handle_interrupt() -> *const $crate::aarch32::Context {
            // SAFETY: the stub calls this.
            unsafe { KERNEL.interrupt() }
        }

        #[unsafe(no_mangle)]
        extern "C" fn trap_handle_undefined() -> *const $crate::aarch32::Context {
            // SAFETY: the stub calls this.
            unsafe { KERNEL.undefined() }
        }

        #[unsafe(no_mangle)]
        extern "C" fn trap_handle_prefetch_abort() -> *const $crate::aarch32::Context {
            // SAFETY: the stub calls this.
            unsafe { KERNEL.prefetch_abort() }
        }

        #[unsafe(no_mangle)]
        extern "C" fn trap_handle_data_abort() -> *const $crate::aarch32::Context {
            // SAFETY: the stub calls this.
            unsafe { KERNEL.data_abort() }
        }

        #[unsafe(no_mangle)]
        extern "C" fn trap_handle_fatal(kind: usize, address: usize) -> ! {
            $crate::aarch32::machine::fatal(kind, address)
        }

        #[panic_handler]
        fn panic(info: &::core::panic::PanicInfo<'_>) -> ! {
            $crate::aarch32::machine::panic::<$version, $platform>(info)
        }
    };
}
