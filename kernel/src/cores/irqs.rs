//! The table of interrupt lines, which all cores share.

use core::mem::offset_of;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

use crate::arch::{Arch, Irq};
use crate::object::IrqEntry;
use crate::slot::Slot;
use crate::token::Ptr;

/// A handle of the table of interrupt lines.
pub struct Irqs<A: Arch>(NonNull<[IrqEntry<A>]>);

impl<A: Arch> Irqs<A> {
    /// The handle of a table.
    pub fn new(lines: &'static mut [IrqEntry<A>]) -> Self {
        Self(NonNull::from(lines))
    }

    /// The slot in which an interrupt line holds the capability to its notification. Not made from a
    /// reference, because that ends with the next access to the table.
    ///
    /// # Panics
    /// If there is no such line.
    pub(crate) fn slot(&self, irq: Irq) -> Ptr<Slot<A>> {
        assert!(irq.0 < self.0.len());
        let first = self.0.cast::<IrqEntry<A>>();
        // SAFETY: the line is in the table, which is static. Its slot is accessed only through handles while
        // it holds a capability.
        unsafe {
            let slot = first
                .add(irq.0)
                .byte_add(offset_of!(IrqEntry<A>, notification));
            Ptr::new(slot.cast())
        }
    }
}

copyable!([A: Arch] Irqs<A>);

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
