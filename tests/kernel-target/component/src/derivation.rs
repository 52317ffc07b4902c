//! The derivation tree: which children a revoke deletes, and what happens to copies.

use crate::support::{Outcome, Test};
use crate::{check, check_eq};
use userlib::cap::{CNode, Endpoint, Frame, Notification, Reply, SchedContext, Tcb};
use userlib::{Capability, Error, Rights};

tests![
    revoking_the_original_deletes_all_copies,
    revoking_a_copy_deletes_nothing,
    revoking_a_badged_copy_deletes_its_copies,
    revoking_one_badge_spares_the_others,
    revoking_a_copy_of_a_badged_copy_deletes_nothing,
    copies_of_copies_are_siblings,
    moving_keeps_the_place,
    moving_the_parent_keeps_its_children,
    children_survive_the_deletion_of_their_parent,
    every_kind_is_revoked,
    restricted_copies_are_revoked,
    tcb_slots_take_part,
    copies_of_frames_are_unmapped,
    revoking_frames_unmaps_copies,
    revoke_takes_only_descendants,
];

fn revoking_the_original_deletes_all_copies(test: &mut Test) -> Outcome {
    let original: Endpoint = test.create()?;
    let copy = test.copy(original)?;
    let badged = test.badge(original, 1)?;
    let second = test.badge(copy, 2)?;
    let third = test.copy(second)?;
    test.slot(original).revoke()?;
    for cap in [copy, badged, second, third] {
        check!(test.is_gone(cap)?);
    }
    check!(!test.is_gone(original)?);
    Ok(())
}

fn revoking_a_copy_deletes_nothing(test: &mut Test) -> Outcome {
    let original: Endpoint = test.create()?;
    let copy = test.copy(original)?;
    let second = test.copy(copy)?;
    test.slot(copy).revoke()?;
    check!(!test.is_gone(original)? && !test.is_gone(second)? && !test.is_gone(copy)?);
    Ok(())
}

fn revoking_a_badged_copy_deletes_its_copies(test: &mut Test) -> Outcome {
    let original: Endpoint = test.create()?;
    let badged = test.badge(original, 7)?;
    let copy = test.copy(badged)?;
    let weak = test.restrict(badged, Rights::READ)?;
    test.slot(badged).revoke()?;
    check!(test.is_gone(copy)? && test.is_gone(weak)?);
    check!(!test.is_gone(badged)? && !test.is_gone(original)?);
    Ok(())
}

fn revoking_one_badge_spares_the_others(test: &mut Test) -> Outcome {
    let original: Notification = test.create()?;
    let first = test.badge(original, 1)?;
    let second = test.badge(original, 2)?;
    let again = test.badge(original, 1)?;
    let (first_copy, second_copy, again_copy) =
        (test.copy(first)?, test.copy(second)?, test.copy(again)?);
    test.slot(first).revoke()?;
    check!(test.is_gone(first_copy)?);
    for cap in [original, first, second, again, second_copy, again_copy] {
        check!(!test.is_gone(cap)?);
    }
    Ok(())
}

fn revoking_a_copy_of_a_badged_copy_deletes_nothing(test: &mut Test) -> Outcome {
    let original: Endpoint = test.create()?;
    let badged = test.badge(original, 7)?;
    let copy = test.copy(badged)?;
    let second = test.copy(copy)?;
    test.slot(copy).revoke()?;
    check!(!test.is_gone(second)? && !test.is_gone(badged)?);
    Ok(())
}

fn copies_of_copies_are_siblings(test: &mut Test) -> Outcome {
    let original: Endpoint = test.create()?;
    let copy = test.copy(original)?;
    let second = test.copy(copy)?;
    test.delete(copy)?;
    check!(!test.is_gone(second)?);
    test.slot(original).revoke()?;
    check!(test.is_gone(second)?);
    Ok(())
}

fn moving_keeps_the_place(test: &mut Test) -> Outcome {
    let original: Endpoint = test.create()?;
    let badged = test.badge(original, 3)?;
    let copy = test.copy(badged)?;
    let (slot, other) = (test.empty_slot()?, test.empty_slot()?);
    slot.move_from(test.slot(badged))?;
    other.move_from(test.slot(copy))?;
    slot.revoke()?;
    check!(test.is_empty(other)? && !test.is_empty(slot)?);
    test.slot(original).revoke()?;
    check!(test.is_empty(slot)?);
    Ok(())
}

fn moving_the_parent_keeps_its_children(test: &mut Test) -> Outcome {
    let original: Endpoint = test.create()?;
    let copy = test.copy(original)?;
    let slot = test.empty_slot()?;
    slot.move_from(test.slot(original))?;
    check!(!test.is_gone(copy)?);
    slot.revoke()?;
    check!(test.is_gone(copy)?);
    Ok(())
}

fn children_survive_the_deletion_of_their_parent(test: &mut Test) -> Outcome {
    let untyped: userlib::cap::Untyped = test.create_sized(10)?;
    let slot = test.empty_slot()?;
    untyped.make::<Notification>(0, slot)?;
    let original = Notification(userlib::CPtr(slot.index));
    let badged = test.badge(original, 1)?;
    let copy = test.copy(badged)?;
    test.delete(original)?;
    check!(!test.is_gone(badged)? && !test.is_gone(copy)?);
    copy.signal();
    check_eq!(badged.poll(), 1);
    // They are still descendants of the memory.
    test.slot(untyped).revoke()?;
    check!(test.is_gone(badged)? && test.is_gone(copy)?);
    Ok(())
}

fn every_kind_is_revoked(test: &mut Test) -> Outcome {
    fn revoke_one<T: Capability>(test: &mut Test, original: T) -> Outcome {
        let (first, second) = (test.copy(original)?, test.copy(original)?);
        test.slot(original).revoke()?;
        check!(test.is_gone(first)? && test.is_gone(second)? && !test.is_gone(original)?);
        Ok(())
    }
    let tcb: Tcb = test.create()?;
    revoke_one(test, tcb)?;
    let reply: Reply = test.create()?;
    revoke_one(test, reply)?;
    let context: SchedContext = test.create_sized(8)?;
    revoke_one(test, context)?;
    let cnode: CNode = test.create_sized(3)?;
    revoke_one(test, cnode)?;
    let frame: Frame = test.create()?;
    revoke_one(test, frame)?;
    let notification: Notification = test.create()?;
    revoke_one(test, notification)?;
    Ok(())
}

fn restricted_copies_are_revoked(test: &mut Test) -> Outcome {
    let original: Endpoint = test.create()?;
    for word in 0..16 {
        let copy = test.restrict(original, Rights::from_word(word))?;
        test.slot(original).revoke()?;
        check!(test.is_gone(copy)?);
    }
    Ok(())
}

fn tcb_slots_take_part(test: &mut Test) -> Outcome {
    let tcb = test.bare_thread()?;
    let handler: Endpoint = test.create()?;
    let cspace: CNode = test.create_sized(4)?;
    tcb.set_space(handler, cspace, 0, test.vspace)?;
    tcb.set_timeout_endpoint(handler)?;
    // Revoking the thread's copies leaves the originals, and the thread can be given new copies.
    test.slot(handler).revoke()?;
    test.slot(cspace).revoke()?;
    check!(!test.is_gone(handler)? && !test.is_gone(cspace)?);
    tcb.set_space(handler, cspace, 0, test.vspace)?;
    // The thread's copy is a child of the last capability, so the CNode is deleted with it.
    test.delete(cspace)?;
    tcb.set_space(handler, test.allocator.cnode(), 0, test.vspace)
        .map_err(|error| check_eq!(error, Error::IllegalOperation))
        .ok();
    Ok(())
}

fn copies_of_frames_are_unmapped(test: &mut Test) -> Outcome {
    let (frame, address) = test.create_page()?;
    let copy = test.copy(frame)?;
    // The copy can be mapped elsewhere, and the original stays mapped where it is.
    let attributes = userlib::cap::Attributes::NORMAL;
    let second = test.map(copy, Rights::READ_WRITE, attributes)?;
    check!(second != address);
    check_eq!(copy.unmap(), Ok(()));
    // SAFETY: the page is mapped there, and only this test uses it.
    unsafe { crate::support::arch::store(address, 1) };
    Ok(())
}

fn revoking_frames_unmaps_copies(test: &mut Test) -> Outcome {
    let frame: Frame = test.create()?;
    let copy = test.copy(frame)?;
    let attributes = userlib::cap::Attributes::NORMAL;
    let address = test.map(copy, Rights::READ_WRITE, attributes)?;
    test.slot(frame).revoke()?;
    check!(test.is_gone(copy)?);
    // The address is free for the original.
    let vspace = test.vspace;
    check_eq!(
        frame.map(vspace, address, Rights::READ_WRITE, attributes),
        Ok(())
    );
    Ok(())
}

fn revoke_takes_only_descendants(test: &mut Test) -> Outcome {
    let first: Endpoint = test.create()?;
    let second: Endpoint = test.create()?;
    let first_copy = test.copy(first)?;
    let second_copy = test.copy(second)?;
    test.slot(first).revoke()?;
    check!(test.is_gone(first_copy)? && !test.is_gone(second_copy)?);
    Ok(())
}
