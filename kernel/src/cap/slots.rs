//! Capabilities in slots: packed there, unpacked elsewhere.

use super::Cap;
use crate::arch::Arch;
use crate::object::{Thread, ThreadSlot};
use crate::slot::Slot;

impl<A: Arch> Slot<A> {
    /// The capability.
    #[inline(always)]
    pub fn cap(&self) -> Cap<A> {
        Cap::decode(self.raw())
    }

    /// Changes the capability and keeps its position in the tree: for state of an object that is stored in
    /// its capability (watermarks, mappings).
    #[inline(always)]
    pub fn set_cap(&mut self, cap: Cap<A>) {
        self.set_raw(cap.encode());
    }
}

impl<A: Arch> Thread<A> {
    /// The capability in one of its slots.
    #[inline(always)]
    pub fn cap(&self, slot: ThreadSlot) -> Cap<A> {
        self.slots[slot as usize].cap()
    }

    /// Root of its address space.
    #[inline(always)]
    pub fn vspace_cap(&self) -> Cap<A> {
        self.cap(ThreadSlot::VSpace)
    }
}
