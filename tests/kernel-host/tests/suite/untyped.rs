//! Untyped memory: retyping, and when it becomes free again.

use abi::sizes::{MAX_UNTYPED_BITS, SLOT_BITS};
use abi::{GuardData, LookupFailure, Method, ObjectType, Rights, WORD_BITS, slots};
use host_machine::machine::Answer;
use host_machine::{CPtr, Machine, Message, Spec, State};
use kernel::arch::Irq;
use kernel::cap::Cap;
use kernel::invoke::Error;
use kernel::object::{ThreadFlags, ThreadState};

const ROOT: CPtr = slots::INIT_THREAD_CNODE;

/// The whole request: type, size, index, depth, offset, count.
fn retype(machine: &mut Machine, untyped: CPtr, words: [usize; 6], root: CPtr) -> Answer {
    machine.invoke(untyped, Method::UntypedRetype, &words, &[root])
}

const fn range(minimum: usize, maximum: usize) -> Answer {
    Err(Error::Range { minimum, maximum })
}

/// Address and watermark.
fn untyped(machine: &Machine, slot: CPtr) -> (usize, usize) {
    match machine.cap(slot) {
        Cap::Untyped(cap) => (cap.address.0, cap.watermark),
        _ => panic!("{slot} is not untyped memory"),
    }
}

#[test]
fn requests_are_checked_in_order() {
    use ObjectType::{CNode, Endpoint, SchedContext, Untyped};
    let mut machine = Machine::new();
    let memory = machine.untyped(12);
    let cnode = machine.cnode(4);
    let endpoint = machine.endpoint();
    let number = |kind: ObjectType| kind.number();
    // Each request has one error less than the previous one, which shows the order of the checks.
    let bad = |words| (words, ROOT);
    let everything = usize::MAX;
    let cases = [
        (
            bad([ObjectType::COUNT, everything, 0, 99, everything, 0]),
            Err(Error::InvalidArgument(0)),
        ),
        (
            bad([number(CNode), WORD_BITS, 0, 99, everything, 0]),
            range(0, MAX_UNTYPED_BITS),
        ),
        (
            bad([
                number(CNode),
                MAX_UNTYPED_BITS - SLOT_BITS + 1,
                0,
                99,
                everything,
                0,
            ]),
            range(0, MAX_UNTYPED_BITS),
        ),
        (
            bad([number(Untyped), MAX_UNTYPED_BITS + 1, 0, 99, everything, 0]),
            range(0, MAX_UNTYPED_BITS),
        ),
        (
            bad([number(CNode), 0, 0, 99, everything, 0]),
            Err(Error::InvalidArgument(1)),
        ),
        (
            bad([number(Untyped), 3, 0, 99, everything, 0]),
            Err(Error::InvalidArgument(1)),
        ),
        (
            bad([number(SchedContext), 6, 0, 99, everything, 0]),
            Err(Error::InvalidArgument(1)),
        ),
        (
            bad([number(Endpoint), 0, 0, 99, everything, 0]),
            range(1, WORD_BITS),
        ),
        (
            (
                [number(Endpoint), 0, endpoint, WORD_BITS, everything, 0],
                ROOT,
            ),
            Err(Error::Lookup {
                source: false,
                failure: LookupFailure::MissingCapability {
                    bits_left: WORD_BITS,
                },
            }),
        ),
        (
            ([number(Endpoint), 0, 0, 0, everything, 0], endpoint),
            Err(Error::Lookup {
                source: false,
                failure: LookupFailure::MissingCapability { bits_left: 0 },
            }),
        ),
        (
            ([number(Endpoint), 0, 0, 5, everything, 0], endpoint),
            Err(Error::Lookup {
                source: false,
                failure: LookupFailure::InvalidRoot,
            }),
        ),
        (
            ([number(Endpoint), 0, cnode, WORD_BITS, 16, 0], ROOT),
            range(0, 15),
        ),
        (([number(Endpoint), 0, 0, 0, 15, 0], cnode), range(1, 256)),
        (([number(Endpoint), 0, 0, 0, 15, 257], cnode), range(1, 256)),
        (([number(Endpoint), 0, 0, 0, 15, 2], cnode), range(1, 1)),
        (([number(Endpoint), 0, 0, 0, 14, 3], cnode), range(1, 2)),
        (
            ([number(Endpoint), 0, 0, 0, endpoint, 1], ROOT),
            Err(Error::DeleteFirst),
        ),
        (
            ([number(Untyped), 12, 0, 0, 0, 2], cnode),
            Err(Error::NotEnoughMemory(4096)),
        ),
    ];
    for ((words, root), expected) in cases {
        assert_eq!(
            retype(&mut machine, memory, words, root),
            expected,
            "{words:x?}"
        );
    }
    assert_eq!(
        machine.invoke(memory, Method::UntypedRetype, &[0; 5], &[ROOT]),
        Err(Error::Truncated)
    );
    assert_eq!(
        machine.invoke(memory, Method::UntypedRetype, &[0; 6], &[]),
        Err(Error::Truncated)
    );
    assert_eq!(
        machine.invoke(memory, Method::CNodeCopy, &[0; 6], &[ROOT]),
        Err(Error::IllegalOperation)
    );
    // No request had an effect.
    assert_eq!(untyped(&machine, memory).1, 0);
}

#[test]
fn the_destination_may_be_named_or_given() {
    let mut machine = Machine::new();
    let memory = machine.untyped(12);
    let cnode = machine.cnode(3);
    let kind = ObjectType::Endpoint.number();
    assert_eq!(
        retype(&mut machine, memory, [kind, 0, 0, 0, 1, 2], cnode),
        Ok(vec![])
    );
    assert_eq!(
        retype(
            &mut machine,
            memory,
            [kind, 0, cnode, WORD_BITS, 3, 5],
            ROOT
        ),
        Ok(vec![])
    );
    for index in 0..8 {
        let words = [index, 3, 0, 0, 0];
        let expected = if index == 0 {
            range(1, WORD_BITS)
        } else {
            Err(Error::DeleteFirst)
        };
        let answer = machine.invoke(cnode, Method::CNodeCopy, &words, &[ROOT]);
        assert_eq!(answer, expected, "slot {index}");
    }
}

#[test]
fn objects_ascend_from_the_watermark() {
    let mut machine = Machine::new();
    let memory = machine.untyped(12);
    let (base, _) = untyped(&machine, memory);
    let slot = machine.slots(4);
    machine
        .retype(memory, ObjectType::Endpoint, 0, slot, 3)
        .unwrap();
    assert_eq!(untyped(&machine, memory), (base, 48));
    // The gap up to the next object's alignment is lost.
    machine
        .retype(memory, ObjectType::Untyped, 10, slot + 3, 1)
        .unwrap();
    assert_eq!(untyped(&machine, slot + 3), (base + 1024, 0));
    assert_eq!(untyped(&machine, memory), (base, 2048));
    // Deleting the last object does not lower the watermark.
    machine.delete(slot + 3);
    assert_eq!(untyped(&machine, memory), (base, 2048));
    let answer = machine.retype(memory, ObjectType::Untyped, 10, slot + 3, 3);
    assert!(matches!(
        answer,
        Err(Error::Range { .. } | Error::NotEnoughMemory(2048))
    ));
    // Without children, all memory is free again.
    for index in 0..3 {
        machine.delete(slot + index);
    }
    machine
        .retype(memory, ObjectType::Untyped, 12, slot, 1)
        .unwrap();
    assert_eq!(untyped(&machine, slot), (base, 0));
}

#[test]
fn free_bytes_are_counted_before_alignment() {
    let mut machine = Machine::new();
    let memory = machine.untyped(12);
    let slot = machine.slots(8);
    machine
        .retype(memory, ObjectType::Endpoint, 0, slot, 1)
        .unwrap();
    let full = machine.retype(memory, ObjectType::Untyped, 10, slot + 1, 4);
    assert_eq!(full, Err(Error::NotEnoughMemory(4096 - 16)));
    assert_eq!(
        machine.retype(memory, ObjectType::Untyped, 10, slot + 1, 3),
        Ok(vec![])
    );
    let full = machine.retype(memory, ObjectType::Endpoint, 0, slot + 4, 1);
    assert_eq!(full, Err(Error::NotEnoughMemory(0)));
}

#[test]
fn new_objects_are_as_the_interface_says() {
    let mut machine = Machine::new();
    let objects = machine.slots(6);
    for (index, (kind, bits)) in [
        (ObjectType::Tcb, 0),
        (ObjectType::Endpoint, 0),
        (ObjectType::Notification, 0),
        (ObjectType::Reply, 0),
        (ObjectType::CNode, 5),
        (ObjectType::SchedContext, 8),
    ]
    .into_iter()
    .enumerate()
    {
        machine.create_in(kind, bits, objects + index);
    }
    let Cap::Thread(thread) = machine.cap(objects) else {
        panic!()
    };
    let thread = &machine.kernel[thread];
    assert!(matches!(thread.state, ThreadState::Inactive));
    assert_eq!(
        (
            thread.priority,
            thread.max_controlled_priority,
            thread.flags
        ),
        (0, 0, ThreadFlags::empty())
    );
    assert!(thread.slots.iter().all(kernel::cap::Slot::is_empty));
    assert!(thread.sched_context.is_none());
    let Cap::Endpoint(endpoint) = machine.cap(objects + 1) else {
        panic!()
    };
    assert_eq!((endpoint.badge, endpoint.rights), (0, Rights::ALL));
    let Cap::Notification(notification) = machine.cap(objects + 2) else {
        panic!()
    };
    assert_eq!((notification.badge, notification.rights), (0, Rights::ALL));
    assert!(matches!(
        machine.cap(objects + 3),
        Cap::Reply { grant: true, .. }
    ));
    let Cap::CNode(cnode) = machine.cap(objects + 4) else {
        panic!()
    };
    assert_eq!(
        (cnode.radix, cnode.guard),
        (5, GuardData { guard: 0, size: 0 })
    );
    assert!((0..32).all(|slot| machine.kernel[cnode.slot(slot)].is_empty()));
    let context = machine.context(objects + 5);
    assert!(!machine.kernel[context].is_configured());
}

#[test]
fn memory_is_cleared_before_it_is_used_again() {
    let mut machine = Machine::new();
    let memory = machine.untyped(13);
    let slot = machine.slots(2);
    for _ in 0..2 {
        machine
            .retype(memory, ObjectType::X86Page4K, 0, slot, 2)
            .unwrap();
        for frame in [slot, slot + 1] {
            let address = machine
                .invoke(frame, Method::X86PageGetAddress, &[], &[])
                .unwrap()[0];
            // SAFETY: a frame of the machine, which only this test uses.
            let frame = unsafe { core::slice::from_raw_parts_mut(address as *mut u8, 4096) };
            assert!(frame.iter().all(|byte| *byte == 0));
            frame.fill(0xff);
        }
        machine.delete(slot);
        machine.delete(slot + 1);
    }
}

#[test]
fn clearing_gives_way_to_interrupts_and_goes_on() {
    let mut machine = Machine::new();
    let memory = machine.untyped(12);
    let slot = machine.slots(2);
    machine
        .retype(memory, ObjectType::X86Page4K, 0, slot, 1)
        .unwrap();
    machine.delete(slot);
    let worker = machine.spawn(Spec::new("worker", 10).active());
    machine.rest();
    let words = [ObjectType::X86Page4K.number(), 0, 0, 0, slot, 1];
    let message = Message::new(Method::UntypedRetype.number(), &words).with_caps(&[ROOT]);
    // The first three preemption points are after lookups and checks.
    machine.kernel.arch.ambush = Some((7, Irq(0)));
    machine.call(worker, memory, &message);
    assert_eq!(machine.running(), "root");
    assert!(machine.is_empty(slot));
    // Five chunks of 256 bytes are cleared.
    assert_eq!(untyped(&machine, memory).1, 4096 - 5 * 256);
    machine.rest();
    assert_eq!(machine.running(), "worker");
    assert_eq!(machine.received(worker).label, 0);
    assert!(!machine.is_empty(slot));
}

#[test]
fn clearing_stops_when_the_budget_is_used_up() {
    let mut machine = Machine::new();
    let memory = machine.untyped(14);
    let slot = machine.slot();
    machine
        .retype(memory, ObjectType::Untyped, 14, slot, 1)
        .unwrap();
    machine.delete(slot);
    let budget = host_machine::Budget::new(100, 1000);
    let worker = machine.spawn(Spec::new("worker", 10).budget(budget));
    machine.rest();
    let start = machine.now();
    let words = [ObjectType::Untyped.number(), 14, 0, 0, slot, 1];
    let message = Message::new(Method::UntypedRetype.number(), &words).with_caps(&[ROOT]);
    // 64 chunks at five microseconds each do not fit into 100 microseconds.
    machine.kernel.arch.time_per_look = kernel::time::Ticks(5);
    machine.call(worker, memory, &message);
    machine.kernel.arch.time_per_look = kernel::time::Ticks(0);
    assert_eq!(machine.running(), "none");
    assert_eq!(machine.state(worker), State::Runnable);
    assert!(machine.now() - start <= 110);
    assert!(machine.is_empty(slot));
    machine.advance_until(|machine| machine.runs(worker));
    assert!((900..=1000).contains(&(machine.now() - start)));
    assert!(!machine.is_empty(slot));
}

#[test]
fn a_copy_of_untyped_memory_takes_it_over() {
    let mut machine = Machine::new();
    let memory = machine.untyped(12);
    let slot = machine.slots(2);
    let copy = machine.copy(memory);
    let full = machine.retype(memory, ObjectType::Endpoint, 0, slot, 1);
    assert_eq!(full, Err(Error::NotEnoughMemory(0)));
    machine
        .retype(copy, ObjectType::Endpoint, 0, slot, 1)
        .unwrap();
    let answer = machine.copy_to(memory, slot + 1, Rights::ALL);
    assert_eq!(answer, Err(Error::RevokeFirst));
    machine.revoke(memory);
    assert!(machine.is_empty(copy) && machine.is_empty(slot));
    machine
        .retype(memory, ObjectType::Endpoint, 0, slot, 1)
        .unwrap();
}

#[test]
fn what_is_made_of_a_copy_of_untyped_memory_is_its_child() {
    let mut machine = Machine::new();
    let memory = machine.untyped(12);
    let copy = machine.copy(memory);
    let slot = machine.slots(2);
    for made in [slot, slot + 1] {
        machine
            .retype(copy, ObjectType::Endpoint, 0, made, 1)
            .unwrap();
    }
    // The second object does not overlap the first.
    assert_eq!(untyped(&machine, copy).1, 32);
    machine.revoke(copy);
    assert!(!machine.is_empty(copy));
    assert!(machine.is_empty(slot) && machine.is_empty(slot + 1));
}

#[test]
fn device_memory_becomes_frames_only() {
    let mut machine = Machine::new();
    let region = machine.boot_info.untyped;
    let device = (region.start..region.end)
        .zip(&machine.boot_info.untyped_list)
        .find(|(_, descriptor)| descriptor.is_device == 1)
        .map(|(slot, _)| slot)
        .expect("the machine has imaginary devices");
    let slot = machine.slots(2);
    for kind in [ObjectType::Endpoint, ObjectType::Tcb, ObjectType::X86Pml4] {
        let answer = machine.retype(device, kind, 0, slot, 1);
        assert_eq!(answer, Err(Error::InvalidArgument(1)), "{kind:?}");
    }
    // The size check comes first.
    let answer = machine.retype(device, ObjectType::CNode, 30, slot, 1);
    assert!(matches!(answer, Err(Error::NotEnoughMemory(_))));
    machine
        .retype(device, ObjectType::Untyped, 13, slot, 1)
        .unwrap();
    machine
        .retype(slot, ObjectType::X86Page4K, 0, slot + 1, 1)
        .unwrap();
    let Cap::Arch(frame) = machine.cap(slot + 1) else {
        panic!()
    };
    assert!(kernel::arch::ArchCap::frame(frame).unwrap().device);
    // Device memory is not cleared at reuse: there is no memory at these addresses.
    machine.revoke(device);
    machine
        .retype(device, ObjectType::Untyped, 13, slot, 1)
        .unwrap();
}

#[test]
fn many_objects_at_once() {
    let mut machine = Machine::new();
    let memory = machine.untyped(12);
    let slot = machine.slots(256);
    machine
        .retype(memory, ObjectType::Endpoint, 0, slot, 256)
        .unwrap();
    assert!((slot..slot + 256).all(|slot| matches!(machine.cap(slot), Cap::Endpoint(_))));
    machine.revoke(memory);
    assert!((slot..slot + 256).all(|slot| machine.is_empty(slot)));
}
