//! Capability slots: where objects hold capabilities, in packed form.

mod packed;

use core::marker::PhantomData;
use core::ptr::NonNull;

use bitflags::bitflags;

use crate::arch::Arch;
use crate::token::Ptr;

pub use packed::{Field, RawCap};

/// A slot for one capability, with its links in the derivation tree.
///
/// The tree is stored as one list per family of capabilities, in which descendants directly follow their
/// ancestor; see `cap::derivation`. Slots are aligned to their size, so the list's pointers
/// have spare bits for two marks.
#[repr(C)]
#[cfg_attr(target_pointer_width = "64", repr(align(32)))]
#[cfg_attr(target_pointer_width = "32", repr(align(16)))]
pub struct Slot<A: Arch> {
    raw: RawCap,
    next: usize,
    previous: usize,
    kind: PhantomData<A>,
}

bitflags! {
    /// The marks of an entry in the derivation tree.
    #[derive(Clone, Copy)]
    pub(crate) struct Marks: usize {
        /// The capability may have children.
        const ORIGINAL = 1;
        /// The first of several with the same badge: not a child of an entry with that badge.
        const FIRST_BADGED = 2;
        /// The marks of the head of a family.
        const HEAD = 3;
    }
}

impl<A: Arch> Slot<A> {
    /// Offset of the capability, for fast paths in assembly.
    pub const CAP: usize = core::mem::offset_of!(Self, raw);

    /// An empty slot.
    pub const EMPTY: Self = Self {
        raw: RawCap::NULL,
        next: 0,
        previous: 0,
        kind: PhantomData,
    };

    /// A slot with a capability between two others in the derivation tree's list.
    #[inline(always)]
    pub(crate) fn new(
        raw: RawCap,
        marks: Marks,
        previous: Ptr<Self>,
        next: Option<Ptr<Self>>,
    ) -> Self {
        Self {
            raw,
            next: next.map_or(0, Ptr::address) | marks.bits(),
            previous: previous.address(),
            kind: PhantomData,
        }
    }

    /// The slot `index` positions after `first` in the same CNode.
    #[inline(always)]
    pub(crate) fn at(first: Ptr<Self>, index: usize) -> Ptr<Self> {
        let pointer = first.as_ptr().wrapping_add(index);
        // SAFETY: callers stay within the CNode or thread of `first`, which has contiguous slots.
        unsafe { Ptr::new(NonNull::new_unchecked(pointer)) }
    }

    /// The capability's packed form.
    pub const fn raw(&self) -> RawCap {
        self.raw
    }

    /// Whether the slot is empty.
    pub const fn is_empty(&self) -> bool {
        self.raw.tag() == 0
    }

    pub(crate) const fn set_raw(&mut self, raw: RawCap) {
        self.raw = raw;
    }

    /// Whether the capability is not a copy of another one to the same object, or heads a family of its own
    /// (seL4 reference manual, section "Capability Derivation Tree").
    pub fn is_original(&self) -> bool {
        self.marks().contains(Marks::ORIGINAL)
    }

    pub(crate) fn marks(&self) -> Marks {
        Marks::from_bits_truncate(self.next)
    }

    pub(crate) fn set_marks(&mut self, marks: Marks) {
        self.next = self.next & !Marks::HEAD.bits() | marks.bits();
    }

    /// The next entry in the derivation tree's list.
    pub fn next(&self) -> Option<Ptr<Self>> {
        // SAFETY: only `set_next` wrote this: a slot in the same list, which is unlinked before its memory is
        // freed.
        unsafe { Ptr::from_address(self.next & !Marks::HEAD.bits()) }
    }

    /// The previous entry in the derivation tree's list.
    pub fn previous(&self) -> Option<Ptr<Self>> {
        // SAFETY: as for `next`.
        unsafe { Ptr::from_address(self.previous) }
    }

    pub(crate) fn set_next(&mut self, next: Option<Ptr<Self>>) {
        self.next = self.next & Marks::HEAD.bits() | next.map_or(0, Ptr::address);
    }

    pub(crate) fn set_previous(&mut self, previous: Option<Ptr<Self>>) {
        self.previous = previous.map_or(0, Ptr::address);
    }
}
