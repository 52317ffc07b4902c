//! Capabilities in messages: when they are transferred, when they arrive as badges, and when not at all.

use crate::support::events::{note, noted};
use crate::support::{ABOVE, Outcome, Test};
use crate::{check, check_eq};
use abi::WORD_BITS;
use userlib::cap::{CNode, Endpoint, Frame, Notification, Reply, Slot, Tcb, Untyped};
use userlib::{CPtr, Capability, Error, Message, Result, Rights, ipc_buffer, syscall};

tests![
    a_capability_goes_to_the_receive_slot,
    rights_travel_along,
    badges_travel_along,
    sending_needs_grant,
    the_same_endpoint_arrives_as_a_badge,
    only_one_capability_is_placed,
    badges_and_a_capability_mix,
    a_capability_after_a_placed_one_stops_the_rest,
    full_receive_slots_take_nothing,
    bad_receive_slots_take_nothing,
    receive_slots_are_found_by_address,
    null_capabilities_stop_the_rest,
    parents_are_not_transferred,
    copies_are_revoked_with_their_source,
    replies_carry_capabilities,
    replies_need_grant,
    replies_do_not_unwrap,
    receivers_without_a_buffer_get_none,
    three_badges_at_once,
];

/// Sends capabilities from a thread through `endpoint`; returns the received message.
fn transfer(test: &mut Test, endpoint: Endpoint, caps: &[CPtr]) -> Outcome<Message> {
    let mut sent = [CPtr::NULL; 3];
    let count = caps.len();
    sent[..count].copy_from_slice(caps);
    test.spawn(ABOVE, move || {
        let message = Message::new(1, &[42]).with_capabilities(&sent[..count]);
        endpoint.send(message);
    })?;
    let received = endpoint.nb_wait();
    match received.and_then(|received| received.message) {
        Some(message) => {
            check_eq!((message.label(), message.word(0)), (1, 42));
            Ok(message)
        }
        None => crate::support::fail(format_args!("no message arrived")),
    }
}

/// An empty slot, set as the receive slot.
fn receive_slot(test: &mut Test) -> Result<Slot> {
    let slot = test.empty_slot()?;
    ipc_buffer::set_receive_slot(slot);
    Ok(slot)
}

/// The number of received capabilities, and a mask of those that were unwrapped.
fn summary(message: Message) -> (usize, usize) {
    (message.capabilities(), message.info.unwrapped())
}

fn a_capability_goes_to_the_receive_slot(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let notification: Notification = test.create()?;
    let slot = receive_slot(test)?;
    let message = transfer(test, endpoint, &[notification.0])?;
    check_eq!(summary(message), (1, 0));
    let badged = test.badge(notification, 2)?;
    badged.signal();
    check_eq!(Notification(CPtr(slot.index)).poll(), 2);
    check!(!test.is_gone(notification)?);
    Ok(())
}

fn rights_travel_along(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let notification: Notification = test.create()?;
    let weak = test.restrict(notification, Rights::READ)?;
    let slot = receive_slot(test)?;
    transfer(test, endpoint, &[weak.0])?;
    let result = userlib::invoke::invoke(CPtr(slot.index), 0, &[], &[]).map(drop);
    check_eq!(result, Err(Error::InvalidCapability(0)));
    Ok(())
}

fn badges_travel_along(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let notification: Notification = test.create()?;
    let badged = test.badge(notification, 0x77)?;
    let slot = receive_slot(test)?;
    transfer(test, endpoint, &[badged.0])?;
    Notification(CPtr(slot.index)).signal();
    check_eq!(notification.poll(), 0x77);
    Ok(())
}

fn sending_needs_grant(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let notification: Notification = test.create()?;
    let slot = receive_slot(test)?;
    for rights in [
        Rights::WRITE,
        Rights::READ_WRITE,
        Rights::READ_WRITE.union(Rights::GRANT_REPLY),
    ] {
        let weak = test.restrict(endpoint, rights)?;
        test.spawn(ABOVE, move || {
            weak.send(Message::new(9, &[1, 2]).with_capabilities(&[notification.0, weak.0]));
        })?;
        let message = endpoint.nb_wait().and_then(|received| received.message);
        let info = message.map(|message| message.info);
        // The message itself is delivered.
        check_eq!(info, Some(abi::MessageInfo::new(9, 0, 2)));
    }
    check!(test.is_empty(slot)?);
    let strong = test.restrict(endpoint, Rights::WRITE.union(Rights::GRANT))?;
    test.spawn(ABOVE, move || {
        strong.send(Message::empty(9).with_capabilities(&[notification.0]));
    })?;
    check!(endpoint.nb_wait().is_some());
    check!(!test.is_empty(slot)?);
    Ok(())
}

fn the_same_endpoint_arrives_as_a_badge(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let badged = test.badge(endpoint, 0x123)?;
    let slot = receive_slot(test)?;
    let message = transfer(test, endpoint, &[badged.0])?;
    check_eq!(summary(message), (1, 1));
    check_eq!(message.unwrapped_badge(0), Some(0x123));
    check!(test.is_empty(slot)?);
    Ok(())
}

fn three_badges_at_once(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let (first, second) = (test.badge(endpoint, 1)?, test.badge(endpoint, 2)?);
    let message = transfer(test, endpoint, &[second.0, endpoint.0, first.0])?;
    check_eq!(summary(message), (3, 7));
    let badges = [0, 1, 2].map(|index| message.unwrapped_badge(index));
    check_eq!(badges, [Some(2), Some(0), Some(1)]);
    Ok(())
}

fn only_one_capability_is_placed(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let notification: Notification = test.create()?;
    let slot = receive_slot(test)?;
    let message = transfer(test, endpoint, &[notification.0, notification.0])?;
    check_eq!(summary(message), (1, 0));
    check!(!test.is_empty(slot)?);
    Ok(())
}

fn badges_and_a_capability_mix(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let notification: Notification = test.create()?;
    let badged = test.badge(endpoint, 5)?;
    let slot = receive_slot(test)?;
    let message = transfer(test, endpoint, &[badged.0, notification.0, badged.0])?;
    check_eq!(summary(message), (3, 0b101));
    check_eq!(message.unwrapped_badge(2), Some(5));
    check!(!test.is_empty(slot)?);
    Ok(())
}

fn a_capability_after_a_placed_one_stops_the_rest(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let notification: Notification = test.create()?;
    receive_slot(test)?;
    let caps = [notification.0, notification.0, endpoint.0];
    let message = transfer(test, endpoint, &caps)?;
    check_eq!(summary(message), (1, 0));
    Ok(())
}

fn full_receive_slots_take_nothing(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let notification: Notification = test.create()?;
    let frame: Frame = test.create()?;
    ipc_buffer::set_receive_slot(test.slot(frame));
    let message = transfer(test, endpoint, &[notification.0])?;
    check_eq!(summary(message), (0, 0));
    // Badges need no receive slot.
    let message = transfer(test, endpoint, &[endpoint.0, notification.0])?;
    check_eq!(summary(message), (1, 1));
    check!(frame.physical_address().is_ok());
    Ok(())
}

fn bad_receive_slots_take_nothing(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let notification: Notification = test.create()?;
    let empty = test.empty_slot()?;
    let own = test.allocator.cnode();
    let slot = |root: CPtr, index, depth| Slot {
        root: CNode(root),
        index,
        depth,
    };
    for bad in [
        slot(own.0, empty.index, 0),
        slot(own.0, empty.index, WORD_BITS + 1),
        slot(own.0, empty.index, 3),
        slot(own.0, usize::MAX, WORD_BITS),
        slot(notification.0, empty.index, WORD_BITS),
        slot(CPtr(empty.index), empty.index, WORD_BITS),
        slot(CPtr(usize::MAX), empty.index, WORD_BITS),
    ] {
        ipc_buffer::set_receive_slot(bad);
        let message = transfer(test, endpoint, &[notification.0])?;
        check_eq!(summary(message), (0, 0));
    }
    check!(test.is_empty(empty)?);
    Ok(())
}

fn receive_slots_are_found_by_address(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let notification: Notification = test.create()?;
    let table: CNode = test.create_sized(4)?;
    let slot = table.slot_of_table(11, 4);
    ipc_buffer::set_receive_slot(slot);
    let message = transfer(test, endpoint, &[notification.0])?;
    check_eq!(summary(message), (1, 0));
    check!(!test.is_empty(slot)?);
    Ok(())
}

fn null_capabilities_stop_the_rest(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    receive_slot(test)?;
    let empty = CPtr(test.empty_slot()?.index);
    let message = transfer(test, endpoint, &[endpoint.0, empty, endpoint.0])?;
    check_eq!(summary(message), (1, 1));
    Ok(())
}

fn parents_are_not_transferred(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let untyped: Untyped = test.create_sized(10)?;
    let child = test.empty_slot()?;
    untyped.make::<Endpoint>(0, child)?;
    let slot = receive_slot(test)?;
    let message = transfer(test, endpoint, &[untyped.0, endpoint.0])?;
    check_eq!(summary(message), (0, 0));
    check!(test.is_empty(slot)?);
    child.delete()?;
    let message = transfer(test, endpoint, &[untyped.0])?;
    check_eq!(summary(message), (1, 0));
    Ok(())
}

fn copies_are_revoked_with_their_source(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let tcb: Tcb = test.create()?;
    let slot = receive_slot(test)?;
    transfer(test, endpoint, &[tcb.cptr()])?;
    check!(!test.is_empty(slot)?);
    test.slot(tcb).revoke()?;
    check!(test.is_empty(slot)?);
    Ok(())
}

/// A server that answers one call with a capability, through a reply capability with `rights`.
fn answer_with(test: &mut Test, cap: CPtr, rights: Rights) -> Outcome<Endpoint> {
    let endpoint: Endpoint = test.create()?;
    let reply: Reply = test.create()?;
    let weak = test.restrict(reply, rights)?;
    test.spawn(ABOVE, move || {
        endpoint.recv(reply);
        weak.send(Message::new(5, &[6]).with_capabilities(&[cap]));
        note('a');
    })?;
    Ok(endpoint)
}

fn replies_carry_capabilities(test: &mut Test) -> Outcome {
    let notification: Notification = test.create()?;
    let badged = test.badge(notification, 8)?;
    let endpoint = answer_with(test, badged.0, Rights::ALL)?;
    // The caller's rights do not matter for the reply.
    let rights = Rights::WRITE.union(Rights::GRANT_REPLY);
    let caller = test.restrict(endpoint, rights)?;
    let slot = receive_slot(test)?;
    let answer = caller.call(Message::empty(0));
    check_eq!((answer.label(), answer.word(0)), (5, 6));
    check_eq!(summary(answer), (1, 0));
    Notification(CPtr(slot.index)).signal();
    check_eq!(notification.poll(), 8);
    check_eq!(noted(), "a");
    Ok(())
}

fn replies_need_grant(test: &mut Test) -> Outcome {
    let notification: Notification = test.create()?;
    let rights = Rights::READ_WRITE.union(Rights::GRANT_REPLY);
    let endpoint = answer_with(test, notification.0, rights)?;
    let slot = receive_slot(test)?;
    let answer = endpoint.call(Message::empty(0));
    check_eq!((answer.label(), answer.word(0)), (5, 6));
    check_eq!(summary(answer), (0, 0));
    check!(test.is_empty(slot)?);
    Ok(())
}

fn replies_do_not_unwrap(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let reply: Reply = test.create()?;
    test.spawn(ABOVE, move || {
        endpoint.recv(reply);
        reply.send(Message::empty(0).with_capabilities(&[endpoint.0]));
    })?;
    let slot = receive_slot(test)?;
    let answer = endpoint.call(Message::empty(0));
    check_eq!(summary(answer), (1, 0));
    check!(!test.is_empty(slot)?);
    Ok(())
}

fn receivers_without_a_buffer_get_none(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let frame: Frame = test.create()?;
    let receiver = test.thread(ABOVE, move || {
        let message = syscall::wait(endpoint.0).message;
        check_eq!(message.map(summary), Some((0, 0)));
        note('a');
    })?;
    receiver.tcb.set_ipc_buffer(0, frame)?;
    receiver.start()?;
    endpoint.send(Message::empty(0).with_capabilities(&[endpoint.0, frame.0]));
    check_eq!(noted(), "a");
    Ok(())
}
