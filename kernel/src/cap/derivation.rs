//! The derivation tree: which capability was made from which.
//!
//! The tree is a list in depth-first order. The parent of an entry is not stored but follows from the
//! capabilities themselves and two marks: the children of A are the entries directly after A of which A *is a
//! parent*. This needs no memory beyond the list, and each step takes constant time.

use super::{Cap, Capabilities};
use crate::arch::{Arch, ArchCap};
use crate::error::Error;
use crate::instruments::checked;
use crate::slot::{Marks, RawCap, Slot};
use crate::token::Ptr;

impl<A: Arch> Capabilities<A> {
    /// Whether the capability in `parent` is an ancestor of the one in `child`.
    fn is_parent(&self, parent: Ptr<Slot<A>>, child: Ptr<Slot<A>>) -> bool {
        if !self[parent].is_original() {
            return false;
        }
        let ancestor = self[parent].cap();
        if let Cap::Untyped(untyped) = ancestor {
            return untyped.contains(&self[child].cap());
        }
        let descendant = self[child].cap();
        // Two capabilities that were issued alike are siblings.
        if let (Cap::Arch(one), Cap::Arch(other)) = (ancestor, descendant)
            && self[child].is_original()
            && one.same_object(other)
        {
            return false;
        }
        ancestor.same_region(&descendant)
            && match ancestor.badge() {
                None | Some(0) => true,
                badge => {
                    descendant.badge() == badge
                        && !self[child].marks().contains(Marks::FIRST_BADGED)
                }
            }
    }

    /// The first child of the capability in `slot`.
    pub fn child_of(&self, slot: Ptr<Slot<A>>) -> Option<Ptr<Slot<A>>> {
        self[slot].next().filter(|next| self.is_parent(slot, *next))
    }

    /// Whether the capability in `slot` has children.
    pub fn has_children(&self, slot: Ptr<Slot<A>>) -> bool {
        self.child_of(slot).is_some()
    }

    /// Whether no other capability refers to the same object. Capabilities to one object are neighbours.
    #[cfg_attr(target_os = "none", optimize(size))]
    pub fn is_last_cap(&self, slot: Ptr<Slot<A>>) -> bool {
        let raw = self[slot].raw();
        let neighbours = [self[slot].previous(), self[slot].next()];
        !neighbours.into_iter().flatten().any(|other| {
            // Capabilities of different kinds never refer to the same object, and need not be unpacked.
            self[other].raw().tag() == raw.tag()
                && self[other].unpack().same_object(&self[slot].unpack())
        })
    }

    /// Fills an empty slot and inserts it in the list directly after `before`.
    fn insert_after(
        &mut self,
        before: Ptr<Slot<A>>,
        slot: Ptr<Slot<A>>,
        cap: RawCap,
        marks: Marks,
    ) {
        debug_assert!(self[slot].is_empty());
        checked!(self.note_change(slot));
        let next = self[before].next();
        self[slot] = Slot::new(cap, marks, before, next);
        self[before].set_next(Some(slot));
        if let Some(next) = next {
            self[next].set_previous(Some(slot));
        }
    }

    /// Puts a capability without an ancestor into an empty slot (at boot).
    pub(crate) fn insert_root(&mut self, slot: Ptr<Slot<A>>, cap: Cap<A>) {
        debug_assert!(self[slot].is_empty());
        checked!(self.note_change(slot));
        self[slot].set_raw(cap.pack());
        self[slot].set_marks(Marks::HEAD);
    }

    /// Puts a new capability, packed, into an empty slot, as an original child of the one in `parent`.
    pub fn insert_child(&mut self, parent: Ptr<Slot<A>>, slot: Ptr<Slot<A>>, cap: RawCap) {
        self.insert_after(parent, slot, cap, Marks::HEAD);
    }

    /// Puts a copy, or a capability issued from a control capability, into an empty slot after its source.
    pub fn insert_copy(&mut self, source: Ptr<Slot<A>>, slot: Ptr<Slot<A>>, cap: Cap<A>) {
        let original = self[source].unpack();
        // A copy heads a family of its own only if it differs from its source in what defines a family.
        let heads_family = match (&original, &cap) {
            (Cap::Untyped(_), Cap::Untyped(_)) => true,
            (Cap::IrqControl, _) => true,
            (Cap::Arch(parent), Cap::Arch(issued)) => issued.is_issued_from(*parent),
            _ => cap.badge().is_some() && cap.badge() != original.badge(),
        };
        if let (Cap::Untyped(mut parent), Cap::Untyped(_)) = (original, &cap) {
            // The copy owns the memory now; the source owns it again when the copy has been deleted.
            parent.watermark = parent.size();
            self[source].set_cap(Cap::Untyped(parent));
        }
        let marks = if heads_family {
            Marks::HEAD
        } else {
            Marks::empty()
        };
        self.insert_after(source, slot, cap.pack(), marks);
    }

    /// [`Capabilities::insert_copy`] of a capability that does not change, and whose copy heads no family of its own.
    #[inline(always)]
    pub(crate) fn insert_same(&mut self, source: Ptr<Slot<A>>, slot: Ptr<Slot<A>>) {
        let cap = self[source].raw();
        debug_assert!(Cap::<A>::is_copied_as_is(cap));
        self.insert_after(source, slot, cap, Marks::empty());
    }

    /// Empties a slot and removes it from the tree; its children become children of its ancestor.
    pub fn remove_cap(&mut self, slot: Ptr<Slot<A>>) {
        let (previous, next) = (self[slot].previous(), self[slot].next());
        if let Some(neighbour) = previous.or(next) {
            checked!(self.note_change(neighbour));
        }
        if let Some(previous) = previous {
            self[previous].set_next(next);
        }
        if let Some(next) = next {
            self[next].set_previous(previous);
            // The next entry inherits the badge mark. Otherwise it would join the family before it.
            let inherited = self[slot].marks() & Marks::FIRST_BADGED;
            let marks = self[next].marks() | inherited;
            self[next].set_marks(marks);
        }
        self[slot] = Slot::EMPTY;
    }

    /// Moves the capability in `source` to the empty slot `target`, changed to `cap`. Its position in the tree
    /// does not change.
    pub fn move_cap(&mut self, source: Ptr<Slot<A>>, target: Ptr<Slot<A>>, cap: Cap<A>) {
        checked!(self.note_change(target));
        self.transplant(source, target, cap);
    }

    fn transplant(&mut self, source: Ptr<Slot<A>>, target: Ptr<Slot<A>>, cap: Cap<A>) {
        debug_assert!(self[target].is_empty());
        let mut moved = core::mem::replace(&mut self[source], Slot::EMPTY);
        moved.set_raw(cap.pack());
        if let Some(previous) = moved.previous() {
            self[previous].set_next(Some(target));
        }
        if let Some(next) = moved.next() {
            self[next].set_previous(Some(target));
        }
        self[target] = moved;
    }

    /// Exchanges the contents of two slots, each capability changed to the one given for it. Their positions in
    /// the tree do not change. Either slot may be empty.
    #[cfg_attr(target_os = "none", optimize(size))]
    pub fn swap_slots(&mut self, first: (Ptr<Slot<A>>, Cap<A>), second: (Ptr<Slot<A>>, Cap<A>)) {
        if first.0 == second.0 {
            return;
        }
        // Uses a third slot, so that two neighbours in the tree need no special case.
        let mut aside = Slot::<A>::EMPTY;
        // SAFETY: `aside` lives until the end of this function and is empty again by then.
        let aside = unsafe { Ptr::new(core::ptr::NonNull::from(&mut aside)) };
        checked!(self.note_change(first.0));
        checked!(self.note_change(second.0));
        self.move_full(first.0, aside, first.1);
        self.move_full(second.0, first.0, second.1);
        self.move_full(aside, second.0, first.1);
    }

    fn move_full(&mut self, source: Ptr<Slot<A>>, target: Ptr<Slot<A>>, cap: Cap<A>) {
        if !self[source].is_empty() {
            self.transplant(source, target, cap);
        }
    }

    /// The capability that a copy of `cap`, which is in `slot`, becomes; null if it cannot be copied.
    ///
    /// # Errors
    /// [`Error::RevokeFirst`] for untyped memory in use; the architecture's errors for its own kinds.
    pub(crate) fn derive_cap(&mut self, slot: Ptr<Slot<A>>, cap: Cap<A>) -> Result<Cap<A>, Error> {
        match cap {
            Cap::Untyped(_) if self.has_children(slot) => Err(Error::RevokeFirst),
            Cap::IrqControl | Cap::Zombie(_) => Ok(Cap::Null),
            Cap::Arch(cap) => {
                debug_assert!(cap.encode().tag() % 2 == 1);
                Ok(cap.derive()?.map_or(Cap::Null, Cap::Arch))
            }
            other => Ok(other),
        }
    }
}
