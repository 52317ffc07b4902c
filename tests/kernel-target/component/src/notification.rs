//! Notifications: signal words, which thread is woken, and binding to threads and to scheduling contexts.

use crate::support::events::{note, noted};
use crate::support::{ABOVE, BELOW, Outcome, PRIORITY, SLICE, Test};
use crate::{check, check_eq};
use userlib::cap::{Endpoint, Notification, Reply, SchedContext, Tcb};
use userlib::{Error, Fault, Message, Received, Rights, Thread, syscall};

tests![
    signals_are_collected,
    polling_takes_the_word,
    waiting_takes_the_word_at_once,
    waiting_blocks_until_a_signal,
    higher_priority_waiters_first,
    equal_waiters_in_order,
    waiters_move_with_their_priority,
    signalling_with_a_call_answers,
    an_unbadged_signal_is_an_empty_word,
    messages_are_not_looked_at,
    deletion_restarts_waiters,
    suspended_waiters_leave,
    bound_signals_arrive_in_a_receive,
    bound_signals_win_over_waiting_senders,
    bound_signals_do_not_disturb_a_call,
    only_the_bound_thread_may_wait,
    binding_has_conditions,
    unbinding_has_conditions,
    deleting_the_notification_unbinds,
    deleting_the_thread_unbinds,
    bound_time_is_lent,
    bound_time_is_not_lent_twice,
    bound_time_is_not_lent_to_the_active,
    bound_time_comes_back_at_a_receive,
    time_of_both_is_taken_at_the_first_wait,
    time_of_the_dead_goes_to_the_next,
    a_deleted_context_runs_no_thread,
];

fn signals_are_collected(test: &mut Test) -> Outcome {
    let notification: Notification = test.create()?;
    for bit in [0, 3, 11] {
        test.badge(notification, 1 << bit)?.signal();
    }
    test.badge(notification, 9)?.signal();
    check_eq!(notification.wait(), 0x809);
    Ok(())
}

fn polling_takes_the_word(test: &mut Test) -> Outcome {
    let notification: Notification = test.create()?;
    check_eq!(notification.poll(), 0);
    let badged = test.badge(notification, 2)?;
    badged.signal();
    check_eq!([notification.poll(), notification.poll()], [2, 0]);
    Ok(())
}

fn waiting_takes_the_word_at_once(test: &mut Test) -> Outcome {
    let notification: Notification = test.create()?;
    let badged = test.badge(notification, 5)?;
    badged.signal();
    let mut registers = userlib::arch::Registers {
        cap: notification.0.0,
        info: 0x4321,
        words: [1, 2, 3, 4],
        ..Default::default()
    };
    userlib::arch::syscall(abi::Syscall::Wait, &mut registers);
    // Only the badge register changes.
    check_eq!((registers.cap, registers.info), (5, 0x4321));
    check_eq!(registers.words, [1, 2, 3, 4]);
    Ok(())
}

fn waiting_blocks_until_a_signal(test: &mut Test) -> Outcome {
    let notification: Notification = test.create()?;
    let badged = test.badge(notification, 5)?;
    test.spawn(ABOVE, move || {
        note('a');
        check_eq!(notification.wait(), 5);
        note('c');
        check_eq!(notification.wait(), 5);
        note('e');
    })?;
    note('b');
    badged.signal();
    note('d');
    badged.signal();
    check_eq!(noted(), "abcde");
    check_eq!(notification.poll(), 0);
    Ok(())
}

/// A thread that waits once and notes its letter.
fn waiter(
    test: &mut Test,
    priority: u8,
    notification: Notification,
    name: char,
) -> Outcome<Thread> {
    let thread = test.spawn(priority, move || {
        notification.wait();
        note(name);
    })?;
    test.let_others_run()?;
    Ok(thread)
}

fn higher_priority_waiters_first(test: &mut Test) -> Outcome {
    let notification: Notification = test.create()?;
    for (name, priority) in [('a', 40), ('b', 60), ('c', 200), ('d', 60), ('e', 2)] {
        waiter(test, priority, notification, name)?;
    }
    for _ in 0..5 {
        notification.signal();
        test.let_others_run()?;
    }
    check_eq!(noted(), "cbdae");
    check_eq!(notification.poll(), 0);
    Ok(())
}

fn equal_waiters_in_order(test: &mut Test) -> Outcome {
    let notification: Notification = test.create()?;
    for name in ['a', 'b', 'c', 'd'] {
        waiter(test, 60, notification, name)?;
    }
    for _ in 0..4 {
        notification.signal();
        test.let_others_run()?;
    }
    check_eq!(noted(), "abcd");
    Ok(())
}

fn waiters_move_with_their_priority(test: &mut Test) -> Outcome {
    let notification: Notification = test.create()?;
    let first = waiter(test, 60, notification, 'a')?;
    waiter(test, 60, notification, 'b')?;
    let third = waiter(test, 60, notification, 'c')?;
    first.tcb.set_priority(test.tcb, 50)?;
    third.tcb.set_priority(test.tcb, 70)?;
    for _ in 0..3 {
        notification.signal();
        test.let_others_run()?;
    }
    check_eq!(noted(), "cba");
    Ok(())
}

fn signalling_with_a_call_answers(test: &mut Test) -> Outcome {
    let notification: Notification = test.create()?;
    let badged = test.badge(notification, 3)?;
    let answer = syscall::call(badged.0, Message::new(99, &[1, 2, 3]));
    check_eq!((answer.label(), answer.length()), (0, 0));
    check_eq!(notification.poll(), 3);
    let weak = test.restrict(badged, Rights::READ)?;
    let answer = syscall::call(weak.0, Message::empty(0));
    check_eq!((answer.label(), answer.word(0)), (2, 0));
    Ok(())
}

fn an_unbadged_signal_is_an_empty_word(test: &mut Test) -> Outcome {
    let notification: Notification = test.create()?;
    notification.signal();
    // The notification is active, so a wait returns.
    check_eq!(notification.wait(), 0);
    waiter(test, ABOVE, notification, 'a')?;
    notification.signal();
    check_eq!(noted(), "a");
    Ok(())
}

fn messages_are_not_looked_at(test: &mut Test) -> Outcome {
    let notification: Notification = test.create()?;
    let badged = test.badge(notification, 1)?;
    syscall::send(badged.0, Message::new(1, &[5; 100]));
    syscall::nb_send(badged.0, Message::new(2, &[5; 3]));
    check_eq!(notification.poll(), 1);
    Ok(())
}

fn deletion_restarts_waiters(test: &mut Test) -> Outcome {
    let notification: Notification = test.create()?;
    let watched = test.watched(move || {
        notification.wait();
    })?;
    watched.thread.start()?;
    check!(watched.is_quiet());
    test.delete(notification)?;
    let receiving = matches!(
        watched.fault(),
        Fault::Capability {
            receiving: true,
            ..
        }
    );
    check!(receiving);
    Ok(())
}

fn suspended_waiters_leave(test: &mut Test) -> Outcome {
    let notification: Notification = test.create()?;
    let badged = test.badge(notification, 1)?;
    let thread = waiter(test, ABOVE, notification, 'a')?;
    thread.tcb.suspend()?;
    badged.signal();
    check_eq!(noted(), "");
    check_eq!(notification.poll(), 1);
    // When resumed, it waits again.
    thread.start()?;
    badged.signal();
    check_eq!(noted(), "a");
    Ok(())
}

/// A thread bound to a notification that receives from an endpoint and notes each receive: letters for badges
/// of signals, digits for labels of messages.
fn bound(test: &mut Test, priority: u8) -> Outcome<(Thread, Endpoint, Notification)> {
    let endpoint: Endpoint = test.create()?;
    let notification: Notification = test.create()?;
    let reply: Reply = test.create()?;
    let thread = test.thread(priority, move || {
        loop {
            let Received { badge, message } = endpoint.recv(reply);
            match message {
                Some(message) => note((b'0' + message.label() as u8) as char),
                None => note((b'a' + badge as u8 - 1) as char),
            }
        }
    })?;
    thread.tcb.bind_notification(notification)?;
    Ok((thread, endpoint, notification))
}

fn bound_signals_arrive_in_a_receive(test: &mut Test) -> Outcome {
    let (thread, endpoint, notification) = bound(test, ABOVE)?;
    let badged = test.badge(notification, 2)?;
    thread.start()?;
    badged.signal();
    endpoint.send(Message::empty(1));
    badged.signal();
    endpoint.send(Message::empty(2));
    check_eq!(noted(), "b1b2");
    Ok(())
}

fn bound_signals_win_over_waiting_senders(test: &mut Test) -> Outcome {
    let (thread, endpoint, notification) = bound(test, ABOVE)?;
    let badged = test.badge(notification, 4)?;
    for label in [3, 4] {
        test.spawn(ABOVE, move || endpoint.send(Message::empty(label)))?;
    }
    badged.signal();
    thread.start()?;
    check_eq!(noted(), "d34");
    // The same with a non-blocking receive.
    let (first, second): (Endpoint, Notification) = (test.create()?, test.create()?);
    test.tcb.bind_notification(second)?;
    test.spawn(ABOVE, move || first.send(Message::empty(9)))?;
    test.badge(second, 7)?.signal();
    let reply: Reply = test.create()?;
    let badge = first.nb_recv(reply).map(|received| received.badge);
    check_eq!(badge, Some(7));
    check!(first.nb_recv(reply).is_some());
    check!(first.nb_recv(reply).is_none());
    Ok(())
}

fn bound_signals_do_not_disturb_a_call(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let notification: Notification = test.create()?;
    let reply: Reply = test.create()?;
    let badged = test.badge(notification, 1)?;
    let thread = test.thread(ABOVE, move || {
        let answer = endpoint.call(Message::empty(0));
        check_eq!(answer.label(), 6);
        note('a');
        check_eq!(notification.wait(), 1);
        note('b');
    })?;
    thread.tcb.bind_notification(notification)?;
    thread.start()?;
    badged.signal();
    endpoint.recv(reply);
    badged.signal();
    check_eq!(noted(), "");
    reply.send(Message::empty(6));
    check_eq!(noted(), "ab");
    Ok(())
}

fn only_the_bound_thread_may_wait(test: &mut Test) -> Outcome {
    let (_, _, notification) = bound(test, ABOVE)?;
    for poll in [false, true] {
        let fault = test.fault_of(move || {
            if poll {
                notification.poll();
            } else {
                notification.wait();
            }
        })?;
        let receiving = matches!(
            fault,
            Fault::Capability {
                receiving: true,
                ..
            }
        );
        check!(receiving);
    }
    Ok(())
}

fn binding_has_conditions(test: &mut Test) -> Outcome {
    let illegal = Err(Error::IllegalOperation);
    let (first, second): (Tcb, Tcb) = (test.create()?, test.create()?);
    let notification: Notification = test.create()?;
    let other: Notification = test.create()?;
    let endpoint: Endpoint = test.create()?;
    check_eq!(
        userlib::invoke::invoke(first.0, abi::Method::TcbBindNotification.number(), &[], &[])
            .map(drop),
        Err(Error::TruncatedMessage)
    );
    check_eq!(first.bind_notification(Notification(endpoint.0)), illegal);
    let weak = test.restrict(notification, Rights::WRITE)?;
    check_eq!(first.bind_notification(weak), illegal);
    let wait_only = test.restrict(notification, Rights::READ)?;
    check_eq!(first.bind_notification(wait_only), Ok(()));
    check_eq!(first.bind_notification(other), illegal);
    check_eq!(second.bind_notification(notification), illegal);
    // A notification that has waiters.
    waiter(test, ABOVE, other, 'x')?;
    check_eq!(second.bind_notification(other), illegal);
    Ok(())
}

fn unbinding_has_conditions(test: &mut Test) -> Outcome {
    let (thread, endpoint, notification) = bound(test, ABOVE)?;
    thread.start()?;
    check_eq!(thread.tcb.unbind_notification(), Ok(()));
    check_eq!(
        thread.tcb.unbind_notification(),
        Err(Error::IllegalOperation)
    );
    test.badge(notification, 1)?.signal();
    endpoint.send(Message::empty(1));
    check_eq!(noted(), "1");
    check_eq!(notification.poll(), 1);
    Ok(())
}

fn deleting_the_notification_unbinds(test: &mut Test) -> Outcome {
    let (thread, endpoint, notification) = bound(test, ABOVE)?;
    thread.start()?;
    test.delete(notification)?;
    endpoint.send(Message::empty(1));
    check_eq!(noted(), "1");
    let other: Notification = test.create()?;
    check_eq!(thread.tcb.bind_notification(other), Ok(()));
    Ok(())
}

fn deleting_the_thread_unbinds(test: &mut Test) -> Outcome {
    let (thread, _, notification) = bound(test, ABOVE)?;
    test.delete(thread.tcb)?;
    test.badge(notification, 3)?.signal();
    check_eq!(notification.poll(), 3);
    check_eq!(test.tcb.bind_notification(notification), Ok(()));
    Ok(())
}

/// A notification with a scheduling context, and a passive thread that waits for it repeatedly.
fn passive_waiter(
    test: &mut Test,
    priority: u8,
    names: [char; 2],
) -> Outcome<(Thread, Notification, SchedContext)> {
    let notification: Notification = test.create()?;
    let time = test.create_sched_context(&SLICE)?;
    let thread = test.spawn_passive(priority, move || {
        for name in names {
            notification.wait();
            note(name);
        }
        notification.wait();
    })?;
    time.bind_notification(notification)?;
    Ok((thread, notification, time))
}

fn bound_time_is_lent(test: &mut Test) -> Outcome {
    let (thread, notification, time) = passive_waiter(test, ABOVE, ['a', 'b'])?;
    notification.signal();
    check_eq!(noted(), "a");
    // The context was taken back at the next wait.
    check_eq!(time.unbind_object(thread.tcb), Err(Error::IllegalOperation));
    notification.signal();
    check_eq!(noted(), "ab");
    Ok(())
}

fn bound_time_is_not_lent_twice(test: &mut Test) -> Outcome {
    let notification: Notification = test.create()?;
    let other: Notification = test.create()?;
    let time = test.create_sched_context(&SLICE)?;
    test.spawn_passive(ABOVE, move || {
        notification.wait();
        note('a');
        other.wait();
        note('b');
        notification.wait();
    })?;
    test.spawn_passive(BELOW, move || {
        notification.wait();
        note('c');
    })?;
    time.bind_notification(notification)?;
    notification.signal();
    // The first thread keeps the context while it waits elsewhere; the second is woken, but does not run.
    notification.signal();
    test.let_others_run()?;
    check_eq!(noted(), "a");
    other.signal();
    test.let_others_run()?;
    // After its return, the context is lent only to threads that are woken later.
    check_eq!(noted(), "ab");
    Ok(())
}

fn bound_time_is_not_lent_to_the_active(test: &mut Test) -> Outcome {
    let notification: Notification = test.create()?;
    let time = test.create_sched_context(&SLICE)?;
    time.bind_notification(notification)?;
    let thread = waiter(test, BELOW, notification, 'a')?;
    notification.signal();
    check_eq!(time.unbind_object(thread.tcb), Err(Error::IllegalOperation));
    check_eq!(thread.sched_context.unbind_object(thread.tcb), Ok(()));
    Ok(())
}

fn bound_time_comes_back_at_a_receive(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let reply: Reply = test.create()?;
    let notification: Notification = test.create()?;
    let badged = test.badge(notification, 1)?;
    let time = test.create_sched_context(&SLICE)?;
    let thread = test.spawn_passive(ABOVE, move || {
        loop {
            let received = endpoint.recv(reply);
            note(if received.message.is_some() { 'm' } else { 's' });
            if received.message.is_some() {
                reply.send(Message::empty(0));
            }
        }
    })?;
    thread.tcb.bind_notification(notification)?;
    time.bind_notification(notification)?;
    badged.signal();
    badged.signal();
    check_eq!(noted(), "ss");
    check_eq!(time.unbind_object(thread.tcb), Err(Error::IllegalOperation));
    Ok(())
}

fn time_of_both_is_taken_at_the_first_wait(test: &mut Test) -> Outcome {
    let notification: Notification = test.create()?;
    let thread = test.thread(ABOVE, move || {
        note('a');
        notification.wait();
        note('b');
        notification.wait();
    })?;
    thread.sched_context.bind_notification(notification)?;
    thread.start()?;
    check_eq!(noted(), "a");
    check_eq!(
        thread.sched_context.unbind_object(thread.tcb),
        Err(Error::IllegalOperation)
    );
    notification.signal();
    check_eq!(noted(), "ab");
    Ok(())
}

fn time_of_the_dead_goes_to_the_next(test: &mut Test) -> Outcome {
    let notification: Notification = test.create()?;
    let other: Notification = test.create()?;
    let time = test.create_sched_context(&SLICE)?;
    let mut threads = [test.tcb; 2];
    for (name, thread) in ['a', 'b'].into_iter().zip(&mut threads) {
        let new = test.spawn_passive(PRIORITY + 1, move || {
            notification.wait();
            note(name);
            other.wait();
        })?;
        *thread = new.tcb;
    }
    time.bind_notification(notification)?;
    notification.signal();
    check_eq!(noted(), "a");
    test.delete(threads[0])?;
    notification.signal();
    check_eq!(noted(), "ab");
    Ok(())
}

fn a_deleted_context_runs_no_thread(test: &mut Test) -> Outcome {
    let (thread, notification, time) = passive_waiter(test, ABOVE, ['a', 'b'])?;
    test.delete(time)?;
    notification.signal();
    test.let_others_run()?;
    check_eq!(noted(), "");
    let other = test.create_sched_context(&SLICE)?;
    check_eq!(other.bind_notification(notification), Ok(()));
    other.unbind()?;
    other.bind(thread.tcb)?;
    check_eq!(noted(), "a");
    Ok(())
}
