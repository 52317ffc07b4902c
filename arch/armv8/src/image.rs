//! The parts of a platform's kernel image that only AArch64 has.

/// Makes the kernel image of a platform.
#[macro_export]
macro_rules! kernel_image {
    ($platform:ty) => {
        // The stubs need no register after a call, so none is preserved.
        ::arch_arm::kernel_image_of!($crate::Aarch64, $platform, "rust-preserve-none", {
            trap_handle_exception: $crate::exception,
            trap_handle_error: $crate::error,
        });

        #[unsafe(no_mangle)]
        extern "C" fn boot_main(
            device_tree: usize,
            level: usize,
            start: usize,
            end: usize,
            offset: usize,
            entry: usize,
        ) -> *const $crate::Context {
            use ::kernel::arch::PhysAddr;
            let task = ::kernel::boot::RootTaskImage::new(
                PhysAddr(start)..PhysAddr(end),
                start.wrapping_sub(offset),
                entry,
            );
            let entered = $crate::Entered {
                device_tree: PhysAddr(device_tree),
                level,
                task,
            };
            // SAFETY: boot code calls this once. The record is written before the kernel is loaded.
            unsafe { KERNEL.boot(&IRQS, &raw const ROOT_TASK, entered) }
        }

        #[cfg(feature = "smp")]
        #[unsafe(no_mangle)]
        extern "C" fn core_main(number: usize) -> *const $crate::Context {
            // SAFETY: boot code calls this once on each secondary core.
            unsafe { KERNEL.boot_core(number) }
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
        extern "C" fn trap_handle_fatal(kind: usize) -> ! {
            $crate::fatal::<$platform>(kind)
        }
    };
}
