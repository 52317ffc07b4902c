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
        // The stubs need no register after a call, so none is preserved. This calling convention passes R12 to R15 before
        // those registers in which the C convention passes arguments, and in which the stubs have them.
        #[unsafe(no_mangle)]
        extern "rust-preserve-none" fn escapement_call(
            _r12: usize,
            _r13: usize,
            _r14: usize,
            _r15: usize,
            cap: usize,
            info: usize,
            number: usize,
            registers: core::ptr::NonNull<$crate::context::Registers>,
        ) -> ! {
            $crate::trap::call::<$platform>(cap, info, number, registers)
        }
        #[unsafe(no_mangle)]
        extern "rust-preserve-none" fn escapement_other_system_call(
            _r12: usize,
            _r13: usize,
            _r14: usize,
            _r15: usize,
            cap: usize,
            info: usize,
            number: usize,
            registers: core::ptr::NonNull<$crate::context::Registers>,
        ) -> ! {
            $crate::trap::other_system_call::<$platform>(cap, info, number, registers)
        }
        #[unsafe(no_mangle)]
        extern "rust-preserve-none" fn escapement_trap(
            _r12: usize,
            _r13: usize,
            _r14: usize,
            _r15: usize,
            vector: u64,
            error: u64,
        ) {
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
