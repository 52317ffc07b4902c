//! The atomics that locks are made of. Tests replace this module by loom's atomics.

pub use core::cell::UnsafeCell;
pub use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};

/// Tells the processor, or an emulator that runs the cores in turns, that this core waits for another one.
#[inline(always)]
pub fn spin_loop() {
    // The library uses a barrier (`isb`) on AArch64, at which emulators do not switch to another core.
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a hint.
    unsafe {
        core::arch::asm!("yield", options(nomem, nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "aarch64"))]
    core::hint::spin_loop();
}

/// A function that is `const` where atomics can be made at compile time.
macro_rules! constant {
    ($(#[$attribute:meta])* $visibility:vis fn $($rest:tt)*) => {
        $(#[$attribute])* $visibility const fn $($rest)*
    };
}

/// An array of values that can be made at compile time.
macro_rules! each {
    ($value:expr; $count:expr) => {
        [const { $value }; $count]
    };
}

pub(super) use {constant, each};

/// Lets `work` use the value of a cell.
///
/// # Safety
/// No other reference to the value is in use.
pub unsafe fn with_mut<T, R>(cell: &UnsafeCell<T>, work: impl FnOnce(&mut T) -> R) -> R {
    // SAFETY: the caller's promise.
    work(unsafe { &mut *cell.get() })
}
