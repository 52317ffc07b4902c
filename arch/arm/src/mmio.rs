//! Memory-mapped registers as typed references: the one place where a driver turns an address into
//! something that it may use.

use core::fmt;
use core::ops::Deref;
use core::ptr::NonNull;

/// A block of registers at a fixed address.
pub struct Mmio<T>(NonNull<T>);

impl<T> Mmio<T> {
    /// The block at `address`.
    ///
    /// # Safety
    /// A device with these registers answers at `address` for as long as the value lives, and nobody
    /// else drives it.
    pub const unsafe fn at(address: usize) -> Self {
        match NonNull::new(core::ptr::with_exposed_provenance_mut(address)) {
            Some(registers) => Self(registers),
            None => panic!("there are no registers at address 0"),
        }
    }
}

impl<T> Deref for Mmio<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: by the contract of `at`, and registers are cells, which shared references may change.
        unsafe { self.0.as_ref() }
    }
}

impl<T> fmt::Debug for Mmio<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "registers at {:p}", self.0)
    }
}

// SAFETY: the block belongs to the value, and a device does not care which core talks to it.
unsafe impl<T> Send for Mmio<T> {}
