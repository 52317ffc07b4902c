//! Recorded bugs of seL4's kernel with passive servers; see `sel4_history`.

use crate::check_eq;
use crate::support::events::{note, noted};
use crate::support::{ABOVE, BELOW, Outcome, SLICE, Test, ms, spin, us};
use userlib::cap::{Endpoint, Notification, Reply, SchedParameters};
use userlib::{Error, Message, Thread, syscall};

tests![
    issue_986_reply_recv_takes_the_next_callers_time,
    issue_1616_a_plain_send_leaves_a_passive_server_to_a_monitor,
    issue_1617_a_signal_taken_before_the_thread_became_passive,
    issue_1618_a_signal_between_unbinding_and_binding,
    issue_1618_binding_both_leaves_no_gap,
    issue_1662_a_reply_and_a_signal_in_one_call,
];

/// A passive server above the test that notes `s` and answers, repeatedly.
fn passive_server(test: &mut Test, endpoint: Endpoint, reply: Reply) -> Outcome<Thread> {
    Ok(test.spawn_passive(ABOVE, move || {
        endpoint.recv(reply);
        loop {
            note('s');
            endpoint.reply_recv(Message::empty(0), reply);
        }
    })?)
}

/// A passive server returned its context with a reply and got that of the next caller in the same call, but
/// did not run. (The next caller was of another core.)
fn issue_986_reply_recv_takes_the_next_callers_time(test: &mut Test) -> Outcome {
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let bell: Notification = test.create()?;
    test.spawn_passive(ABOVE, move || {
        endpoint.recv(reply);
        loop {
            note('s');
            bell.wait();
            endpoint.reply_recv(Message::empty(0), reply);
        }
    })?;
    for name in ['a', 'b', 'c'] {
        test.spawn(ABOVE, move || {
            endpoint.call(Message::empty(0));
            note(name);
        })?;
    }
    check_eq!(noted(), "s");
    for expected in ["ssa", "ssasb", "ssasbc"] {
        bell.signal();
        test.let_others_run()?;
        check_eq!(noted(), expected);
    }
    Ok(())
}

/// Any sender to a passive server can stop it: its message arrives without a scheduling context. seL4's test
/// suite requires this, so the behaviour is the same here; but the server is not lost. When a monitor binds a
/// context, the server continues and serves all callers that queued meanwhile.
fn issue_1616_a_plain_send_leaves_a_passive_server_to_a_monitor(test: &mut Test) -> Outcome {
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let server = passive_server(test, endpoint, reply)?;
    endpoint.send(Message::empty(0));
    let client = test.spawn(ABOVE, move || {
        endpoint.call(Message::empty(0));
        note('c');
    })?;
    endpoint.nb_send(Message::empty(0));
    test.let_others_run()?;
    check_eq!(noted(), "");
    let time = test.create_sched_context(&SLICE)?;
    time.bind(server.tcb)?;
    test.let_others_run()?;
    check_eq!(noted(), "ssc");
    // The client has its own context back, and the server can be passive again.
    check_eq!(time.unbind_object(server.tcb), Ok(()));
    check_eq!(client.sched_context.consumed().map(drop), Ok(()));
    let again = test.spawn(ABOVE, move || {
        endpoint.call(Message::empty(0));
        note('d');
    })?;
    check_eq!(noted(), "sscsd");
    check_eq!(again.sched_context.consumed().map(drop), Ok(()));
    Ok(())
}

/// A thread below the test that is bound to a notification: it notes `w` before it receives, then `i` for a
/// signal or `m` for a message, repeatedly.
fn bound_server(test: &mut Test, notification: Notification) -> Outcome<(Thread, Endpoint)> {
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let thread = test.thread(BELOW, move || {
        loop {
            note('w');
            let received = endpoint.recv(reply);
            note(if received.message.is_some() { 'm' } else { 'i' });
        }
    })?;
    thread.tcb.bind_notification(notification)?;
    Ok((thread, endpoint))
}

/// A driver that had received a signal was made passive before it could act on it, and never ran again. Here
/// the first loan of its notification's context goes to it.
fn issue_1617_a_signal_taken_before_the_thread_became_passive(test: &mut Test) -> Outcome {
    let notification: Notification = test.create()?;
    let signal = test.badge(notification, 1)?;
    let monitor: Notification = test.create()?;
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    // In one call, it signals the monitor that it is done, and receives; an interrupt came before.
    let thread = test.thread(BELOW, move || {
        let mut received = syscall::nb_send_recv(monitor.0, Message::empty(0), endpoint.0, reply.0);
        loop {
            note(if received.message.is_some() { 'm' } else { 'i' });
            received = endpoint.recv(reply);
        }
    })?;
    thread.tcb.bind_notification(notification)?;
    signal.signal();
    thread.start()?;
    monitor.wait();
    thread.sched_context.unbind_object(thread.tcb)?;
    test.let_others_run()?;
    check_eq!(noted(), "");
    thread.sched_context.bind_notification(notification)?;
    test.let_others_run()?;
    check_eq!(noted(), "i");
    // It has returned the context, and is an ordinary passive server.
    check_eq!(
        thread.sched_context.unbind_object(thread.tcb),
        Err(Error::IllegalOperation)
    );
    signal.signal();
    test.let_others_run()?;
    check_eq!(noted(), "ii");
    Ok(())
}

/// A signal came when a thread's context had been unbound from the thread, and not yet been bound to its
/// notification.
fn issue_1618_a_signal_between_unbinding_and_binding(test: &mut Test) -> Outcome {
    let notification: Notification = test.create()?;
    let signal = test.badge(notification, 1)?;
    let (thread, endpoint) = bound_server(test, notification)?;
    thread.start()?;
    test.let_others_run()?;
    check_eq!(noted(), "w");
    thread.sched_context.unbind()?;
    signal.signal();
    test.let_others_run()?;
    check_eq!(noted(), "w");
    thread.sched_context.bind_notification(notification)?;
    test.let_others_run()?;
    check_eq!(noted(), "wiw");
    // A context without budget is lent, too; the thread waits for its replenishment.
    thread.sched_context.unbind()?;
    signal.signal();
    let spent = test.create_sched_context(&SchedParameters::new(us(500), ms(20)))?;
    let waster = test.passive(ABOVE, || spin())?;
    waster.start()?;
    spent.bind(waster.tcb)?;
    spent.unbind()?;
    spent.bind_notification(notification)?;
    test.let_others_run()?;
    check_eq!(noted(), "wiw");
    test.sleep(ms(30))?;
    check_eq!(noted(), "wiwiw");
    endpoint.nb_send(Message::empty(0));
    Ok(())
}

/// seL4's answer to 1618: the context is bound to both, and leaves the thread when it waits.
fn issue_1618_binding_both_leaves_no_gap(test: &mut Test) -> Outcome {
    let notification: Notification = test.create()?;
    let signal = test.badge(notification, 1)?;
    let (thread, _) = bound_server(test, notification)?;
    thread.sched_context.bind_notification(notification)?;
    signal.signal();
    thread.start()?;
    test.let_others_run()?;
    check_eq!(noted(), "wiw");
    check_eq!(
        thread.sched_context.unbind_object(thread.tcb),
        Err(Error::IllegalOperation)
    );
    signal.signal();
    test.let_others_run()?;
    check_eq!(noted(), "wiwiw");
    Ok(())
}

/// A server returned its context by a reply and got its notification's in the same call, but did not run.
/// (That context was of another core.)
fn issue_1662_a_reply_and_a_signal_in_one_call(test: &mut Test) -> Outcome {
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let notification: Notification = test.create()?;
    let signal = test.badge(notification, 1)?;
    let time = test.create_sched_context(&SLICE)?;
    let server = test.spawn_passive(ABOVE, move || {
        let mut received = endpoint.recv(reply);
        loop {
            note(if received.message.is_some() { 'm' } else { 'i' });
            // The signal comes while the call is served.
            if received.message.is_some() {
                signal.signal();
            }
            received = endpoint.reply_recv(Message::empty(0), reply);
        }
    })?;
    server.tcb.bind_notification(notification)?;
    time.bind_notification(notification)?;
    for expected in ["mic", "micmic"] {
        test.spawn(BELOW, move || {
            endpoint.call(Message::empty(0));
            note('c');
        })?;
        test.let_others_run()?;
        check_eq!(noted(), expected);
    }
    check_eq!(time.unbind_object(server.tcb), Err(Error::IllegalOperation));
    Ok(())
}
