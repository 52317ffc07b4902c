//! Messages between threads: transfer, blocking and scheduling.

use abi::registers::{CAP, INFO, MR};
use abi::{MAX_MESSAGE_LENGTH, Method, Rights, Syscall};
use host_machine::machine::answer;
use host_machine::{Budget, CPtr, Machine, Message, Operands, Received, Spec, State};
use kernel::arch::UserContext;
use kernel::invoke::Error;

use crate::common::{caller, make_passive, passive_server, sender, server, waiter, word};

fn words(count: usize) -> Vec<usize> {
    (1..=count).map(|index| index * 0x101).collect()
}

#[test]
fn a_waiting_receiver_gets_the_message() {
    let mut machine = Machine::new();
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    let badged = machine.mint(endpoint, Rights::ALL, 77);
    let server = server(&mut machine, "server", 20, endpoint, reply);
    let client = machine.spawn(Spec::new("client", 10).active());
    assert_eq!(machine.running(), "client");
    machine.send(client, badged, &Message::new(5, &[1, 2, 3]));
    assert_eq!(machine.running(), "server");
    assert_eq!(
        machine.received(server),
        Received {
            badge: 77,
            label: 5,
            words: vec![1, 2, 3],
            ..Received::default()
        }
    );
    assert_eq!(machine.state(client), State::Runnable);
}

#[test]
fn nothing_to_receive_changes_the_badge_only() {
    let mut machine = Machine::new();
    let (endpoint, reply, notification) =
        (machine.endpoint(), machine.reply(), machine.notification());
    let task = machine.spawn(Spec::new("task", 10).active());
    machine.rest();
    for (call, cap) in [
        (Syscall::NBRecv, endpoint),
        (Syscall::NBWait, endpoint),
        (Syscall::NBRecv, notification),
        (Syscall::NBWait, notification),
    ] {
        let operands = Operands {
            cap,
            reply,
            destination: 0,
        };
        let before = Message::new(9, &[4, 5]);
        machine.syscall(task, call, operands, &before);
        assert_eq!(machine.running(), "task");
        let after = machine.received(task);
        assert_eq!((after.badge, after.label, after.words), (0, 9, vec![4, 5]));
    }
}

#[test]
fn sending_needs_the_right_to_write() {
    let mut machine = Machine::new();
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    let weak = machine.mint(endpoint, Rights::from_word(14), 1);
    let server = server(&mut machine, "server", 20, endpoint, reply);
    let client = machine.spawn(Spec::new("client", 10).active());
    machine.send(client, weak, &word(1));
    machine.nb_send(client, weak, &word(1));
    machine.call(client, weak, &word(1));
    assert_eq!(
        answer(machine.received(client)),
        Err(Error::InvalidCapability(0))
    );
    assert_eq!(machine.state(server), State::Receiving);
}

#[test]
fn receiving_needs_the_right_to_read() {
    for call in [
        Syscall::Recv,
        Syscall::NBRecv,
        Syscall::Wait,
        Syscall::NBWait,
    ] {
        let mut machine = Machine::new();
        let (endpoint, reply) = (machine.endpoint(), machine.reply());
        let weak = machine.mint(endpoint, Rights::from_word(13), 1);
        let task = machine.spawn(Spec::new("task", 20).active());
        machine.rest();
        let operands = Operands {
            cap: weak,
            reply,
            destination: 0,
        };
        machine.syscall(task, call, operands, &Message::default());
        assert_eq!(machine.state(task), State::Inactive, "{call:?}");
    }
}

/// The words received at an endpoint, in order.
fn served(machine: &mut Machine, endpoint: CPtr, count: usize) -> Vec<usize> {
    let reply = machine.reply();
    let receiver = machine.spawn(Spec::new("receiver", 240).active());
    let mut order = Vec::new();
    for _ in 0..count {
        machine.recv(receiver, endpoint, reply);
        order.push(machine.received(receiver).words[0]);
    }
    machine.nb_recv(receiver, endpoint, reply);
    assert_eq!(machine.badge(receiver), 0);
    order
}

#[test]
fn messages_of_every_length_arrive() {
    let mut machine = Machine::new();
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    let server = server(&mut machine, "server", 20, endpoint, reply);
    let client = machine.spawn(Spec::new("client", 10).active());
    for length in 0..=MAX_MESSAGE_LENGTH {
        let words = words(length);
        machine.send(client, endpoint, &Message::new(length, &words));
        let received = machine.received(server);
        assert_eq!((received.label, received.words), (length, words));
        machine.recv(server, endpoint, reply);
    }
}

#[test]
fn words_beyond_the_message_stay() {
    let mut machine = Machine::new();
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    let server = server(&mut machine, "server", 20, endpoint, reply);
    let client = machine.spawn(Spec::new("client", 10).active());
    machine.send(client, endpoint, &Message::new(0, &words(10)));
    machine.recv(server, endpoint, reply);
    machine.send(client, endpoint, &Message::new(0, &[9]));
    assert_eq!(machine.received(server).words, [9]);
    assert_eq!(machine.register(server, MR[1]), 0x202);
    assert_eq!(machine.buffer_mut(server).unwrap().message[9], 0xa0a);
}

#[test]
fn a_message_longer_than_the_longest_is_cut() {
    let mut machine = Machine::new();
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    let server = server(&mut machine, "server", 20, endpoint, reply);
    let client = machine.spawn(Spec::new("client", 10).active());
    let context = &mut machine.kernel[client.thread].context;
    context.set_result(CAP, endpoint);
    context.set_result(INFO, 3 << 12 | 0x7f);
    machine.trap(client, Syscall::Send.number());
    let received = machine.received(server);
    assert_eq!(
        (received.label, received.words.len()),
        (3, MAX_MESSAGE_LENGTH)
    );
}

#[test]
fn without_buffers_only_registers_travel() {
    for (sender_has, receiver_has) in [(false, true), (true, false), (false, false)] {
        let mut machine = Machine::new();
        let (endpoint, reply) = (machine.endpoint(), machine.reply());
        let spec = |name, priority, has| {
            let spec = Spec::new(name, priority).active();
            if has { spec } else { spec.without_buffer() }
        };
        let server = machine.spawn(spec("server", 20, receiver_has));
        let client = machine.spawn(spec("client", 10, sender_has));
        machine.rest();
        machine.recv(server, endpoint, reply);
        machine.send(client, endpoint, &Message::new(2, &words(10)));
        let received = machine.received(server);
        assert_eq!((received.label, received.words), (2, words(4)));
    }
}

#[test]
fn a_passive_receiver_is_stuck_with_a_plain_message() {
    let mut machine = Machine::new();
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    let server = passive_server(&mut machine, "server", 20, endpoint, reply);
    let client = machine.spawn(Spec::new("client", 10).active());
    machine.send(client, endpoint, &word(3));
    assert_eq!(machine.running(), "client");
    assert_eq!(machine.state(server), State::Runnable);
    assert!(machine.is_passive(server));
    // It does not receive any more, so other senders are queued.
    machine.send(client, endpoint, &word(4));
    assert_eq!(machine.state(client), State::Sending);
    // With a context bound, it runs immediately.
    machine.bind(server.context, server.tcb).unwrap();
    assert_eq!(machine.running(), "server");
    assert_eq!(machine.received(server).words, [3]);
}

#[test]
fn a_sender_that_lost_its_time_is_still_received_from() {
    let mut machine = Machine::new();
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    let sender = sender(&mut machine, "sender", 10, endpoint, &word(6));
    make_passive(&mut machine, sender);
    let receiver = machine.spawn(Spec::new("receiver", 5).active());
    machine.recv(receiver, endpoint, reply);
    assert_eq!(machine.running(), "receiver");
    assert_eq!(machine.received(receiver).words, [6]);
    assert_eq!(machine.state(sender), State::Runnable);
}

#[test]
fn waiting_at_an_endpoint_takes_messages_but_no_calls() {
    let mut machine = Machine::new();
    let endpoint = machine.endpoint();
    let receiver = machine.spawn(Spec::new("receiver", 20).active());
    let client = machine.spawn(Spec::new("client", 10).active());
    machine.rest();
    machine.wait(receiver, endpoint);
    assert_eq!(machine.state(receiver), State::Receiving);
    machine.send(client, endpoint, &word(1));
    machine.wait(receiver, endpoint);
    machine.call(client, endpoint, &word(2));
    assert_eq!(machine.received(receiver).words, [2]);
    assert_eq!(machine.state(client), State::Inactive);
}

#[test]
fn deleting_an_endpoint_unblocks_all_waiters() {
    let mut machine = Machine::new();
    let (sending, receiving) = (machine.endpoint(), machine.endpoint());
    let reply = machine.reply();
    let caller = caller(&mut machine, "caller", 10, sending, &word(1));
    let receiver = server(&mut machine, "receiver", 10, receiving, reply);
    machine.delete(sending);
    machine.delete(receiving);
    // Both retry. The call finds no endpoint; the receiver faults and has no handler.
    assert_eq!(machine.state(receiver), State::Inactive);
    assert_eq!(
        answer(machine.received(caller)),
        Err(Error::InvalidCapability(0))
    );
    // The reply object can be used again.
    let other = machine.endpoint();
    server(&mut machine, "other", 10, other, reply);
}

#[test]
fn cancelled_senders_try_again() {
    let mut machine = Machine::new();
    let endpoint = machine.endpoint();
    let badged = [1, 2].map(|badge| machine.mint(endpoint, Rights::ALL, badge));
    let callers = [0, 1, 0, 1]
        .map(|badge: usize| caller(&mut machine, "caller", 10, badged[badge], &word(badge)));
    // Deleting their capability does not cancel the sends by itself.
    let other = machine.copy(badged[0]);
    machine.delete(badged[0]);
    assert!((callers.iter()).all(|task| machine.state(*task) == State::Sending));
    machine
        .in_root(Method::CNodeCancelBadgedSends, other, &[])
        .unwrap();
    // On retry, they find that their capability is deleted.
    for task in [callers[0], callers[2]] {
        assert_eq!(machine.state(task), State::Runnable);
    }
    for task in [callers[1], callers[3]] {
        assert_eq!(machine.state(task), State::Sending);
    }
    let running = callers[usize::from(machine.runs(callers[2])) * 2];
    assert_eq!(
        answer(machine.received(running)),
        Err(Error::InvalidCapability(0))
    );
}

#[test]
fn cancelled_senders_queue_up_again_behind_the_others() {
    let mut machine = Machine::new();
    let endpoint = machine.endpoint();
    let badged = [1, 2].map(|badge| machine.mint(endpoint, Rights::ALL, badge));
    for (number, badge) in [(1, 0), (2, 1), (3, 0), (4, 1)] {
        sender(&mut machine, "sender", 10, badged[badge], &word(number));
    }
    machine
        .in_root(Method::CNodeCancelBadgedSends, badged[0], &[])
        .unwrap();
    // They became ready one after the other, and of equal priorities the last one runs first.
    assert_eq!(served(&mut machine, endpoint, 4), [2, 4, 3, 1]);
}

#[test]
fn a_reply_object_in_use_is_taken_away() {
    let mut machine = Machine::new();
    let (first, second) = (machine.endpoint(), machine.endpoint());
    let reply = machine.reply();
    let loser = server(&mut machine, "loser", 10, first, reply);
    let winner = server(&mut machine, "winner", 10, second, reply);
    assert_eq!(machine.state(loser), State::Inactive);
    assert_eq!(machine.state(winner), State::Receiving);
    let client = machine.spawn(Spec::new("client", 5).active());
    machine.call(client, second, &word(1));
    assert_eq!(machine.state(client), State::Calling);
    assert_eq!(machine.running(), "winner");
}

#[test]
fn receiving_checks_the_source_then_the_reply() {
    // Objects by number: 0 nothing, 1 an endpoint, 2 a notification, 3 a thread.
    for (call, source, reply, culprit) in [
        (Syscall::Recv, 0, 0, Some(0)),
        (Syscall::NBRecv, 3, 0, Some(3)),
        (Syscall::NBRecv, 1, 0, Some(0)),
        (Syscall::NBRecv, 1, 1, Some(1)),
        (Syscall::NBWait, 1, 0, None),
        (Syscall::NBRecv, 2, 0, None),
    ] {
        let mut machine = Machine::new();
        let (handler, own_reply) = (machine.endpoint(), machine.reply());
        let watcher = server(&mut machine, "watcher", 10, handler, own_reply);
        let objects = [
            machine.slot(),
            machine.endpoint(),
            machine.notification(),
            watcher.tcb,
        ];
        let spec = Spec::new("task", 20).active().fault_handler(handler);
        let task = machine.spawn(spec);
        let operands = Operands {
            cap: objects[source],
            reply: objects[reply],
            destination: 0,
        };
        machine.syscall(task, call, operands, &Message::default());
        if let Some(culprit) = culprit {
            let fault = machine.received(watcher);
            assert_eq!(fault.label, abi::fault::FaultLabel::CapFault as usize);
            // Address, in receive phase, missing capability, no bits left.
            assert_eq!(fault.words[1..], [objects[culprit], 1, 2, 0], "{call:?}");
        } else {
            assert_eq!(machine.running(), "task");
        }
    }
}

#[test]
fn a_receiver_that_wakes_without_budget_waits_for_it() {
    let mut machine = Machine::new();
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    let spec = Spec::new("server", 20).budget(Budget::new(100, 1000).refills(2));
    let server = machine.spawn(spec);
    let client = machine.spawn(Spec::new("client", 10).active());
    machine.rest();
    machine.advance(90);
    machine.recv(server, endpoint, reply);
    // Less than the smallest budget was left: the system call has to wait.
    assert_eq!(machine.running(), "client");
    assert_eq!(machine.state(server), State::Runnable);
    machine.advance_until(|machine| machine.state(server) == State::Receiving);
    machine.send(client, endpoint, &word(1));
    assert_eq!(machine.running(), "server");
}

#[test]
fn threads_blocked_at_a_notification_are_not_receivers() {
    let mut machine = Machine::new();
    let notification = machine.notification();
    let waiter = waiter(&mut machine, "waiter", 20, notification);
    assert_eq!(machine.state(waiter), State::Waiting);
    machine.suspend(waiter);
    assert_eq!(machine.state(waiter), State::Inactive);
    // When resumed, it waits again.
    machine.resume(waiter);
    assert_eq!(machine.state(waiter), State::Waiting);
}
