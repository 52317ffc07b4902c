//! What locks are made of. Tests put another module in this one's place, whose atomics are watched.

pub use core::cell::UnsafeCell;
pub use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};

/// Says that the core waits for another one. An emulator that plays the cores in turns lets the next one
/// go on.
#[inline(always)]
pub fn spin_loop() {
    // The library has another instruction for it, a barrier, of which emulators think nothing.
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a hint.
    unsafe {
        core::arch::asm!("yield", options(nomem, nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "aarch64"))]
    core::hint::spin_loop();
}

/// A function that can be evaluated at compile time, where atomics can be made then.
macro_rules! constant {
    ($(#[$attribute:meta])* $visibility:vis fn $($rest:tt)*) => {
        $(#[$attribute])* $visibility const fn $($rest)*
    };
}

/// An array of what can be made at compile time.
macro_rules! each {
    ($value:expr; $count:expr) => {
        [const { $value }; $count]
    };
}

pub(super) use {constant, each};

/// Lets `work` use what a cell holds.
///
/// # Safety
/// Nobody else uses it meanwhile.
pub unsafe fn with_mut<T, R>(cell: &UnsafeCell<T>, work: impl FnOnce(&mut T) -> R) -> R {
    // SAFETY: the caller's promise.
    work(unsafe { &mut *cell.get() })
}
