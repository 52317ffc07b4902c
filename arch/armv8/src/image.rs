//! The parts of a platform's kernel image: the kernel's state, and the functions that exceptions call.
//! They have to be monomorphic, so they are instantiated in the platform's crate.

use core::cell::UnsafeCell;

use arch_arm::lines::take_interrupt;
use kernel::arch::PhysAddr;
use kernel::boot::RootTaskImage;
use kernel::cores::Irqs;
use kernel::object::IrqEntry;
use kernel::{Kernel, Kernels};

use crate::boot::{self, Entered};
use crate::{Armv8, Context, Platform, trap};

/// The kernels of all cores. A reference to one is handed out once per kernel entry.
#[repr(transparent)]
pub struct KernelCell<P: Platform>(Kernels<Armv8<P>>);

impl<P: Platform> KernelCell<P> {
    /// The state before boot.
    #[expect(clippy::new_without_default, reason = "only one static uses it")]
    pub const fn new() -> Self {
        Self(Kernels::new())
    }

    /// Makes the kernel, and the initial thread; `device_tree` is the boot loader's value of x0, and `level`
    /// the exception level at which it entered the kernel. Returns the context to continue with.
    ///
    /// # Safety
    /// Called once, before anything else, on the boot stack.
    pub unsafe fn boot<const N: usize>(
        &'static self,
        irqs: &'static IrqTable<P, N>,
        root_task: RootTaskImage,
        device_tree: usize,
        level: usize,
    ) -> *const Context {
        // SAFETY: there is no other reference to it yet.
        let irqs = Irqs::new(unsafe { &mut *irqs.0.get() });
        let entered = Entered {
            device_tree: PhysAddr(device_tree),
            level,
        };
        trap::leave(boot::boot(&self.0, irqs, &root_task, &entered))
    }

    /// Makes the kernel of a secondary core, and waits until the boot core is ready. Returns the context to
    /// continue with.
    ///
    /// # Safety
    /// Called once on each secondary core, before anything else, on its stack.
    #[cfg(feature = "smp")]
    pub unsafe fn boot_core(&'static self, number: usize) -> *const Context {
        trap::leave(boot::boot_core(&self.0, number))
    }

    /// The kernel of this core.
    ///
    /// # Safety
    /// `boot` has made it, and this is the only kernel entry on this core.
    #[cfg(not(feature = "smp"))]
    #[inline(always)]
    #[expect(clippy::mut_from_ref, reason = "by its safety contract")]
    unsafe fn own(&self) -> &mut Kernel<Armv8<P>> {
        // SAFETY: by contract.
        unsafe { self.0.get(0) }
    }

    /// As above; `boot` has set the address of the kernel.
    #[cfg(feature = "smp")]
    #[inline(always)]
    #[expect(clippy::unused_self, reason = "same signature as on one core")]
    #[expect(clippy::mut_from_ref, reason = "by its safety contract")]
    unsafe fn own(&self) -> &mut Kernel<Armv8<P>> {
        let address = crate::core_local::own().kernel();
        // SAFETY: by contract.
        unsafe { &mut *core::ptr::with_exposed_provenance_mut(address) }
    }

    /// Handles an exception in the kernel. Returns the context to continue with.
    ///
    /// # Safety
    /// Called by the exception's stub, after boot.
    #[inline(always)]
    pub unsafe fn enter(&self, handle: impl FnOnce(&mut Kernel<Armv8<P>>)) -> *const Context {
        // SAFETY: `boot` has made it, and there is no other kernel entry on this core.
        let kernel = unsafe { self.own() };
        handle(kernel);
        trap::leave(kernel)
    }

    /// Handles an exception of the current thread other than a system call.
    ///
    /// # Safety
    /// As for [`KernelCell::enter`].
    pub unsafe fn exception(&self) -> *const Context {
        // SAFETY: by contract.
        unsafe { self.enter(trap::exception) }
    }

    /// Handles an asynchronous error.
    ///
    /// # Safety
    /// As for [`KernelCell::enter`].
    pub unsafe fn error(&self) -> *const Context {
        // SAFETY: by contract.
        unsafe { self.enter(trap::error) }
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
pub struct IrqTable<P: Platform, const N: usize>(UnsafeCell<[IrqEntry<Armv8<P>>; N]>);

// SAFETY: only the kernel accesses it, from boot on.
unsafe impl<P: Platform, const N: usize> Sync for IrqTable<P, N> {}

impl<P: Platform, const N: usize> IrqTable<P, N> {
    /// Lines without a handler.
    #[expect(clippy::new_without_default, reason = "only one static uses it")]
    pub const fn new() -> Self {
        Self(UnsafeCell::new([const { IrqEntry::EMPTY }; N]))
    }
}

/// Makes the kernel image of a platform.
#[macro_export]
macro_rules! kernel_image {
    ($platform:ty) => {
        /// The kernel's state, which fast paths in assembly find by its symbol.
        #[unsafe(export_name = "kernel_state")]
        static KERNEL: $crate::KernelCell<$platform> = $crate::KernelCell::new();
        static IRQS: $crate::IrqTable<$platform, { $crate::interrupts::<$platform>() }> =
            $crate::IrqTable::new();

        /// Filled in by the tool that assembles the boot image.
        #[unsafe(no_mangle)]
        #[unsafe(link_section = ".data.root_task")]
        static ROOT_TASK: ::kernel::boot::RootTaskImage = ::kernel::boot::RootTaskImage::EMPTY;

        #[unsafe(no_mangle)]
        extern "C" fn boot_main(device_tree: usize, level: usize) -> *const $crate::Context {
            // SAFETY: the record is written before the kernel is loaded.
            let root_task = unsafe { (&raw const ROOT_TASK).read_volatile() };
            // SAFETY: boot code calls this once.
            unsafe { KERNEL.boot(&IRQS, root_task, device_tree, level) }
        }

        #[cfg(feature = "smp")]
        #[unsafe(no_mangle)]
        extern "C" fn core_main(number: usize) -> *const $crate::Context {
            // SAFETY: boot code calls this once on each secondary core.
            unsafe { KERNEL.boot_core(number) }
        }

        #[unsafe(no_mangle)]
        extern "C" fn trap_handle_syscall() -> *const $crate::Context {
            // SAFETY: the stub calls this.
            unsafe { KERNEL.enter(|kernel| kernel.handle_syscall()) }
        }

        #[unsafe(no_mangle)]
        extern "C" fn trap_handle_taken() -> *const $crate::Context {
            // SAFETY: the stub calls this.
            unsafe { KERNEL.enter(|kernel| kernel.after_assembly()) }
        }

        /// The target of the vector of users' synchronous exceptions.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        extern "C" fn trap_synchronous() {
            ::core::arch::naked_asm!(
                "b {entry}",
                entry = sym $crate::synchronous_exception::<$platform>,
            )
        }

        #[unsafe(no_mangle)]
        extern "C" fn trap_handle_interrupt() -> *const $crate::Context {
            // SAFETY: the stub calls this.
            unsafe { KERNEL.interrupt() }
        }

        #[unsafe(no_mangle)]
        extern "C" fn trap_handle_exception() -> *const $crate::Context {
            // SAFETY: the stub calls this.
            unsafe { KERNEL.exception() }
        }

        #[unsafe(no_mangle)]
        extern "C" fn trap_handle_error() -> *const $crate::Context {
            // SAFETY: the stub calls this.
            unsafe { KERNEL.error() }
        }

        #[unsafe(no_mangle)]
        extern "C" fn trap_handle_fatal(kind: usize) -> ! {
            $crate::fatal(kind)
        }

        #[panic_handler]
        fn panic(info: &::core::panic::PanicInfo<'_>) -> ! {
            $crate::panic::<$platform>(info)
        }
    };
}
