//! Capabilities: their kinds, their packed form in slots, the derivation tree, and capability lookup.

mod derivation;
mod kind;
mod layout;
mod lookup;

pub use crate::slot::{Field, RawCap, Slot};
pub use kind::{
    BadgedCap, CNode, Cap, EndpointCap, NotificationCap, UntypedCap, Zombie, ZombieSlots,
};
pub use layout::Packing;
#[cfg(feature = "debug")]
pub(crate) use layout::{KINDS, Kind};
pub(crate) use lookup::{Found, Path};

use core::ops::{Index, IndexMut};

use crate::arch::Arch;
use crate::instruments::Instruments;
use crate::object::{Thread, ThreadSlot};
use crate::token::{Objects, Ptr};

/// The kernel's objects and their capabilities.
///
/// Objects are accessed by indexing with their handles: `kernel[thread].priority`.
pub struct Capabilities<A: Arch> {
    /// The token for kernel objects.
    pub objects: Objects,
    /// Work since the last preemption point; see [`crate::sched::work`].
    pub(crate) work: usize,
    /// What kernels store that observe themselves.
    pub instruments: Instruments<A>,
}

impl<A: Arch> Capabilities<A> {
    /// No capabilities.
    ///
    /// # Safety
    /// As for [`Objects::new`].
    pub(crate) unsafe fn new() -> Self {
        Self {
            // SAFETY: the caller's promise.
            objects: unsafe { Objects::new() },
            work: 0,
            instruments: Instruments::new(),
        }
    }
}

impl<A: Arch, T> Index<Ptr<T>> for Capabilities<A> {
    type Output = T;

    #[inline(always)]
    fn index(&self, object: Ptr<T>) -> &T {
        &self.objects[object]
    }
}

impl<A: Arch, T> IndexMut<Ptr<T>> for Capabilities<A> {
    #[inline(always)]
    fn index_mut(&mut self, object: Ptr<T>) -> &mut T {
        &mut self.objects[object]
    }
}

/// Capabilities are packed in slots, and unpacked elsewhere.
impl<A: Arch> Slot<A> {
    /// The capability.
    #[inline(always)]
    pub fn cap(&self) -> Cap<A> {
        Cap::decode(self.raw())
    }

    /// The same for callers that need not be fast, and contain no code that unpacks.
    #[cfg_attr(target_os = "none", optimize(size))]
    #[inline(never)]
    pub(crate) fn unpack(&self) -> Cap<A> {
        self.cap()
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

    /// The root of its capability space, packed.
    #[inline(always)]
    pub(crate) fn root(&self) -> RawCap {
        self.slots[ThreadSlot::CSpace as usize].raw()
    }
}
