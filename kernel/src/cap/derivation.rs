//! The derivation tree: which capability was made from which.
//!
//! The tree is a list in depth-first order. The parent of an entry is not stored but follows from the
//! capabilities themselves and two marks: the children of A are the entries directly after A of which A *is a
//! parent*. This needs no memory beyond the list, and each step takes constant time.

use super::Cap;
use super::Capabilities;
use crate::arch::{Arch, ArchCap};
use crate::error::Error;
use crate::slot::{Marks, RawCap, Slot};
use crate::token::Ptr;

/// Whether the capability in `parent` is an ancestor of the one in `child`.
fn is_parent<A: Arch>(
    capabilities: &Capabilities<A>,
    parent: Ptr<Slot<A>>,
    child: Ptr<Slot<A>>,
) -> bool {
    if !capabilities[parent].marks().original {
        return false;
    }
    let ancestor = capabilities[parent].cap();
    if let Cap::Untyped(untyped) = ancestor {
        return untyped.contains(&capabilities[child].cap());
    }
    let descendant = capabilities[child].cap();
    ancestor.same_region(&descendant)
        && match ancestor.badge() {
            None | Some(0) => true,
            badge => descendant.badge() == badge && !capabilities[child].marks().first_badged,
        }
}

/// The first child of the capability in `slot`.
pub fn child_of<A: Arch>(
    capabilities: &Capabilities<A>,
    slot: Ptr<Slot<A>>,
) -> Option<Ptr<Slot<A>>> {
    capabilities[slot]
        .next()
        .filter(|next| is_parent(capabilities, slot, *next))
}

/// Whether the capability in `slot` has children.
pub fn has_children<A: Arch>(capabilities: &Capabilities<A>, slot: Ptr<Slot<A>>) -> bool {
    child_of(capabilities, slot).is_some()
}

/// Whether no other capability refers to the same object. Capabilities to one object are neighbours.
pub fn is_last<A: Arch>(capabilities: &Capabilities<A>, slot: Ptr<Slot<A>>) -> bool {
    let cap = capabilities[slot].cap();
    let neighbours = [capabilities[slot].previous(), capabilities[slot].next()];
    !neighbours
        .into_iter()
        .flatten()
        .any(|other| capabilities[other].cap().same_object(&cap))
}

/// Fills an empty slot and inserts it in the list directly after `before`.
fn insert_behind<A: Arch>(
    capabilities: &mut Capabilities<A>,
    before: Ptr<Slot<A>>,
    slot: Ptr<Slot<A>>,
    cap: RawCap,
    marks: Marks,
) {
    debug_assert!(capabilities[slot].is_empty());
    capabilities.note_change(slot);
    let next = capabilities[before].next();
    capabilities[slot] = Slot::new(cap, marks, before, next);
    capabilities[before].set_next(Some(slot));
    if let Some(next) = next {
        capabilities[next].set_previous(Some(slot));
    }
}

/// Puts a capability without an ancestor into an empty slot (at boot).
pub(crate) fn insert_root<A: Arch>(
    capabilities: &mut Capabilities<A>,
    slot: Ptr<Slot<A>>,
    cap: Cap<A>,
) {
    debug_assert!(capabilities[slot].is_empty());
    capabilities.note_change(slot);
    capabilities[slot].set_raw(cap.pack());
    capabilities[slot].set_marks(Marks::HEAD);
}

/// Puts a new capability into an empty slot, as an original child of the one in `parent`.
pub fn insert_child<A: Arch>(
    capabilities: &mut Capabilities<A>,
    parent: Ptr<Slot<A>>,
    slot: Ptr<Slot<A>>,
    cap: Cap<A>,
) {
    insert_packed_child(capabilities, parent, slot, cap.pack());
}

/// The same for a packed capability.
pub(crate) fn insert_packed_child<A: Arch>(
    capabilities: &mut Capabilities<A>,
    parent: Ptr<Slot<A>>,
    slot: Ptr<Slot<A>>,
    cap: RawCap,
) {
    insert_behind(capabilities, parent, slot, cap, Marks::HEAD);
}

/// Puts a copy, or a capability issued from a control capability, into an empty slot after its source.
pub fn insert_copy<A: Arch>(
    capabilities: &mut Capabilities<A>,
    source: Ptr<Slot<A>>,
    slot: Ptr<Slot<A>>,
    cap: Cap<A>,
) {
    let original = capabilities[source].cap();
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
        capabilities[source].set_cap(Cap::Untyped(parent));
    }
    let marks = Marks {
        original: heads_family,
        first_badged: heads_family,
    };
    insert_behind(capabilities, source, slot, cap.pack(), marks);
}

/// Empties a slot and removes it from the tree; its children become children of its ancestor.
pub fn remove_cap<A: Arch>(capabilities: &mut Capabilities<A>, slot: Ptr<Slot<A>>) {
    let (previous, next) = (capabilities[slot].previous(), capabilities[slot].next());
    if let Some(neighbour) = previous.or(next) {
        capabilities.note_change(neighbour);
    }
    if let Some(previous) = previous {
        capabilities[previous].set_next(next);
    }
    if let Some(next) = next {
        capabilities[next].set_previous(previous);
        // The next entry inherits the badge mark. Otherwise it would join the family before it.
        let (marks, mut heir) = (capabilities[slot].marks(), capabilities[next].marks());
        heir.first_badged |= marks.first_badged;
        capabilities[next].set_marks(heir);
    }
    capabilities[slot] = Slot::EMPTY;
}

/// Moves the capability in `source` to the empty slot `target`, changed to `cap`. Its position in the tree
/// does not change.
pub fn move_cap<A: Arch>(
    capabilities: &mut Capabilities<A>,
    source: Ptr<Slot<A>>,
    target: Ptr<Slot<A>>,
    cap: Cap<A>,
) {
    capabilities.note_change(target);
    transplant(capabilities, source, target, cap);
}

fn transplant<A: Arch>(
    capabilities: &mut Capabilities<A>,
    source: Ptr<Slot<A>>,
    target: Ptr<Slot<A>>,
    cap: Cap<A>,
) {
    debug_assert!(capabilities[target].is_empty());
    let mut moved = core::mem::replace(&mut capabilities[source], Slot::EMPTY);
    moved.set_raw(cap.pack());
    if let Some(previous) = moved.previous() {
        capabilities[previous].set_next(Some(target));
    }
    if let Some(next) = moved.next() {
        capabilities[next].set_previous(Some(target));
    }
    capabilities[target] = moved;
}

/// Exchanges the contents of two slots, each capability changed to the one given for it. Their positions in
/// the tree do not change. Either slot may be empty.
pub fn swap_slots<A: Arch>(
    capabilities: &mut Capabilities<A>,
    first: (Ptr<Slot<A>>, Cap<A>),
    second: (Ptr<Slot<A>>, Cap<A>),
) {
    if first.0 == second.0 {
        return;
    }
    // Uses a third slot, so that two neighbours in the tree need no special case.
    let mut aside = Slot::<A>::EMPTY;
    // SAFETY: `aside` lives until the end of this function and is empty again by then.
    let aside = unsafe { Ptr::new(core::ptr::NonNull::from(&mut aside)) };
    let move_full = |capabilities: &mut Capabilities<A>, source: Ptr<Slot<A>>, target, cap| {
        if !capabilities[source].is_empty() {
            transplant(capabilities, source, target, cap);
        }
    };
    capabilities.note_change(first.0);
    capabilities.note_change(second.0);
    move_full(capabilities, first.0, aside, first.1);
    move_full(capabilities, second.0, first.0, second.1);
    move_full(capabilities, aside, second.0, first.1);
}

/// The capability that a copy of `cap`, which is in `slot`, becomes; null if it cannot be copied.
///
/// # Errors
/// [`Error::RevokeFirst`] for untyped memory in use; the architecture's errors for its own kinds.
pub(crate) fn derive<A: Arch>(
    capabilities: &mut Capabilities<A>,
    slot: Ptr<Slot<A>>,
    cap: Cap<A>,
) -> Result<Cap<A>, Error> {
    match cap {
        Cap::Untyped(_) if has_children(capabilities, slot) => Err(Error::RevokeFirst),
        Cap::IrqControl | Cap::Zombie(_) => Ok(Cap::Null),
        Cap::Arch(cap) => {
            debug_assert!(cap.encode().tag() % 2 == 1);
            Ok(cap.derive()?.map_or(Cap::Null, Cap::Arch))
        }
        other => Ok(other),
    }
}
