//! The place where the kernels of a machine are. They stay where they are while the machine moves.

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
        // SAFETY: they are freed with the machine, which owns all references that are made of this one.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // SAFETY: it was leaked, and the machine is gone. Kernels own nothing that must be freed.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}
