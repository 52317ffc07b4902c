//! Memory-mapped registers as typed references: the one place where a driver turns an address into a
//! reference.

use core::fmt;
use core::ops::Deref;
use core::ptr::NonNull;

/// A block of registers at a fixed address.
pub struct Mmio<T>(NonNull<T>);

impl<T> Mmio<T> {
    /// The block at `address`.
    ///
    /// # Safety
    /// A device with these registers is at `address` for as long as the value lives, and no other driver
    /// uses it.
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
        // SAFETY: by the contract of `at`; registers are cells, which can be written by a shared reference.
        unsafe { self.0.as_ref() }
    }
}

impl<T> fmt::Debug for Mmio<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "registers at {:p}", self.0)
    }
}

// SAFETY: the value owns the block, and the device accepts accesses from any core.
unsafe impl<T> Send for Mmio<T> {}
