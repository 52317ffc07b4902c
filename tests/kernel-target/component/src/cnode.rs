//! CNodes: copying, moving and deleting capabilities, and the checks of each method in order.

use crate::support::{Outcome, Test};
use crate::{check, check_eq};
use abi::{GuardData, LookupFailure, Method, WORD_BITS};
use userlib::cap::{CNode, Endpoint, Notification, Slot};
use userlib::invoke::invoke;
use userlib::{CPtr, Capability, Error, Message, Result, Rights, syscall};

tests![
    labels_of_others_are_illegal,
    short_messages_are_truncated,
    destinations_must_resolve,
    sources_must_resolve,
    depths_have_limits,
    empty_sources_are_missing,
    full_destinations_are_refused,
    copies_and_originals_are_equal,
    moves_leave_nothing_behind,
    rights_are_masked,
    mint_sets_a_badge,
    badges_are_set_once,
    badges_are_cut_to_their_width,
    mint_refuses_bad_guards,
    mutate_refuses_badges,
    mutate_sets_guards,
    deleting_nothing_succeeds,
    rotate_moves_both,
    rotate_swaps,
    rotate_refuses_bad_places,
    rotate_refuses_endpoints,
    cancel_badged_sends_needs_all_rights,
    interrupt_control_is_not_copied,
    checks_come_in_order,
];

/// Methods that take an index and a depth and nothing else.
const SIMPLE: [Method; 3] = [
    Method::CNodeDelete,
    Method::CNodeRevoke,
    Method::CNodeCancelBadgedSends,
];

fn call(root: impl Capability, method: Method, words: &[usize], caps: &[CPtr]) -> Result {
    invoke(root.cptr(), method.number(), words, caps).map(drop)
}

fn failed(source: bool, failure: LookupFailure) -> Result {
    Err(Error::FailedLookup { source, failure })
}

const fn missing(bits_left: usize) -> LookupFailure {
    LookupFailure::MissingCapability { bits_left }
}

fn labels_of_others_are_illegal(test: &mut Test) -> Outcome {
    let own = test.allocator.cnode();
    for method in [
        Method::InvalidInvocation,
        Method::UntypedRetype,
        Method::TcbSuspend,
        Method::IrqAckIrq,
        Method::SchedContextBind,
    ] {
        check_eq!(
            call(own, method, &[0, 0, 0, 0, 0, 0, 0, 0], &[own.0, own.0]),
            Err(Error::IllegalOperation)
        );
    }
    Ok(())
}

fn short_messages_are_truncated(test: &mut Test) -> Outcome {
    let own = test.allocator.cnode();
    let truncated = Err(Error::TruncatedMessage);
    let source = test.create::<Endpoint>()?.0.0;
    let empty = test.empty_slot()?.index;
    let all = [empty, WORD_BITS, source, WORD_BITS, 15, 0, 0, 0];
    for method in SIMPLE {
        for length in 0..2 {
            check_eq!(call(own, method, &all[..length], &[own.0]), truncated);
        }
    }
    for (method, needed) in [
        (Method::CNodeCopy, 5),
        (Method::CNodeMint, 6),
        (Method::CNodeMove, 4),
        (Method::CNodeMutate, 5),
    ] {
        for length in 0..needed {
            check_eq!(call(own, method, &all[..length], &[own.0]), truncated);
        }
        check_eq!(call(own, method, &all, &[]), truncated);
    }
    for length in 0..8 {
        let caps = [own.0, own.0];
        check_eq!(
            call(own, Method::CNodeRotate, &all[..length], &caps),
            truncated
        );
    }
    check_eq!(call(own, Method::CNodeRotate, &all, &[own.0]), truncated);
    check!(test.is_empty(own.slot(CPtr(empty)))?);
    Ok(())
}

fn destinations_must_resolve(test: &mut Test) -> Outcome {
    let table: CNode = test.create_sized(4)?;
    let own = test.allocator.cnode();
    let endpoint: Endpoint = test.create()?;
    let source = test.slot(endpoint);
    let at = |root, index, depth| Slot { root, index, depth };
    for slot in [at(table, 3, 3), at(table, 0, 1)] {
        let mismatch = LookupFailure::DepthMismatch {
            bits_left: slot.depth,
            bits_found: 4,
        };
        check_eq!(slot.copy_from(source, Rights::ALL), failed(false, mismatch));
        check_eq!(slot.delete(), failed(false, mismatch));
        check_eq!(slot.revoke(), failed(false, mismatch));
    }
    // Bits remain when the lookup stops at an empty slot, or at a capability that is not a CNode.
    let long = LookupFailure::DepthMismatch {
        bits_left: 3,
        bits_found: 0,
    };
    check_eq!(at(table, 0, 7).delete(), failed(false, long));
    at(table, 5, 4).copy_from(source, Rights::ALL)?;
    check_eq!(at(table, 5 << 3, 7).delete(), failed(false, long));
    let guard = LookupFailure::GuardMismatch {
        bits_left: WORD_BITS,
        guard_found: 0,
        bits_found: WORD_BITS - 12,
    };
    check_eq!(
        at(own, usize::MAX, WORD_BITS).delete(),
        failed(false, guard)
    );
    Ok(())
}

fn sources_must_resolve(test: &mut Test) -> Outcome {
    let table: CNode = test.create_sized(4)?;
    let endpoint: Endpoint = test.create()?;
    let destination = test.empty_slot()?;
    let at = |root, index, depth| Slot { root, index, depth };
    let short = LookupFailure::DepthMismatch {
        bits_left: 2,
        bits_found: 4,
    };
    let source = at(table, 0, 2);
    check_eq!(
        destination.copy_from(source, Rights::ALL),
        failed(true, short)
    );
    check_eq!(destination.move_from(source), failed(true, short));
    let no_root = at(CNode(endpoint.0), 0, 4);
    let invalid = failed(true, LookupFailure::InvalidRoot);
    check_eq!(destination.mint_from(no_root, Rights::ALL, 1), invalid);
    check_eq!(destination.mutate_from(no_root, 0), invalid);
    Ok(())
}

fn depths_have_limits(test: &mut Test) -> Outcome {
    let own = test.allocator.cnode();
    let endpoint: Endpoint = test.create()?;
    let source = test.slot(endpoint);
    let destination = test.empty_slot()?;
    for depth in [0, WORD_BITS + 1, 255, usize::MAX] {
        let range = Err(Error::Range {
            minimum: 1,
            maximum: WORD_BITS,
        });
        let bad = Slot {
            root: own,
            index: source.index,
            depth,
        };
        check_eq!(bad.delete(), range);
        check_eq!(bad.copy_from(source, Rights::ALL), range);
        check_eq!(destination.copy_from(bad, Rights::ALL), range);
        check_eq!(destination.move_from(bad), range);
    }
    Ok(())
}

fn empty_sources_are_missing(test: &mut Test) -> Outcome {
    let (empty, destination) = (test.empty_slot()?, test.empty_slot()?);
    let result = failed(true, missing(WORD_BITS));
    check_eq!(destination.copy_from(empty, Rights::ALL), result);
    check_eq!(destination.mint_from(empty, Rights::ALL, 5), result);
    check_eq!(destination.move_from(empty), result);
    check_eq!(destination.mutate_from(empty, 5), result);
    let table: CNode = test.create_sized(4)?;
    let source = table.slot_of_table(3, 4);
    check_eq!(destination.move_from(source), failed(true, missing(4)));
    Ok(())
}

fn full_destinations_are_refused(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let notification: Notification = test.create()?;
    let (source, full) = (test.slot(endpoint), test.slot(notification));
    check_eq!(full.copy_from(source, Rights::ALL), Err(Error::DeleteFirst));
    check_eq!(
        full.mint_from(source, Rights::ALL, 1),
        Err(Error::DeleteFirst)
    );
    check_eq!(full.move_from(source), Err(Error::DeleteFirst));
    check_eq!(full.mutate_from(source, 1), Err(Error::DeleteFirst));
    check_eq!(source.move_from(source), Err(Error::DeleteFirst));
    Ok(())
}

fn copies_and_originals_are_equal(test: &mut Test) -> Outcome {
    let notification: Notification = test.create()?;
    let copy = test.copy(notification)?;
    let badged = test.badge(notification, 6)?;
    let second = test.copy(badged)?;
    badged.signal();
    check_eq!(copy.poll(), 6);
    second.signal();
    check_eq!(notification.poll(), 6);
    test.delete(notification)?;
    badged.signal();
    check_eq!(copy.poll(), 6);
    Ok(())
}

fn moves_leave_nothing_behind(test: &mut Test) -> Outcome {
    let notification: Notification = test.create()?;
    let badged = test.badge(notification, 3)?;
    let slot = test.empty_slot()?;
    slot.move_from(test.slot(badged))?;
    check!(test.is_gone(badged)?);
    Notification(CPtr(slot.index)).signal();
    check_eq!(notification.poll(), 3);
    // Invoking the empty slot is an error, not a fault.
    let answer = syscall::call(badged.0, Message::empty(0));
    check_eq!((answer.label(), answer.length(), answer.word(0)), (2, 1, 0));
    Ok(())
}

fn rights_are_masked(test: &mut Test) -> Outcome {
    let notification: Notification = test.create()?;
    let badged = test.badge(notification, 9)?;
    let wait_only = test.restrict(badged, Rights::READ)?;
    let signal_only = test.restrict(badged, Rights::WRITE)?;
    // A copy cannot have more than its source.
    let still = test.restrict(wait_only, Rights::ALL)?;
    let refused = Err(Error::InvalidCapability(0));
    for cap in [wait_only, still] {
        check_eq!(invoke(cap.0, 0, &[], &[]).map(drop), refused);
        cap.signal();
        check_eq!(notification.poll(), 0);
    }
    check_eq!(invoke(signal_only.0, 0, &[], &[]).map(drop), Ok(()));
    check_eq!(still.poll(), 9);
    Ok(())
}

fn mint_sets_a_badge(test: &mut Test) -> Outcome {
    let notification: Notification = test.create()?;
    let unbadged = test.badge(notification, 0)?;
    // Badge 0 means none, so it can be minted once more.
    let badged = test.badge(unbadged, 0x55)?;
    let other = test.badge(notification, 0xa0)?;
    badged.signal();
    other.signal();
    check_eq!(notification.poll(), 0xf5);
    Ok(())
}

fn badges_are_set_once(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let badged = test.badge(endpoint, 1)?;
    for badge in [0, 1, 2] {
        check_eq!(test.badge(badged, badge), Err(Error::IllegalOperation));
    }
    check!(test.copy(badged).is_ok());
    Ok(())
}

fn badges_are_cut_to_their_width(test: &mut Test) -> Outcome {
    let notification: Notification = test.create()?;
    let badged = test.badge(notification, usize::MAX)?;
    badged.signal();
    let expected = usize::MAX >> (WORD_BITS - abi::BADGE_BITS);
    check_eq!(notification.poll(), expected);
    Ok(())
}

fn mint_refuses_bad_guards(test: &mut Test) -> Outcome {
    let table: CNode = test.create_sized(4)?;
    let (source, slot) = (test.slot(table), test.empty_slot()?);
    let guard = |size| GuardData { guard: 0, size }.word();
    for size in [WORD_BITS - 3, WORD_BITS - 1] {
        check_eq!(
            slot.mint_from(source, Rights::ALL, guard(size)),
            Err(Error::IllegalOperation)
        );
        check_eq!(
            slot.mutate_from(source, guard(size)),
            Err(Error::IllegalOperation)
        );
    }
    check_eq!(
        slot.mint_from(source, Rights::ALL, guard(WORD_BITS - 4)),
        Ok(())
    );
    // A table that is its own CSpace: an address is a whole word.
    let root = CNode(CPtr(slot.index));
    check!(test.is_empty(root.slot(CPtr(7)))?);
    Ok(())
}

fn mutate_refuses_badges(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let notification: Notification = test.create()?;
    let slot = test.empty_slot()?;
    for data in [0, 1] {
        for source in [test.slot(endpoint), test.slot(notification)] {
            check_eq!(slot.mutate_from(source, data), Err(Error::IllegalOperation));
        }
    }
    check!(!test.is_gone(endpoint)? && !test.is_gone(notification)?);
    Ok(())
}

fn mutate_sets_guards(test: &mut Test) -> Outcome {
    let table: CNode = test.create_sized(4)?;
    let slot = test.empty_slot()?;
    let data = GuardData { guard: 5, size: 3 };
    slot.mutate_from(test.slot(table), data.word())?;
    check!(test.is_gone(table)?);
    let root = CNode(CPtr(slot.index));
    let at = |index, depth| Slot { root, index, depth };
    check_eq!(at(5 << 4 | 2, 7).delete(), Ok(()));
    check_eq!(
        at(4 << 4 | 2, 7).delete(),
        failed(
            false,
            LookupFailure::GuardMismatch {
                bits_left: 7,
                guard_found: 5,
                bits_found: 3
            }
        )
    );
    // Data 0 removes the guard.
    test.slot(table).mutate_from(slot, 0)?;
    check_eq!(table.slot_of_table(2, 4).delete(), Ok(()));
    Ok(())
}

fn deleting_nothing_succeeds(test: &mut Test) -> Outcome {
    let slot = test.empty_slot()?;
    check_eq!(slot.delete(), Ok(()));
    check_eq!(slot.revoke(), Ok(()));
    let endpoint: Endpoint = test.create()?;
    check_eq!(test.slot(endpoint).revoke(), Ok(()));
    check!(!test.is_gone(endpoint)?);
    Ok(())
}

fn rotate_moves_both(test: &mut Test) -> Outcome {
    let first: CNode = test.create_sized(2)?;
    let second: CNode = test.create_sized(3)?;
    let (source, pivot) = (test.slot(first), test.slot(second));
    let destination = test.empty_slot()?;
    let guard = GuardData { guard: 1, size: 1 }.word();
    destination.rotate(guard, pivot, 0, source)?;
    check!(test.is_empty(source)?);
    // The second capability is at the destination, with a guard; the first is at the second's old place,
    // without.
    let moved = Slot {
        root: CNode(CPtr(destination.index)),
        index: 0b1_010,
        depth: 4,
    };
    check_eq!(moved.delete(), Ok(()));
    check_eq!(second.slot_of_table(1, 2).delete(), Ok(()));
    Ok(())
}

fn rotate_swaps(test: &mut Test) -> Outcome {
    let first: CNode = test.create_sized(2)?;
    let second: CNode = test.create_sized(3)?;
    let (source, pivot) = (test.slot(first), test.slot(second));
    source.rotate(0, pivot, 0, source)?;
    check_eq!(first.slot_of_table(1, 3).delete(), Ok(()));
    check_eq!(second.slot_of_table(1, 2).delete(), Ok(()));
    let wrong = LookupFailure::DepthMismatch {
        bits_left: 2,
        bits_found: 3,
    };
    check_eq!(first.slot_of_table(1, 2).delete(), failed(false, wrong));
    Ok(())
}

fn rotate_refuses_bad_places(test: &mut Test) -> Outcome {
    let first: CNode = test.create_sized(2)?;
    let second: CNode = test.create_sized(3)?;
    let third: CNode = test.create_sized(4)?;
    let (a, b, full) = (test.slot(first), test.slot(second), test.slot(third));
    let (empty, other) = (test.empty_slot()?, test.empty_slot()?);
    let illegal = Err(Error::IllegalOperation);
    check_eq!(empty.rotate(0, a, 0, a), illegal);
    check_eq!(a.rotate(0, a, 0, b), illegal);
    check_eq!(full.rotate(0, a, 0, b), Err(Error::DeleteFirst));
    check_eq!(
        empty.rotate(0, b, 0, other),
        failed(true, missing(WORD_BITS))
    );
    check_eq!(
        empty.rotate(0, other, 0, a),
        failed(false, missing(WORD_BITS))
    );
    let bad = GuardData {
        guard: 0,
        size: WORD_BITS - 1,
    }
    .word();
    check_eq!(empty.rotate(bad, b, 0, a), illegal);
    check_eq!(empty.rotate(0, b, bad, a), illegal);
    let no_root = CNode(test.create::<Endpoint>()?.0);
    let nowhere = no_root.slot(CPtr(1));
    let invalid = failed(true, LookupFailure::InvalidRoot);
    check_eq!(empty.rotate(0, nowhere, 0, a), invalid);
    check_eq!(empty.rotate(0, b, 0, nowhere), invalid);
    check!(!test.is_gone(first)? && !test.is_gone(second)? && test.is_empty(empty)?);
    Ok(())
}

fn rotate_refuses_endpoints(test: &mut Test) -> Outcome {
    let table: CNode = test.create_sized(2)?;
    let endpoint: Endpoint = test.create()?;
    let (a, b, empty) = (test.slot(table), test.slot(endpoint), test.empty_slot()?);
    check_eq!(empty.rotate(0, b, 0, a), Err(Error::IllegalOperation));
    check_eq!(empty.rotate(0, a, 0, b), Err(Error::IllegalOperation));
    Ok(())
}

fn cancel_badged_sends_needs_all_rights(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let badged = test.badge(endpoint, 4)?;
    check_eq!(test.slot(badged).cancel_badged_sends(), Ok(()));
    check_eq!(test.slot(endpoint).cancel_badged_sends(), Ok(()));
    for word in 0..15 {
        let partial = test.restrict(badged, Rights::from_word(word))?;
        check_eq!(
            test.slot(partial).cancel_badged_sends(),
            Err(Error::IllegalOperation)
        );
    }
    let notification: Notification = test.create()?;
    for slot in [test.slot(notification), test.empty_slot()?] {
        check_eq!(slot.cancel_badged_sends(), Err(Error::IllegalOperation));
    }
    Ok(())
}

fn interrupt_control_is_not_copied(test: &mut Test) -> Outcome {
    let own = test.allocator.cnode();
    let slot = test.empty_slot()?;
    let control = own.slot(CPtr(abi::slots::IRQ_CONTROL));
    check_eq!(
        slot.copy_from(control, Rights::ALL),
        Err(Error::IllegalOperation)
    );
    check_eq!(
        slot.mint_from(control, Rights::ALL, 1),
        Err(Error::IllegalOperation)
    );
    check_eq!(slot.move_from(control), Ok(()));
    check_eq!(control.move_from(slot), Ok(()));
    Ok(())
}

fn checks_come_in_order(test: &mut Test) -> Outcome {
    let table: CNode = test.create_sized(4)?;
    let endpoint: Endpoint = test.create()?;
    table
        .slot_of_table(1, 4)
        .copy_from(test.slot(endpoint), Rights::ALL)?;
    let copy = |words: &[usize], cap: CPtr| call(table, Method::CNodeCopy, words, &[cap]);
    let short = LookupFailure::DepthMismatch {
        bits_left: 3,
        bits_found: 4,
    };
    // Each call has the error that is reported, and all those that would be found later.
    check_eq!(copy(&[1], endpoint.0), Err(Error::TruncatedMessage));
    check_eq!(copy(&[1, 3], endpoint.0), failed(false, short));
    check_eq!(copy(&[1, 4], endpoint.0), Err(Error::TruncatedMessage));
    check_eq!(copy(&[1, 4, 0, 3], endpoint.0), Err(Error::DeleteFirst));
    check_eq!(
        copy(&[2, 4, 0, 3], endpoint.0),
        failed(true, LookupFailure::InvalidRoot)
    );
    check_eq!(copy(&[2, 4, 0, 3], table.0), failed(true, short));
    check_eq!(copy(&[2, 4, 0, 4], table.0), failed(true, missing(4)));
    check_eq!(copy(&[2, 4, 1, 4], table.0), Err(Error::TruncatedMessage));
    check_eq!(copy(&[2, 4, 1, 4, 15], table.0), Ok(()));
    Ok(())
}
