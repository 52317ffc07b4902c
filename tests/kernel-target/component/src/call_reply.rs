//! Calls and replies: each call gets one reply, from any holder of the reply object, and what happens without
//! one.

use crate::support::events::{note, noted};
use crate::support::{ABOVE, BELOW, Outcome, PRIORITY, Test};
use crate::{check, check_eq};
use abi::MAX_MESSAGE_LENGTH;
use userlib::cap::{Endpoint, Notification, Reply};
use userlib::invoke::invoke;
use userlib::{Message, Received, Rights, Thread, syscall};

tests![
    calls_of_every_length,
    the_caller_waits_for_the_reply,
    reply_recv_serves_many,
    replies_have_no_badge,
    a_reply_without_a_caller_does_nothing,
    one_reply_for_one_call,
    any_holder_can_reply,
    callers_need_a_right_to_be_answered,
    grant_is_as_good_as_grant_reply,
    receivers_without_a_reply_object_leave_the_caller,
    reusing_a_reply_object_gives_the_caller_up,
    reusing_a_waiting_reply_object_stops_the_receiver,
    different_reply_objects_hold_different_callers,
    deleting_the_reply_object_gives_the_caller_up,
    deleting_the_reply_object_stops_the_receiver,
    deleting_the_caller_frees_the_reply_object,
    deleting_the_server_leaves_the_caller_waiting,
    suspended_callers_call_again,
    copies_of_the_reply_object_are_equal,
    the_first_phase_signals,
    the_first_phase_sends,
    the_first_phase_refuses_some_objects,
    the_first_phase_invokes_others,
    nb_send_recv_sends_and_receives,
    reply_recv_with_another_capability_sends,
];

fn empty(label: usize) -> Message {
    Message::empty(label)
}

fn label(received: Option<Received>) -> Option<usize> {
    Some(received?.message?.label())
}

/// A server that answers each call with the caller's words, and the label plus one.
fn echo(test: &mut Test, priority: u8) -> Outcome<Endpoint> {
    let endpoint: Endpoint = test.create()?;
    let reply: Reply = test.create()?;
    test.spawn(priority, move || {
        let mut received = endpoint.recv(reply);
        loop {
            let message = received.message.unwrap_or(empty(0));
            let mut words = [0; MAX_MESSAGE_LENGTH];
            for (index, word) in words.iter_mut().enumerate() {
                *word = message.word(index);
            }
            let answer = Message::new(message.label() + 1, &words[..message.length()]);
            received = endpoint.reply_recv(answer, reply);
        }
    })?;
    Ok(endpoint)
}

fn calls_of_every_length(test: &mut Test) -> Outcome {
    for priority in [ABOVE, PRIORITY, BELOW] {
        let endpoint = echo(test, priority)?;
        let words: [usize; MAX_MESSAGE_LENGTH] = core::array::from_fn(|index| index * 77 + 5);
        for length in 0..=MAX_MESSAGE_LENGTH {
            let answer = endpoint.call(Message::new(length, &words[..length]));
            check_eq!((answer.label(), answer.length()), (length + 1, length));
            for (index, word) in words[..length].iter().enumerate() {
                check_eq!(answer.word(index), *word);
            }
        }
    }
    Ok(())
}

fn the_caller_waits_for_the_reply(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let reply: Reply = test.create()?;
    test.spawn(ABOVE, move || {
        note('a');
        endpoint.call(empty(0));
        note('d');
    })?;
    note('b');
    endpoint.recv(reply);
    note('c');
    reply.send(empty(0));
    note('e');
    check_eq!(noted(), "abcde");
    Ok(())
}

fn reply_recv_serves_many(test: &mut Test) -> Outcome {
    let endpoint = echo(test, BELOW)?;
    let (first, second) = (test.badge(endpoint, 1)?, test.badge(endpoint, 2)?);
    for (name, cap) in [('a', first), ('b', second), ('c', endpoint)] {
        test.spawn(ABOVE, move || {
            for label in 0..10 {
                check_eq!(cap.call(Message::new(label, &[1, 2])).label(), label + 1);
            }
            note(name);
        })?;
    }
    test.let_others_run()?;
    let events = noted();
    check!(events == "abc", "the order is {events:?}");
    Ok(())
}

fn replies_have_no_badge(test: &mut Test) -> Outcome {
    let endpoint = echo(test, ABOVE)?;
    let badged = test.badge(endpoint, 0x55)?;
    let mut registers = userlib::arch::Registers {
        cap: badged.0.0,
        info: abi::MessageInfo::new(1, 0, 1).0,
        words: [9, 8, 7, 6],
        ..Default::default()
    };
    userlib::arch::syscall(abi::Syscall::Call, &mut registers);
    check_eq!(registers.cap, 0);
    check_eq!(registers.info, abi::MessageInfo::new(2, 0, 1).0);
    check_eq!(registers.words[0], 9);
    Ok(())
}

fn a_reply_without_a_caller_does_nothing(test: &mut Test) -> Outcome {
    let reply: Reply = test.create()?;
    reply.send(Message::new(1, &[2]));
    syscall::nb_send(reply.0, empty(1));
    check_eq!(invoke(reply.0, 7, &[1, 2], &[]).map(drop), Ok(()));
    let answer = syscall::call(reply.0, Message::new(7, &[1]));
    check_eq!((answer.label(), answer.length()), (0, 0));
    Ok(())
}

/// A thread that calls and notes the label of the answer: 0 is `a`, 1 is `b`.
fn caller(test: &mut Test, endpoint: Endpoint) -> Outcome<Thread> {
    Ok(test.spawn(ABOVE, move || {
        let answer = endpoint.call(empty(0));
        note((b'a' + answer.label() as u8) as char);
    })?)
}

fn one_reply_for_one_call(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let reply: Reply = test.create()?;
    caller(test, endpoint)?;
    caller(test, endpoint)?;
    endpoint.recv(reply);
    reply.send(empty(0));
    reply.send(empty(1));
    check_eq!(noted(), "a");
    endpoint.recv(reply);
    reply.send(empty(2));
    check_eq!(noted(), "ac");
    Ok(())
}

fn any_holder_can_reply(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let reply: Reply = test.create()?;
    test.spawn(ABOVE, move || {
        endpoint.recv(reply);
        note('r');
    })?;
    test.spawn(BELOW, move || reply.send(empty(3)))?;
    check_eq!(endpoint.call(empty(0)).label(), 3);
    check_eq!(noted(), "r");
    Ok(())
}

fn callers_need_a_right_to_be_answered(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let reply: Reply = test.create()?;
    for rights in [Rights::WRITE, Rights::READ_WRITE] {
        let weak = test.restrict(endpoint, rights)?;
        // Both when the receiver comes second and when it is already waiting.
        caller(test, weak)?;
        check_eq!(label(endpoint.nb_recv(reply)), Some(0));
        reply.send(empty(0));
        test.spawn(ABOVE, move || {
            endpoint.recv(reply);
            note('r');
        })?;
        caller(test, weak)?;
        reply.send(empty(0));
    }
    check_eq!(noted(), "rr");
    Ok(())
}

fn grant_is_as_good_as_grant_reply(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let reply: Reply = test.create()?;
    for right in [Rights::GRANT, Rights::GRANT_REPLY] {
        let cap = test.restrict(endpoint, right.union(Rights::WRITE))?;
        caller(test, cap)?;
        endpoint.recv(reply);
        reply.send(empty(0));
    }
    check_eq!(noted(), "aa");
    Ok(())
}

fn receivers_without_a_reply_object_leave_the_caller(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let thread = caller(test, endpoint)?;
    check_eq!(label(Some(endpoint.wait())), Some(0));
    test.let_others_run()?;
    check_eq!(noted(), "");
    // The caller is stopped: when resumed, it calls again.
    thread.start()?;
    let reply: Reply = test.create()?;
    check_eq!(label(endpoint.nb_recv(reply)), Some(0));
    reply.send(empty(1));
    check_eq!(noted(), "b");
    Ok(())
}

fn reusing_a_reply_object_gives_the_caller_up(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let other: Endpoint = test.create()?;
    let reply: Reply = test.create()?;
    let first = caller(test, endpoint)?;
    caller(test, other)?;
    endpoint.recv(reply);
    other.recv(reply);
    reply.send(empty(1));
    check_eq!(noted(), "b");
    reply.send(empty(2));
    test.let_others_run()?;
    check_eq!(noted(), "b");
    first.start()?;
    check_eq!(label(endpoint.nb_recv(reply)), Some(0));
    reply.send(empty(3));
    check_eq!(noted(), "bd");
    Ok(())
}

fn reusing_a_waiting_reply_object_stops_the_receiver(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let other: Endpoint = test.create()?;
    let reply: Reply = test.create()?;
    let first = test.spawn(ABOVE, move || {
        endpoint.recv(reply);
        note('x');
    })?;
    // Even a non-blocking receive takes over the reply object.
    check!(other.nb_recv(reply).is_none());
    endpoint.nb_send(empty(0));
    check_eq!(noted(), "");
    first.start()?;
    endpoint.nb_send(empty(0));
    check_eq!(noted(), "x");
    Ok(())
}

fn different_reply_objects_hold_different_callers(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let replies: [Reply; 3] = [test.create()?, test.create()?, test.create()?];
    for reply in replies {
        caller(test, endpoint)?;
        endpoint.recv(reply);
    }
    for index in [1, 2, 0] {
        replies[index].send(empty(index));
    }
    check_eq!(noted(), "bca");
    Ok(())
}

fn deleting_the_reply_object_gives_the_caller_up(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let reply: Reply = test.create()?;
    let copy = test.copy(reply)?;
    let thread = caller(test, endpoint)?;
    endpoint.recv(reply);
    // Deleting one of two capabilities does not delete the object.
    test.delete(reply)?;
    test.let_others_run()?;
    check_eq!(noted(), "");
    test.delete(copy)?;
    test.let_others_run()?;
    check_eq!(noted(), "");
    // The caller is stopped; when resumed, it calls again.
    thread.start()?;
    let other: Reply = test.create()?;
    check_eq!(label(endpoint.nb_recv(other)), Some(0));
    other.send(empty(1));
    check_eq!(noted(), "b");
    Ok(())
}

fn deleting_the_reply_object_stops_the_receiver(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let reply: Reply = test.create()?;
    test.spawn(ABOVE, move || {
        endpoint.recv(reply);
        note('x');
    })?;
    test.delete(reply)?;
    endpoint.nb_send(empty(0));
    test.let_others_run()?;
    check_eq!(noted(), "");
    Ok(())
}

fn deleting_the_caller_frees_the_reply_object(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let reply: Reply = test.create()?;
    let first = caller(test, endpoint)?;
    endpoint.recv(reply);
    test.delete(first.tcb)?;
    reply.send(empty(0));
    check_eq!(noted(), "");
    caller(test, endpoint)?;
    endpoint.recv(reply);
    reply.send(empty(1));
    check_eq!(noted(), "b");
    Ok(())
}

fn deleting_the_server_leaves_the_caller_waiting(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let reply: Reply = test.create()?;
    let server = test.spawn(BELOW, move || {
        endpoint.recv(reply);
        note('r');
        syscall::wait(endpoint.0);
    })?;
    caller(test, endpoint)?;
    test.let_others_run()?;
    check_eq!(noted(), "r");
    test.delete(server.tcb)?;
    test.let_others_run()?;
    check_eq!(noted(), "r");
    reply.send(empty(2));
    check_eq!(noted(), "rc");
    Ok(())
}

fn suspended_callers_call_again(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let reply: Reply = test.create()?;
    let thread = caller(test, endpoint)?;
    endpoint.recv(reply);
    thread.tcb.suspend()?;
    // The reply comes too late.
    reply.send(empty(0));
    thread.start()?;
    check_eq!(noted(), "");
    endpoint.recv(reply);
    reply.send(empty(4));
    check_eq!(noted(), "e");
    Ok(())
}

fn copies_of_the_reply_object_are_equal(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let reply: Reply = test.create()?;
    let copy = test.copy(reply)?;
    caller(test, endpoint)?;
    endpoint.recv(copy);
    reply.send(empty(0));
    copy.send(empty(1));
    check_eq!(noted(), "a");
    Ok(())
}

fn the_first_phase_signals(test: &mut Test) -> Outcome {
    let notification: Notification = test.create()?;
    let badged = test.badge(notification, 6)?;
    let received = syscall::nb_send_wait(badged.0, empty(0), notification.0);
    check_eq!((received.badge, received.message), (6, None));
    // Without the right, the first phase has no effect, and the second phase continues.
    let weak = test.restrict(badged, Rights::READ)?;
    let other: Notification = test.create()?;
    let ready = test.badge(other, 1)?;
    ready.signal();
    check_eq!(syscall::nb_send_wait(weak.0, empty(0), other.0).badge, 1);
    check_eq!(notification.poll(), 0);
    Ok(())
}

fn the_first_phase_sends(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let notification: Notification = test.create()?;
    let ready = test.badge(notification, 1)?;
    test.spawn(ABOVE, move || {
        check_eq!(label(Some(endpoint.wait())), Some(5));
        note('a');
        ready.signal();
    })?;
    syscall::nb_send_wait(endpoint.0, Message::new(5, &[1]), notification.0);
    check_eq!(noted(), "a");
    // No thread waits any more, and the send leaves no message behind.
    ready.signal();
    syscall::nb_send_wait(endpoint.0, Message::new(5, &[1]), notification.0);
    check!(endpoint.nb_wait().is_none());
    Ok(())
}

fn the_first_phase_refuses_some_objects(test: &mut Test) -> Outcome {
    use abi::Method;
    let victim = test.spawn(BELOW, || note('a'))?;
    let context = victim.sched_context;
    let notification: Notification = test.create()?;
    let ready = test.badge(notification, 1)?;
    let cnode = test.allocator.cnode();
    let slot = test.slot(ready);
    let control = test.sched_control;
    let delete = [slot.index, slot.depth];
    let attempts: [(userlib::CPtr, Method, &[usize]); 4] = [
        (victim.tcb.0, Method::TcbSuspend, &[]),
        (cnode.0, Method::CNodeDelete, &delete),
        (context.0, Method::SchedContextUnbind, &[]),
        (control.0, Method::SchedControlConfigureFlags, &[20; 7]),
    ];
    for (cap, method, words) in attempts {
        ready.signal();
        let message = Message::new(method.number(), words);
        let received = syscall::nb_send_wait(cap, message, notification.0);
        check_eq!(received.badge, 1);
    }
    check!(!test.is_gone(ready)?);
    test.let_others_run()?;
    check_eq!(noted(), "a");
    Ok(())
}

fn the_first_phase_invokes_others(test: &mut Test) -> Outcome {
    let untyped: userlib::cap::Untyped = test.create_sized(10)?;
    let notification: Notification = test.create()?;
    let ready = test.badge(notification, 1)?;
    ready.signal();
    let slot = test.empty_slot()?;
    let object = abi::ObjectType::Endpoint.number();
    let message = Message::new(
        abi::Method::UntypedRetype.number(),
        &[object, 0, 0, 0, slot.index, 1],
    )
    .with_capabilities(&[slot.root.0]);
    let received = syscall::nb_send_wait(untyped.0, message, notification.0);
    check_eq!(received.badge, 1);
    check!(!test.is_empty(slot)?);
    Ok(())
}

fn nb_send_recv_sends_and_receives(test: &mut Test) -> Outcome {
    let (there, back): (Endpoint, Endpoint) = (test.create()?, test.create()?);
    let (reply, other): (Reply, Reply) = (test.create()?, test.create()?);
    test.spawn(ABOVE, move || {
        let mut received = there.recv(other);
        for round in 0..5 {
            check_eq!(label(Some(received)), Some(round));
            let answer = Message::new(round + 100, &[round; 9]);
            received = syscall::nb_send_recv(back.0, answer, there.0, other.0);
        }
    })?;
    for round in 0..5 {
        let question = Message::new(round, &[1]);
        let received = syscall::nb_send_recv(there.0, question, back.0, reply.0);
        let message = received.message.unwrap_or(empty(0));
        check_eq!((message.label(), message.length()), (round + 100, 9));
        check_eq!(message.word(8), round);
    }
    Ok(())
}

fn reply_recv_with_another_capability_sends(test: &mut Test) -> Outcome {
    let (endpoint, target): (Endpoint, Endpoint) = (test.create()?, test.create()?);
    test.spawn(ABOVE, move || {
        check_eq!(label(Some(target.wait())), Some(5));
        note('a');
    })?;
    // The send takes effect; then the fault occurs, because the endpoint is not a reply object.
    let fault = test.fault_of(move || {
        syscall::reply_recv(endpoint.0, empty(5), target.0);
    })?;
    check!(matches!(
        fault,
        userlib::Fault::Capability {
            receiving: true,
            ..
        }
    ));
    check_eq!(noted(), "a");
    Ok(())
}
