//! The table of interrupt lines, which all cores share.

use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

use crate::arch::Arch;
use crate::object::IrqEntry;

/// A handle of the table of interrupt lines.
pub struct Irqs<A: Arch>(NonNull<[IrqEntry<A>]>);

impl<A: Arch> Irqs<A> {
    /// The handle of a table.
    pub fn new(lines: &'static mut [IrqEntry<A>]) -> Self {
        Self(NonNull::from(lines))
    }
}

impl<A: Arch> Clone for Irqs<A> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<A: Arch> Copy for Irqs<A> {}

impl<A: Arch> Deref for Irqs<A> {
    type Target = [IrqEntry<A>];

    fn deref(&self) -> &[IrqEntry<A>] {
        // SAFETY: the table is static, and only the kernel uses it; with several cores, only the one that
        // holds the entry lock exclusively.
        unsafe { self.0.as_ref() }
    }
}

impl<A: Arch> DerefMut for Irqs<A> {
    fn deref_mut(&mut self) -> &mut [IrqEntry<A>] {
        // SAFETY: as above.
        unsafe { self.0.as_mut() }
    }
}
