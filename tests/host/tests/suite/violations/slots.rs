//! Slots, and the memory to which capabilities refer.

use std::panic::{AssertUnwindSafe, catch_unwind};

use abi::{ObjectType, slots};
use kernel::cap::{Cap, Slot, UntypedCap, move_cap};
use kernel::invariants::{check_cap, check_entry, check_slot};

use super::caught;
use super::world::BigReaderLock;

const ONE_TYPE: &str = "memory has one type at a time, and what was made of untyped memory lies in \
                        the part that is given out";

/// Makes the capability of `signal` refer to the memory of its neighbour in the derivation tree.
fn share_memory(world: &mut BigReaderLock) {
    let (slot, other) = (world.slot(world.signal), world.endpoint());
    let next = world.kernel()[slot].next().unwrap();
    let Some((address, _)) = world.kernel()[next].cap().memory() else {
        panic!("the neighbour has no memory");
    };
    assert_ne!(address.0, other.address());
    let region = UntypedCap {
        address,
        bits: 4,
        device: false,
        watermark: 0,
    };
    world.kernel()[slot].set_cap(Cap::Untyped(region));
}

#[test]
fn slots_and_memory() {
    let check = |world: &BigReaderLock, address| {
        let slot = world.slot(address);
        check_slot(world.machine.kernel, slot)
    };
    caught("an empty slot is in no derivation tree", |world, _| {
        let slot = world.slot(world.signal);
        world.kernel()[slot].set_cap(Cap::Null);
        check(world, world.signal)
    });
    caught(
        "neighbours in the derivation tree know each other",
        |world, _| {
            // In the derivation tree, objects that the root task made later precede earlier ones.
            let next = world.slot(world.signal);
            let next = world.kernel()[next].next().unwrap();
            world.kernel()[next] = Slot::EMPTY;
            check(world, world.signal)
        },
    );
    caught(ONE_TYPE, |world, _| {
        share_memory(world);
        check(world, world.signal)
    });
    caught(
        "the watermark of untyped memory lies within it",
        |world, reach| {
            let untyped = world.machine.create(ObjectType::Untyped, 8);
            let Cap::Untyped(cap) = world.machine.cap(untyped) else {
                panic!("it is not untyped memory");
            };
            let cap = Cap::Untyped(UntypedCap {
                watermark: 512,
                ..cap
            });
            check_cap(world.kernel(), &cap, reach)
        },
    );
}

/// Such slots are checked immediately, not only in turn.
#[test]
fn the_slots_that_an_entry_changes_are_looked_at() {
    let mut world = BigReaderLock::new();
    share_memory(&mut world);
    let empty = world.machine.slot();
    let (from, to) = (world.slot(world.signal), world.slot(empty));
    let kernel = world.kernel();
    assert!(check_entry(kernel).is_ok());
    let cap = kernel[from].cap();
    move_cap(kernel, from, to, cap);
    let rule = check_entry(kernel).map_err(|violation| violation.rule);
    assert_eq!(rule, Err(ONE_TYPE));
}

/// Two objects that share memory without being neighbours in the derivation tree are found only by a
/// global check.
#[test]
fn memory_that_two_lists_share() {
    let mut world = BigReaderLock::new();
    let region = world.machine.cap(world.signal).memory().unwrap().0;
    let slot = world.slot(slots::BOOT_INFO_FRAME);
    let cap = UntypedCap {
        address: region,
        bits: 4,
        device: false,
        watermark: 0,
    };
    world.kernel()[slot].set_cap(Cap::Untyped(cap));
    let machine = &world.machine;
    let caught = catch_unwind(AssertUnwindSafe(|| machine.check())).unwrap_err();
    let text = caught.downcast_ref::<String>().unwrap();
    assert!(text.contains("memory has one type at a time"), "{text}");
}
