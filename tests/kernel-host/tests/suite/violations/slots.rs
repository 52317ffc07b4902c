//! Slots, and the memory to which capabilities refer.

use std::panic::{AssertUnwindSafe, catch_unwind};

use abi::{ObjectType, slots};
use kernel::cap::{Cap, Slot, UntypedCap};
use kernel::invariants::{check_cap, check_entry, check_slot};

use super::caught;
use super::system::TestSystem;

const ONE_TYPE: &str =
    "memory has one type at a time, and objects made from untyped memory are below its watermark";

/// Makes the capability of `signal` refer to the memory of its neighbour in the derivation tree.
fn share_memory(system: &mut TestSystem) {
    let (slot, other) = (system.slot(system.signal), system.endpoint());
    let next = system.kernel()[slot].next().unwrap();
    let Some((address, _)) = system.kernel()[next].cap().memory() else {
        panic!("the neighbour has no memory");
    };
    assert_ne!(address.0, other.address());
    let region = UntypedCap {
        address,
        bits: 4,
        device: false,
        watermark: 0,
    };
    system.kernel()[slot].set_cap(Cap::Untyped(region));
}

#[test]
fn slots_and_memory() {
    let check = |system: &TestSystem, address| {
        let slot = system.slot(address);
        check_slot(system.machine.kernel, slot)
    };
    caught("an empty slot is in no derivation tree", |system, _| {
        let slot = system.slot(system.signal);
        system.kernel()[slot].set_cap(Cap::Null);
        check(system, system.signal)
    });
    caught(
        "neighbours in the derivation tree know each other",
        |system, _| {
            // In the derivation tree, objects that the root task made later precede earlier ones.
            let next = system.slot(system.signal);
            let next = system.kernel()[next].next().unwrap();
            system.kernel()[next] = Slot::EMPTY;
            check(system, system.signal)
        },
    );
    caught(ONE_TYPE, |system, _| {
        share_memory(system);
        check(system, system.signal)
    });
    caught(
        "the watermark of untyped memory lies within it",
        |system, reach| {
            let untyped = system.machine.create(ObjectType::Untyped, 8);
            let Cap::Untyped(cap) = system.machine.cap(untyped) else {
                panic!("it is not untyped memory");
            };
            let cap = Cap::Untyped(UntypedCap {
                watermark: 512,
                ..cap
            });
            check_cap(system.kernel(), &cap, reach)
        },
    );
}

/// Such slots are checked immediately, not only in turn.
#[test]
fn the_slots_that_an_entry_changes_are_looked_at() {
    let mut system = TestSystem::new();
    share_memory(&mut system);
    let empty = system.machine.slot();
    let (from, to) = (system.slot(system.signal), system.slot(empty));
    let kernel = system.kernel();
    assert!(check_entry(kernel).is_ok());
    let cap = kernel[from].cap();
    kernel.move_cap(from, to, cap);
    let rule = check_entry(kernel).map_err(|violation| violation.rule);
    assert_eq!(rule, Err(ONE_TYPE));
}

/// Two objects that share memory without being neighbours in the derivation tree are found only by a
/// global check.
#[test]
fn memory_that_two_lists_share() {
    let mut system = TestSystem::new();
    let region = system.machine.cap(system.signal).memory().unwrap().0;
    let slot = system.slot(slots::BOOT_INFO_FRAME);
    let cap = UntypedCap {
        address: region,
        bits: 4,
        device: false,
        watermark: 0,
    };
    system.kernel()[slot].set_cap(Cap::Untyped(cap));
    let machine = &system.machine;
    let caught = catch_unwind(AssertUnwindSafe(|| machine.check())).unwrap_err();
    let text = caught.downcast_ref::<String>().unwrap();
    assert!(text.contains("memory has one type at a time"), "{text}");
}
