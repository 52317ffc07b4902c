//! Kernel entry and exit.
//!
//! `entry` contains the assembly stubs, `table` the descriptors that refer to them, and `handlers` the
//! functions that call the portable kernel.

mod entry;
pub mod fatal;
mod handlers;
mod table;
pub mod vectors;

pub use entry::return_to_user;
pub use handlers::{call, other_system_call, trap};
pub use table::fill as fill_table;
#[cfg(feature = "harden-meltdown")]
pub use table::visible as visible_table;

/// Makes this core enter the kernel at the stubs, for exceptions, interrupts and system calls.
///
/// # Safety
/// The table is filled, and the core's segments and core-local data are set up.
pub unsafe fn init() {
    // SAFETY: by contract.
    unsafe {
        table::load();
        entry::enable_system_calls();
    }
}

/// Defines the functions that the stubs call, for the platform's kernel.
#[macro_export]
macro_rules! entry_points {
    ($platform:ty) => {
        #[unsafe(no_mangle)]
        extern "C" fn escapement_call(
            cap: usize,
            info: usize,
            number: usize,
            registers: core::ptr::NonNull<$crate::context::Registers>,
        ) -> ! {
            $crate::trap::call::<$platform>(cap, info, number, registers)
        }
        #[unsafe(no_mangle)]
        extern "C" fn escapement_other_system_call(
            cap: usize,
            info: usize,
            number: usize,
            registers: core::ptr::NonNull<$crate::context::Registers>,
        ) -> ! {
            $crate::trap::other_system_call::<$platform>(cap, info, number, registers)
        }
        #[unsafe(no_mangle)]
        extern "C" fn escapement_trap(vector: u64, error: u64) {
            $crate::trap::trap::<$platform>(vector, error);
        }
        #[unsafe(no_mangle)]
        extern "C" fn escapement_check() {
            $crate::fastpath::check::<$platform>();
        }
        #[unsafe(no_mangle)]
        extern "C" fn escapement_fatal(frame: &$crate::trap::fatal::Frame) -> ! {
            $crate::trap::fatal::fatal::<$platform>(frame)
        }
    };
}
