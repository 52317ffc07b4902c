//! Methods of CNodes: copy, mint, move, mutate, rotate.

use abi::{GuardData, LookupFailure, Method, Rights, WORD_BITS, slots};
use host_machine::{CPtr, Machine};
use kernel::cap::Cap;
use kernel::invoke::Error;

const ROOT: CPtr = slots::INIT_THREAD_CNODE;

fn badge(machine: &Machine, slot: CPtr) -> usize {
    match machine.cap(slot) {
        Cap::Endpoint(cap) => cap.badge,
        Cap::Notification(cap) => cap.badge,
        _ => panic!("neither endpoint nor notification"),
    }
}

fn rights(machine: &Machine, slot: CPtr) -> Rights {
    match machine.cap(slot) {
        Cap::Endpoint(cap) => cap.rights,
        Cap::Notification(cap) => cap.rights,
        _ => panic!("neither endpoint nor notification"),
    }
}

const fn missing(source: bool) -> Result<Vec<usize>, Error> {
    let failure = LookupFailure::MissingCapability {
        bits_left: WORD_BITS,
    };
    Err(Error::Lookup { source, failure })
}

#[test]
fn copying_masks_rights_and_keeps_badges() {
    let mut machine = Machine::new();
    let endpoint = machine.endpoint();
    assert_eq!(rights(&machine, endpoint), Rights::ALL);
    let badged = machine.mint(endpoint, Rights::from_word(7), 42);
    assert_eq!(rights(&machine, badged), Rights::from_word(7));
    let copy = machine.slot();
    machine
        .copy_to(badged, copy, Rights::from_word(14))
        .unwrap();
    assert_eq!(badge(&machine, copy), 42);
    assert_eq!(rights(&machine, copy), Rights::from_word(6));
}

#[test]
fn badges_are_set_once() {
    let mut machine = Machine::new();
    for object in [machine.endpoint(), machine.notification()] {
        let unbadged = machine.mint(object, Rights::ALL, 0);
        assert_eq!(badge(&machine, unbadged), 0);
        let badged = machine.mint(unbadged, Rights::ALL, usize::MAX);
        assert_eq!(badge(&machine, badged), usize::MAX);
        let slot = machine.slot();
        for data in [0, 1, usize::MAX] {
            let answer = machine.mint_to(badged, slot, Rights::ALL, data);
            assert_eq!(answer, Err(Error::IllegalOperation));
        }
        assert!(machine.is_empty(slot));
    }
}

#[test]
fn rights_of_replies_and_frames() {
    let mut machine = Machine::new();
    let reply = machine.reply();
    assert!(matches!(machine.cap(reply), Cap::Reply { grant: true, .. }));
    let weak = machine.slot();
    machine.copy_to(reply, weak, Rights::READ_WRITE).unwrap();
    assert!(matches!(machine.cap(weak), Cap::Reply { grant: false, .. }));
    let again = machine.copy(weak);
    assert!(matches!(
        machine.cap(again),
        Cap::Reply { grant: false, .. }
    ));
}

#[test]
fn guards_can_be_changed_by_mint_and_mutate() {
    let mut machine = Machine::new();
    let cnode = machine.cnode(4);
    let guard = |slot, machine: &Machine| match machine.cap(slot) {
        Cap::CNode(cnode) => cnode.guard,
        _ => panic!("no CNode"),
    };
    let data = GuardData { guard: 9, size: 5 };
    let minted = machine.mint(cnode, Rights::ALL, data.word());
    assert_eq!(guard(minted, &machine), data);
    // Copying keeps the guard, minting with 0 removes it.
    let copy = machine.copy(minted);
    assert_eq!(guard(copy, &machine), data);
    let bare = machine.mint(minted, Rights::ALL, 0);
    assert_eq!(guard(bare, &machine).size, 0);

    let longest = GuardData {
        guard: 0,
        size: WORD_BITS - 4,
    };
    let too_long = GuardData {
        guard: 0,
        size: WORD_BITS - 3,
    };
    let slot = machine.slot();
    for (method, data, expected) in [
        (Method::CNodeMutate, too_long, Err(Error::IllegalOperation)),
        (Method::CNodeMutate, longest, Ok(vec![])),
    ] {
        let words = [copy, WORD_BITS, data.word()];
        assert_eq!(machine.in_root(method, slot, &words), expected);
    }
    assert_eq!(guard(slot, &machine), longest);
    assert!(machine.is_empty(copy));
    let other = machine.slot();
    let answer = machine.mint_to(slot, other, Rights::ALL, too_long.word());
    assert_eq!(answer, Err(Error::IllegalOperation));
}

#[test]
fn moving_empties_the_source_and_keeps_the_family() {
    let mut machine = Machine::new();
    let endpoint = machine.endpoint();
    let badged = machine.mint(endpoint, Rights::ALL, 1);
    let copy = machine.copy(badged);
    let target = machine.slot();
    machine.move_to(badged, target).unwrap();
    assert!(machine.is_empty(badged));
    machine.revoke(target);
    assert!(machine.is_empty(copy));
    machine.move_to(endpoint, badged).unwrap();
    machine.revoke(badged);
    assert!(machine.is_empty(target));
}

#[test]
fn full_targets_and_empty_sources_are_refused() {
    use Method::{CNodeCopy, CNodeMint, CNodeMove, CNodeMutate};
    let mut machine = Machine::new();
    let cnode = machine.cnode(2);
    let (full, empty, source) = (machine.endpoint(), machine.slot(), machine.slot());
    machine.copy_to(cnode, source, Rights::ALL).unwrap();
    for method in [CNodeCopy, CNodeMint, CNodeMove, CNodeMutate] {
        // The target is checked first.
        for from in [source, empty] {
            let words = [from, WORD_BITS, 0, 0];
            assert_eq!(
                machine.in_root(method, full, &words),
                Err(Error::DeleteFirst)
            );
        }
        let target = machine.slot();
        let words = [empty, WORD_BITS, 0, 0];
        assert_eq!(machine.in_root(method, target, &words), missing(true));
        assert!(machine.is_empty(target));
    }
}

#[test]
fn messages_must_be_complete() {
    let mut machine = Machine::new();
    let (source, target) = (machine.endpoint(), machine.slot());
    for (method, length) in [
        (Method::CNodeDelete, 2),
        (Method::CNodeRevoke, 2),
        (Method::CNodeCancelBadgedSends, 2),
        (Method::CNodeCopy, 5),
        (Method::CNodeMint, 6),
        (Method::CNodeMove, 4),
        (Method::CNodeMutate, 5),
        (Method::CNodeRotate, 8),
    ] {
        let words = [target, WORD_BITS, source, WORD_BITS, 15, 0, 0, 0];
        let short = &words[..length - 1];
        let answer = machine.invoke(ROOT, method, short, &[ROOT, ROOT]);
        assert_eq!(answer, Err(Error::Truncated), "{method:?}");
        if length > 2 {
            let caps = &[ROOT][..usize::from(method == Method::CNodeRotate)];
            let answer = machine.invoke(ROOT, method, &words[..length], caps);
            assert_eq!(
                answer,
                Err(Error::Truncated),
                "{method:?} without capability"
            );
        }
    }
    assert!(machine.is_empty(target));
    let answer = machine.invoke(ROOT, Method::TcbSuspend, &[], &[]);
    assert_eq!(answer, Err(Error::IllegalOperation));
}

#[test]
fn some_capabilities_cannot_be_copied() {
    let mut machine = Machine::new();
    let slot = machine.slot();
    let answer = machine.copy_to(slots::IRQ_CONTROL, slot, Rights::ALL);
    assert_eq!(answer, Err(Error::IllegalOperation));
    // They can be moved, however.
    machine.move_to(slots::IRQ_CONTROL, slot).unwrap();
    machine.move_to(slot, slots::IRQ_CONTROL).unwrap();

    let untyped = machine.untyped(12);
    let endpoint = machine.slot();
    machine
        .retype(untyped, abi::ObjectType::Endpoint, 0, endpoint, 1)
        .unwrap();
    let answer = machine.copy_to(untyped, slot, Rights::ALL);
    assert_eq!(answer, Err(Error::RevokeFirst));
    assert!(machine.is_empty(slot));
}

#[test]
fn badges_do_not_change_by_moving() {
    let mut machine = Machine::new();
    let objects = [machine.endpoint(), machine.notification()];
    let target = machine.slot();
    for object in objects {
        for data in [0, 5] {
            let answer = machine.in_root(Method::CNodeMutate, target, &[object, WORD_BITS, data]);
            assert_eq!(answer, Err(Error::IllegalOperation));
        }
    }
    // Capabilities of kinds without data can be moved all the same.
    let reply = machine.reply();
    machine
        .in_root(Method::CNodeMutate, target, &[reply, WORD_BITS, 5])
        .unwrap();
    assert!(matches!(machine.cap(target), Cap::Reply { .. }));
}

/// Rotates without new data: pivot to target, source to pivot.
fn rotate(
    machine: &mut Machine,
    target: CPtr,
    pivot: CPtr,
    source: CPtr,
) -> host_machine::machine::Answer {
    let words = [0, pivot, WORD_BITS, 0, source, WORD_BITS];
    machine.in_root(Method::CNodeRotate, target, &words)
}

#[test]
fn rotating_moves_two_capabilities() {
    let mut machine = Machine::new();
    let (first, second) = (machine.cnode(2), machine.reply());
    let target = machine.slot();
    assert_eq!(rotate(&mut machine, target, first, second), Ok(vec![]));
    assert!(matches!(machine.cap(target), Cap::CNode(_)));
    assert!(matches!(machine.cap(first), Cap::Reply { .. }));
    assert!(machine.is_empty(second));
    // With the same source and target, the two capabilities are swapped.
    assert_eq!(rotate(&mut machine, target, first, target), Ok(vec![]));
    assert!(matches!(machine.cap(first), Cap::CNode(_)));
    assert!(matches!(machine.cap(target), Cap::Reply { .. }));
}

#[test]
fn swapping_neighbours_keeps_families() {
    let mut machine = Machine::new();
    let reply = machine.reply();
    let copy = machine.copy(reply);
    // Neighbours in the derivation tree are swapped, in both directions.
    assert_eq!(rotate(&mut machine, reply, copy, reply), Ok(vec![]));
    machine.revoke(reply);
    assert!(!machine.is_empty(copy), "what was a copy has no children");
    assert_eq!(rotate(&mut machine, reply, copy, reply), Ok(vec![]));
    machine.revoke(reply);
    assert!(machine.is_empty(copy));
}

#[test]
fn rotations_that_are_refused() {
    let mut machine = Machine::new();
    let (a, b, empty) = (machine.reply(), machine.reply(), machine.slot());
    let (full, endpoint) = (machine.reply(), machine.endpoint());
    let illegal = Err(Error::IllegalOperation);
    assert_eq!(rotate(&mut machine, empty, a, a), illegal);
    assert_eq!(rotate(&mut machine, a, a, b), illegal);
    assert_eq!(rotate(&mut machine, full, a, b), Err(Error::DeleteFirst));
    let nothing = machine.slot();
    assert_eq!(rotate(&mut machine, nothing, a, empty), missing(true));
    assert_eq!(rotate(&mut machine, nothing, empty, b), missing(false));
    assert_eq!(rotate(&mut machine, nothing, endpoint, b), illegal);
    assert_eq!(rotate(&mut machine, nothing, a, endpoint), illegal);
    assert!(matches!(machine.cap(a), Cap::Reply { .. }));
    assert!(machine.is_empty(nothing));
}

#[test]
fn cancelling_sends_needs_all_rights() {
    let mut machine = Machine::new();
    let (endpoint, notification) = (machine.endpoint(), machine.notification());
    let cancel =
        |machine: &mut Machine, slot| machine.in_root(Method::CNodeCancelBadgedSends, slot, &[]);
    assert_eq!(cancel(&mut machine, endpoint), Ok(vec![]));
    let badged = machine.mint(endpoint, Rights::ALL, 3);
    assert_eq!(cancel(&mut machine, badged), Ok(vec![]));
    for lacking in [1, 2, 4, 8] {
        let weak = machine.mint(endpoint, Rights::from_word(15 - lacking), 3);
        assert_eq!(cancel(&mut machine, weak), Err(Error::IllegalOperation));
    }
    let empty = machine.slot();
    for other in [notification, empty] {
        assert_eq!(cancel(&mut machine, other), Err(Error::IllegalOperation));
    }
}
