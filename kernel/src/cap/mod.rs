//! Capabilities: their kinds, their packed form in slots, the derivation tree, and capability lookup.

mod derivation;
mod kind;
mod layout;
mod lookup;
mod slots;

pub use crate::slot::{Field, RawCap, Slot};
pub use kind::{
    BadgedCap, CNode, Cap, EndpointCap, NotificationCap, UntypedCap, Zombie, ZombieKind,
};
pub use layout::Packing;
pub(crate) use lookup::LEVEL;

use core::cell::Cell;
use core::ops::{Index, IndexMut};

use crate::arch::Arch;
use crate::instruments::Instruments;
use crate::token::{Objects, Ptr};

/// The kernel's objects and their capabilities.
///
/// Objects are accessed by indexing with their handles: `kernel[thread].priority`.
pub struct Capabilities<A: Arch> {
    /// The token for kernel objects.
    pub objects: Objects,
    /// Work since the last preemption point, and levels of capability lookups, which count as work, too; see
    /// [`crate::sched::work`].
    pub(crate) work: usize,
    pub(crate) levels: Cell<usize>,
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
            levels: Cell::new(0),
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
