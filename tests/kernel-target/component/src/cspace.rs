//! Capability addresses: how a CSpace resolves them, and the faults of addresses that do not resolve.

use crate::support::counters;
use crate::support::events::{note, noted};
use crate::support::protocol::CNODE_BITS;
use crate::support::{ABOVE, Outcome, Test};
use crate::{check, check_eq};
use abi::{GuardData, LookupFailure, Method, WORD_BITS};
use userlib::cap::{CNode, Endpoint, Notification, Reply, Untyped};
use userlib::invoke::invoke;
use userlib::{CPtr, Error, Fault, Message, Result, Rights, syscall};

tests![
    two_levels_resolve_the_whole_address,
    left_over_bits_are_ignored,
    cyclic_spaces_resolve,
    a_wrong_guard_is_a_fault,
    a_short_address_is_a_fault,
    a_missing_root_is_a_fault,
    empty_slots_are_errors,
    empty_slots_take_messages,
    receiving_from_nothing_is_a_fault,
    receiving_without_the_right_is_a_fault,
    receiving_from_other_objects_is_a_fault,
    a_missing_reply_object_is_a_fault,
    extra_capabilities_must_resolve,
    not_blocking_sends_do_not_fault,
    empty_extra_capabilities_are_null,
    the_fault_tells_where,
    an_extended_space_has_a_cnode_for_each_arena,
];

/// A CSpace of two levels of 4 bits each, with leading zeros: the root, and the table in its slot 3.
fn two_levels(test: &mut Test) -> Result<(CNode, CNode)> {
    let top: CNode = test.create_sized(4)?;
    let second: CNode = test.create_sized(4)?;
    let slot = top.slot_of_table(3, 4);
    slot.copy_from(test.slot(second), Rights::ALL)?;
    let guard = CNode::root_guard(8).word();
    Ok((test.allocator.mint(top, Rights::ALL, guard)?, second))
}

/// Runs `work` in a CSpace of its own; its faults go to the runner.
fn run_in<F: FnOnce() + Send + 'static>(test: &mut Test, root: CNode, work: F) -> Result {
    let thread = test.thread(ABOVE, work)?;
    thread.tcb.set_space(test.faults, root, 0, test.vspace)?;
    thread.start()
}

/// Runs `work` in a CSpace of its own; returns its fault.
#[track_caller]
fn fault_in<F: FnOnce() + Send + 'static>(test: &mut Test, root: CNode, work: F) -> Outcome<Fault> {
    let watched = test.watched(work)?;
    let endpoint = watched.endpoint;
    watched
        .thread
        .tcb
        .set_space(endpoint, root, 0, test.vspace)?;
    watched.thread.start()?;
    Ok(watched.fault())
}

/// Compares a fault, except for the instruction's address, which is not known.
#[track_caller]
fn check_fault(fault: Fault, expected: (usize, bool, LookupFailure)) {
    match fault {
        Fault::Capability {
            address,
            receiving,
            failure: Some(failure),
            ..
        } => check_eq!((address, receiving, failure), expected),
        other => crate::support::fail(format_args!("another fault: {other:x?}")),
    }
}

const MISSING: LookupFailure = LookupFailure::MissingCapability { bits_left: 0 };

fn two_levels_resolve_the_whole_address(test: &mut Test) -> Outcome {
    let (root, second) = two_levels(test)?;
    let notification: Notification = test.create()?;
    let badged = test.badge(notification, 0x40)?;
    let slot = second.slot_of_table(5, 4);
    slot.copy_from(test.slot(badged), Rights::ALL)?;
    run_in(test, root, || Notification(CPtr(0x35)).signal())?;
    check_eq!(notification.poll(), 0x40);
    Ok(())
}

fn left_over_bits_are_ignored(test: &mut Test) -> Outcome {
    let (root, _) = two_levels(test)?;
    let notification: Notification = test.create()?;
    let badged = test.badge(notification, 0x40)?;
    let slot = Slot4(root).at(7);
    slot.copy_from(test.slot(badged), Rights::ALL)?;
    run_in(test, root, || {
        Notification(CPtr(0x70)).signal();
        Notification(CPtr(0x7f)).signal();
        note('a');
    })?;
    check_eq!(notification.poll(), 0x40);
    check_eq!(noted(), "a");
    // As the address of a slot, the same address is wrong.
    check_eq!(
        root.slot(CPtr(0x70)).delete(),
        Err(Error::FailedLookup {
            source: false,
            failure: LookupFailure::DepthMismatch {
                bits_left: 4,
                bits_found: 0
            }
        })
    );
    Ok(())
}

/// The first level of [`two_levels`].
struct Slot4(CNode);

impl Slot4 {
    fn at(&self, index: usize) -> userlib::cap::Slot {
        userlib::cap::Slot {
            root: self.0,
            index,
            depth: WORD_BITS - 4,
        }
    }
}

fn cyclic_spaces_resolve(test: &mut Test) -> Outcome {
    let table: CNode = test.create_sized(4)?;
    let notification: Notification = test.create()?;
    let badged = test.badge(notification, 0x40)?;
    // Slot 0 leads back to the table, so every four bits of an address are one level.
    let copy = |index, source| table.slot_of_table(index, 4).copy_from(source, Rights::ALL);
    copy(0, test.slot(table))?;
    copy(5, test.slot(badged))?;
    run_in(test, table, || Notification(CPtr(5)).signal())?;
    check_eq!(notification.poll(), 0x40);
    run_in(test, table, || {
        Notification(CPtr(0x5a5a << (WORD_BITS - 16))).signal();
    })?;
    check_eq!(notification.poll(), 0x40);
    Ok(())
}

fn a_wrong_guard_is_a_fault(test: &mut Test) -> Outcome {
    let (root, _) = two_levels(test)?;
    let address = 0x1_35;
    let fault = fault_in(test, root, move || Notification(CPtr(address)).signal())?;
    let failure = LookupFailure::GuardMismatch {
        bits_left: WORD_BITS,
        guard_found: 0,
        bits_found: WORD_BITS - 8,
    };
    check_fault(fault, (address, false, failure));

    let (root, _) = two_levels(test)?;
    let third: CNode = test.create_sized(2)?;
    let data = GuardData { guard: 2, size: 2 }.word();
    Slot4(root)
        .at(9)
        .mint_from(test.slot(third), Rights::ALL, data)?;
    let fault = fault_in(test, root, || {
        syscall::call(CPtr(0x96), Message::empty(0));
    })?;
    let failure = LookupFailure::GuardMismatch {
        bits_left: 4,
        guard_found: 2,
        bits_found: 2,
    };
    check_fault(fault, (0x96, false, failure));
    Ok(())
}

fn a_short_address_is_a_fault(test: &mut Test) -> Outcome {
    let (root, _) = two_levels(test)?;
    let third: CNode = test.create_sized(5)?;
    Slot4(root).at(9).copy_from(test.slot(third), Rights::ALL)?;
    let fault = fault_in(test, root, || {
        syscall::send(CPtr(0x96), Message::empty(0));
    })?;
    let failure = LookupFailure::DepthMismatch {
        bits_left: 4,
        bits_found: 5,
    };
    check_fault(fault, (0x96, false, failure));
    Ok(())
}

fn a_missing_root_is_a_fault(test: &mut Test) -> Outcome {
    for receive in [false, true] {
        let root: CNode = test.create_sized(4)?;
        let watched = test.watched(move || {
            if receive {
                syscall::wait(CPtr(7));
            } else {
                syscall::call(CPtr(7), Message::empty(0));
            }
        })?;
        let endpoint = watched.endpoint;
        watched
            .thread
            .tcb
            .set_space(endpoint, root, 0, test.vspace)?;
        // Removes the thread's copy of the root.
        test.slot(root).revoke()?;
        watched.thread.start()?;
        check_fault(watched.fault(), (7, receive, LookupFailure::InvalidRoot));
    }
    Ok(())
}

fn empty_slots_are_errors(test: &mut Test) -> Outcome {
    let empty = CPtr(test.empty_slot()?.index);
    for method in [0, Method::TcbSuspend.number(), 12345] {
        let result = invoke(empty, method, &[1, 2], &[]).map(drop);
        check_eq!(result, Err(Error::InvalidCapability(0)));
    }
    let null = invoke(CPtr::NULL, 0, &[], &[]).map(drop);
    check_eq!(null, Err(Error::InvalidCapability(0)));
    Ok(())
}

fn empty_slots_take_messages(test: &mut Test) -> Outcome {
    let empty = CPtr(test.empty_slot()?.index);
    syscall::send(empty, Message::new(3, &[1]));
    syscall::nb_send(empty, Message::new(3, &[1]));
    let notification: Notification = test.create()?;
    let badged = test.badge(notification, 1)?;
    badged.signal();
    // The first phase has no effect; the second continues.
    let received = syscall::nb_send_wait(empty, Message::empty(0), notification.0);
    check_eq!(received.badge, 1);
    Ok(())
}

fn receiving_from_nothing_is_a_fault(test: &mut Test) -> Outcome {
    let empty = CPtr(test.empty_slot()?.index);
    let reply: Reply = test.create()?;
    let works: [fn(CPtr, CPtr); 4] = [
        |source, _| {
            syscall::wait(source);
        },
        |source, _| {
            syscall::nb_wait(source);
        },
        |source, reply| {
            syscall::recv(source, reply);
        },
        |source, reply| {
            syscall::nb_recv(source, reply);
        },
    ];
    for work in works {
        let fault = test.fault_of(move || work(empty, reply.0))?;
        check_fault(fault, (empty.0, true, MISSING));
    }
    Ok(())
}

fn receiving_without_the_right_is_a_fault(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let send_only = test.restrict(endpoint, Rights::WRITE)?;
    let fault = test.fault_of(move || {
        send_only.wait();
    })?;
    check_fault(fault, (send_only.0.0, true, MISSING));
    let notification: Notification = test.create()?;
    let signal_only = test.restrict(notification, Rights::WRITE)?;
    let fault = test.fault_of(move || {
        signal_only.poll();
    })?;
    check_fault(fault, (signal_only.0.0, true, MISSING));
    Ok(())
}

fn receiving_from_other_objects_is_a_fault(test: &mut Test) -> Outcome {
    let reply: Reply = test.create()?;
    let cnode = test.allocator.cnode();
    for object in [test.tcb.0, cnode.0, reply.0, test.sched_context.0] {
        let fault = test.fault_of(move || {
            syscall::recv(object, reply.0);
        })?;
        check_fault(fault, (object.0, true, MISSING));
    }
    Ok(())
}

fn a_missing_reply_object_is_a_fault(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let empty = CPtr(test.empty_slot()?.index);
    for (source, reply) in [(endpoint.0, empty), (endpoint.0, endpoint.0)] {
        let fault = test.fault_of(move || {
            syscall::recv(source, reply);
        })?;
        check_fault(fault, (reply.0, true, MISSING));
        let fault = test.fault_of(move || {
            syscall::nb_recv(source, reply);
        })?;
        check_fault(fault, (reply.0, true, MISSING));
    }
    // An address that does not resolve is reported as a lookup error.
    let nowhere = CPtr(1 << (WORD_BITS - 1));
    let fault = test.fault_of(move || {
        syscall::recv(endpoint.0, nowhere);
    })?;
    let failure = LookupFailure::GuardMismatch {
        bits_left: WORD_BITS,
        guard_found: 0,
        bits_found: WORD_BITS - 12,
    };
    check_fault(fault, (nowhere.0, true, failure));
    // A receive from a notification needs no reply object.
    let notification: Notification = test.create()?;
    check!(syscall::nb_recv(notification.0, empty).is_none());
    Ok(())
}

fn extra_capabilities_must_resolve(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let nowhere = CPtr(1 << (WORD_BITS - 1));
    let good = endpoint.0;
    let failure = LookupFailure::GuardMismatch {
        bits_left: WORD_BITS,
        guard_found: 0,
        bits_found: WORD_BITS - 12,
    };
    for call in [false, true] {
        let fault = test.fault_of(move || {
            let message = Message::empty(0).with_capabilities(&[good, nowhere]);
            if call {
                syscall::call(endpoint.0, message);
            } else {
                syscall::send(endpoint.0, message);
            }
        })?;
        check_fault(fault, (nowhere.0, false, failure));
    }
    Ok(())
}

fn not_blocking_sends_do_not_fault(test: &mut Test) -> Outcome {
    let nowhere = CPtr(1 << (WORD_BITS - 1));
    let notification: Notification = test.create()?;
    let badged = test.badge(notification, 1)?;
    syscall::nb_send(nowhere, Message::empty(0));
    // A signal with an extra capability that does not resolve has no effect.
    let message = Message::empty(0).with_capabilities(&[nowhere]);
    syscall::nb_send(badged.0, message);
    check_eq!(notification.poll(), 0);
    badged.signal();
    let received = syscall::nb_send_wait(nowhere, Message::empty(0), notification.0);
    check_eq!(received.badge, 1);
    Ok(())
}

fn empty_extra_capabilities_are_null(test: &mut Test) -> Outcome {
    let empty = CPtr(test.empty_slot()?.index);
    let tcb = test.bare_thread()?;
    let result = tcb.bind_notification(Notification(empty));
    check_eq!(result, Err(Error::IllegalOperation));
    check_eq!(tcb.set_timeout_endpoint(empty), Ok(()));
    Ok(())
}

fn the_fault_tells_where(test: &mut Test) -> Outcome {
    use crate::support::arch::{SYSTEM_CALL_OFFSET, system_call};
    let nowhere = 1 << (WORD_BITS - 1);
    let fault = test.fault_of(move || {
        // SAFETY: a send changes no memory.
        unsafe { system_call(nowhere, 0, abi::Syscall::Send.number()) };
    })?;
    let Fault::Capability { pc, .. } = fault else {
        crate::support::fail(format_args!("another fault: {fault:x?}"))
    };
    check_eq!(pc, system_call as *const () as usize + SYSTEM_CALL_OFFSET);
    Ok(())
}

/// The allocator of userlib. Its own addresses stay the same, and the memory of arenas is used again.
fn an_extended_space_has_a_cnode_for_each_arena(test: &mut Test) -> Outcome {
    /// More slots than an allocator can free one by one.
    const MANY: usize = 4_200;
    /// So often a test does not have the memory of an arena.
    const ROUNDS: usize = 12;
    let notification: Notification = test.create()?;
    let thread = test.thread(ABOVE, || Notification(CPtr(counters::count(1))).signal())?;
    let vspace = test.vspace;
    test.allocator
        .extend_cspace(thread.tcb, vspace, CNODE_BITS)?;
    for round in 0..ROUNDS {
        let endpoints = if round == 0 { MANY } else { 20 };
        let mut arena = test.allocator.split_bytes(0xc_0000, endpoints + 101)?;
        let frames = arena.allocator.create_frames(100)?;
        let mut last = Endpoint(CPtr::NULL);
        for _ in 0..endpoints {
            last = arena.allocator.create()?;
        }
        let outside = arena.allocator.allocate_slot()?;
        outside.mint_from(test.slot(notification), Rights::ALL, 0x40)?;
        if round == 0 {
            counters::set(1, outside.index);
            thread.start()?;
            check_eq!(notification.poll(), 0x40);
        }
        let frame = frames.get(99).ok_or(Error::OutOfResources)?;
        let frame = test.copy(frame)?;
        let last = test.copy(last)?;
        check!(frame.physical_address().is_ok());
        test.allocator.reclaim(arena)?;
        for (is_gone, slot) in [
            (test.is_gone(frame)?, test.slot(frame)),
            (test.is_gone(last)?, test.slot(last)),
        ] {
            check!(is_gone);
            test.allocator.free_slot(slot);
        }
    }
    // Any object can be made of what a failed attempt gives back.
    check!(test.allocator.split_bytes(1 << (WORD_BITS - 2), 2).is_err());
    let _: Untyped = test.create_sized(14)?;
    Ok(())
}
