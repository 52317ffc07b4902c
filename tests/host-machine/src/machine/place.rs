//! The memory of a machine's kernels. Its address does not change when the machine is moved.

use std::ptr::NonNull;

use kernel::Kernels;

use crate::arch::Host;

/// The kernels of all cores of a machine.
pub(super) struct Place(NonNull<Kernels<Host>>);

impl Place {
    pub(super) fn new() -> Self {
        Self(NonNull::from(Box::leak(Box::new(Kernels::new()))))
    }

    /// The kernels, for as long as the machine exists.
    pub(super) const fn kernels(&self) -> &'static Kernels<Host> {
        // SAFETY: the kernels are freed with the machine, which owns all references made from this
        // one.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // SAFETY: it was leaked, and the machine no longer exists. Kernels own nothing that must be
        // freed.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}
