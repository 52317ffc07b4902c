//! Donation: scheduling contexts go to passive servers with calls, and come back with replies.

use crate::support::events::{note, noted};
use crate::support::{ABOVE, BELOW, Outcome, SLICE, Test, ms, spin_for, us};
use crate::{check, check_eq};
use userlib::cap::{CNode, Endpoint, Notification, Reply, SchedContext, SchedParameters};
use userlib::{CPtr, Error, Message, Rights, Thread, syscall};

tests![
    servers_run_on_the_callers_time,
    each_caller_pays_for_itself,
    servers_are_passive_between_calls,
    servers_keep_their_own_priority,
    active_servers_take_nothing,
    plain_sends_donate_nothing,
    bound_time_lets_a_waiting_server_run,
    passive_callers_donate_nothing,
    nb_send_wait_donates,
    nb_send_recv_plays_ping_pong,
    replies_fetch_time_from_wherever_it_is,
    callers_with_other_time_take_nothing_back,
    unbound_from_the_server_it_still_comes_back,
    unbound_for_good_it_does_not_come_back,
    deleted_it_does_not_come_back,
    deleted_while_waiting_to_send,
    suspending_the_caller_leaves_time_with_the_server,
    suspending_the_server_keeps_its_time,
    a_dead_server_leaves_time_to_the_reply,
    a_dead_server_leaves_time_to_the_reply_object,
    deleting_the_reply_object_returns_time,
    servers_that_stop_keep_time,
    servers_that_are_interrupted_wait_again,
];

/// A client above the test, a passive server below: the test can act between a call and its service.
struct Pair {
    client: Thread,
    server: Thread,
    reply: Reply,
    /// The client's scheduling context.
    time: SchedContext,
}

/// The client calls once and notes `c`, or the letter of the answer's label; the server notes `s` and
/// answers, waits for the next call, and so on.
fn pair(test: &mut Test) -> Outcome<Pair> {
    let endpoint: Endpoint = test.create()?;
    let reply: Reply = test.create()?;
    let server = test.spawn_passive(BELOW, move || {
        endpoint.recv(reply);
        loop {
            note('s');
            endpoint.reply_recv(Message::empty(2), reply);
        }
    })?;
    let client = test.spawn(ABOVE, move || {
        let answer = endpoint.call(Message::empty(0));
        note((b'a' + answer.label() as u8) as char);
    })?;
    check_eq!(noted(), "");
    Ok(Pair {
        client,
        server,
        reply,
        time: client.sched_context,
    })
}

/// Checks that a context is bound to a thread, and unbinds it.
#[track_caller]
fn check_holder(context: SchedContext, holder: Thread) {
    check_eq!(context.unbind_object(holder.tcb), Ok(()));
}

fn servers_run_on_the_callers_time(test: &mut Test) -> Outcome {
    let pair = pair(test)?;
    test.let_others_run()?;
    check_eq!(noted(), "sc");
    check_holder(pair.time, pair.client);
    Ok(())
}

/// A passive server that is busy for as many milliseconds as the label says.
fn busy_server(test: &mut Test) -> Outcome<Endpoint> {
    use userlib::time::Clock;
    let endpoint: Endpoint = test.create()?;
    let reply: Reply = test.create()?;
    let startup = test.startup;
    test.spawn_passive(ABOVE, move || {
        let clock = Clock::from_startup(startup);
        let mut received = endpoint.recv(reply);
        loop {
            let label = received.message.map_or(0, |message| message.label());
            spin_for(&clock, ms(label as u64));
            received = endpoint.reply_recv(Message::empty(0), reply);
        }
    })?;
    Ok(endpoint)
}

fn each_caller_pays_for_itself(test: &mut Test) -> Outcome {
    let endpoint = busy_server(test)?;
    let mut times = [test.sched_context; 2];
    for (time, label) in times.iter_mut().zip([2, 8]) {
        let client = test.thread(BELOW, move || {
            endpoint.call(Message::empty(label));
        })?;
        *time = client.sched_context;
        client.start()?;
    }
    test.let_others_run()?;
    let [first, second] = [times[0].consumed()?, times[1].consumed()?];
    check!(first >= ms(2) && second >= ms(8));
    Ok(())
}

fn servers_are_passive_between_calls(test: &mut Test) -> Outcome {
    let pair = pair(test)?;
    test.let_others_run()?;
    check_eq!(
        pair.time.unbind_object(pair.server.tcb),
        Err(Error::IllegalOperation)
    );
    Ok(())
}

fn servers_keep_their_own_priority(test: &mut Test) -> Outcome {
    let pair = pair(test)?;
    // The client's priority is above the test's, but the server's is not.
    test.spawn(ABOVE, || note('x'))?;
    note('t');
    test.let_others_run()?;
    check_eq!(noted(), "xtsc");
    check_holder(pair.time, pair.client);
    Ok(())
}

fn active_servers_take_nothing(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let reply: Reply = test.create()?;
    let server = test.spawn(ABOVE, move || {
        endpoint.recv(reply);
        note('s');
        syscall::wait(endpoint.0);
    })?;
    let client = test.spawn(ABOVE, move || {
        endpoint.call(Message::empty(0));
    })?;
    check_eq!(noted(), "s");
    check_holder(client.sched_context, client);
    check_holder(server.sched_context, server);
    Ok(())
}

fn plain_sends_donate_nothing(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    test.spawn_passive(ABOVE, move || {
        endpoint.wait();
        note('x');
    })?;
    endpoint.send(Message::empty(0));
    // The message is delivered, but the server does not run; the next send finds no receiver.
    endpoint.nb_send(Message::empty(0));
    test.let_others_run()?;
    check_eq!(noted(), "");
    Ok(())
}

fn bound_time_lets_a_waiting_server_run(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let server = test.spawn_passive(ABOVE, move || {
        let message = endpoint.wait().message;
        check_eq!(message.map(|message| message.label()), Some(7));
        note('s');
    })?;
    endpoint.nb_send(Message::empty(7));
    check_eq!(noted(), "");
    let time = test.create_sched_context(&SLICE)?;
    time.bind(server.tcb)?;
    check_eq!(noted(), "s");
    Ok(())
}

fn passive_callers_donate_nothing(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let reply: Reply = test.create()?;
    let client = test.spawn(ABOVE, move || {
        endpoint.call(Message::empty(0));
        note('c');
    })?;
    client.sched_context.unbind()?;
    // The client stays in the wait queue, and its call can be received.
    check!(endpoint.nb_recv(reply).is_some());
    reply.send(Message::empty(0));
    test.let_others_run()?;
    check_eq!(noted(), "");
    client.sched_context.bind(client.tcb)?;
    check_eq!(noted(), "c");
    Ok(())
}

fn nb_send_wait_donates(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let notification: Notification = test.create()?;
    let receiver = test.spawn_passive(BELOW, move || {
        endpoint.wait();
        note('r');
    })?;
    let giver = test.spawn(ABOVE, move || {
        syscall::nb_send_wait(endpoint.0, Message::empty(0), notification.0);
        note('g');
    })?;
    check_holder(giver.sched_context, receiver);
    giver.sched_context.bind(receiver.tcb)?;
    test.let_others_run()?;
    check_eq!(noted(), "r");
    // Nothing returns the context: the giver is woken, but does not run.
    notification.signal();
    test.let_others_run()?;
    check_eq!(noted(), "r");
    giver.sched_context.unbind()?;
    giver.sched_context.bind(giver.tcb)?;
    check_eq!(noted(), "rg");
    Ok(())
}

fn nb_send_recv_plays_ping_pong(test: &mut Test) -> Outcome {
    let (there, back): (Endpoint, Endpoint) = (test.create()?, test.create()?);
    let (reply, other): (Reply, Reply) = (test.create()?, test.create()?);
    test.spawn_passive(ABOVE, move || {
        there.recv(other);
        loop {
            note('o');
            syscall::nb_send_recv(back.0, Message::empty(0), there.0, other.0);
        }
    })?;
    let first = test.spawn(ABOVE, move || {
        for _ in 0..4 {
            note('i');
            syscall::nb_send_recv(there.0, Message::empty(0), back.0, reply.0);
        }
        note('.');
        syscall::wait(back.0);
    })?;
    check_eq!(noted(), "ioioioio.");
    check_holder(first.sched_context, first);
    Ok(())
}

fn replies_fetch_time_from_wherever_it_is(test: &mut Test) -> Outcome {
    let (service, work): (Endpoint, Endpoint) = (test.create()?, test.create()?);
    let (reply, other): (Reply, Reply) = (test.create()?, test.create()?);
    // The server passes the job, and the scheduling context, on to a worker that answers the client.
    let worker = test.spawn_passive(BELOW, move || {
        work.wait();
        note('w');
        reply.send(Message::empty(0));
        note('x');
    })?;
    test.spawn_passive(BELOW, move || {
        service.recv(reply);
        note('s');
        syscall::nb_send_recv(work.0, Message::empty(0), service.0, other.0);
    })?;
    let client = test.spawn(ABOVE, move || {
        service.call(Message::empty(0));
        note('c');
        service.nb_send(Message::empty(0));
    })?;
    test.let_others_run()?;
    check_eq!(noted(), "swc");
    check_eq!(
        client.sched_context.unbind_object(worker.tcb),
        Err(Error::IllegalOperation)
    );
    Ok(())
}

fn callers_with_other_time_take_nothing_back(test: &mut Test) -> Outcome {
    let pair = pair(test)?;
    let other = test.create_sched_context(&SLICE)?;
    other.bind(pair.client.tcb)?;
    test.let_others_run()?;
    // The client has run on its new context, and the server waits with the old one.
    check_eq!(noted(), "sc");
    check_holder(pair.time, pair.server);
    check_holder(other, pair.client);
    Ok(())
}

fn unbound_from_the_server_it_still_comes_back(test: &mut Test) -> Outcome {
    let pair = pair(test)?;
    check_holder(pair.time, pair.server);
    test.let_others_run()?;
    check_eq!(noted(), "");
    pair.reply.send(Message::empty(3));
    check_eq!(noted(), "d");
    check_holder(pair.time, pair.client);
    Ok(())
}

fn unbound_for_good_it_does_not_come_back(test: &mut Test) -> Outcome {
    let pair = pair(test)?;
    pair.time.unbind()?;
    pair.reply.send(Message::empty(3));
    test.let_others_run()?;
    check_eq!(noted(), "");
    // The message was delivered all the same.
    pair.time.bind(pair.client.tcb)?;
    check_eq!(noted(), "d");
    Ok(())
}

fn deleted_it_does_not_come_back(test: &mut Test) -> Outcome {
    let pair = pair(test)?;
    test.delete(pair.time)?;
    test.let_others_run()?;
    check_eq!(noted(), "");
    pair.reply.send(Message::empty(3));
    test.let_others_run()?;
    check_eq!(noted(), "");
    let other = test.create_sched_context(&SLICE)?;
    other.bind(pair.client.tcb)?;
    check_eq!(noted(), "d");
    Ok(())
}

fn deleted_while_waiting_to_send(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let reply: Reply = test.create()?;
    let client = test.spawn(ABOVE, move || {
        endpoint.call(Message::empty(4));
        note('c');
    })?;
    test.delete(client.sched_context)?;
    let received = endpoint.nb_recv(reply);
    let message = received.and_then(|received| received.message);
    check_eq!(message.map(|message| message.label()), Some(4));
    reply.send(Message::empty(0));
    test.let_others_run()?;
    check_eq!(noted(), "");
    let other = test.create_sched_context(&SLICE)?;
    other.bind(client.tcb)?;
    check_eq!(noted(), "c");
    Ok(())
}

fn suspending_the_caller_leaves_time_with_the_server(test: &mut Test) -> Outcome {
    let pair = pair(test)?;
    pair.client.tcb.suspend()?;
    test.let_others_run()?;
    check_eq!(noted(), "s");
    check_holder(pair.time, pair.server);
    // The caller has no scheduling context, so resuming it is not enough.
    pair.client.start()?;
    test.let_others_run()?;
    check_eq!(noted(), "s");
    Ok(())
}

fn suspending_the_server_keeps_its_time(test: &mut Test) -> Outcome {
    let pair = pair(test)?;
    pair.server.tcb.suspend()?;
    test.let_others_run()?;
    check_eq!(noted(), "");
    pair.server.start()?;
    test.let_others_run()?;
    check_eq!(noted(), "sc");
    check_holder(pair.time, pair.client);
    Ok(())
}

fn a_dead_server_leaves_time_to_the_reply(test: &mut Test) -> Outcome {
    let pair = pair(test)?;
    test.delete(pair.server.tcb)?;
    test.let_others_run()?;
    check_eq!(noted(), "");
    check_eq!(pair.time.yield_to(), Err(Error::IllegalOperation));
    pair.reply.send(Message::empty(3));
    check_eq!(noted(), "d");
    check_holder(pair.time, pair.client);
    Ok(())
}

fn a_dead_server_leaves_time_to_the_reply_object(test: &mut Test) -> Outcome {
    let pair = pair(test)?;
    test.delete(pair.server.tcb)?;
    test.delete(pair.reply)?;
    test.let_others_run()?;
    // The caller is stopped, with its scheduling context.
    check_eq!(noted(), "");
    check_holder(pair.time, pair.client);
    Ok(())
}

fn deleting_the_reply_object_returns_time(test: &mut Test) -> Outcome {
    let pair = pair(test)?;
    test.delete(pair.reply)?;
    test.let_others_run()?;
    check_eq!(noted(), "");
    check_eq!(
        pair.time.unbind_object(pair.server.tcb),
        Err(Error::IllegalOperation)
    );
    check_holder(pair.time, pair.client);
    Ok(())
}

fn servers_that_stop_keep_time(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let reply: Reply = test.create()?;
    let notification: Notification = test.create()?;
    let ready = test.badge(notification, 1)?;
    let server = test.spawn_passive(ABOVE, move || {
        endpoint.recv(reply);
        notification.wait();
        note('s');
        reply.send(Message::empty(0));
        note('x');
    })?;
    let client = test.spawn(ABOVE, move || {
        endpoint.call(Message::empty(0));
        note('c');
    })?;
    check_eq!(
        client.sched_context.unbind_object(client.tcb),
        Err(Error::IllegalOperation)
    );
    ready.signal();
    // The server lost the context with the reply and was not woken.
    check_eq!(noted(), "sc");
    check_eq!(
        client.sched_context.unbind_object(server.tcb),
        Err(Error::IllegalOperation)
    );
    Ok(())
}

/// The server's capabilities have addresses of many levels, so that interrupts arrive during the lookup. The
/// passive server then has no budget of its own to restart with.
fn servers_that_are_interrupted_wait_again(test: &mut Test) -> Outcome {
    const BITS: usize = 2;
    const CALLS: usize = 2000;
    const fn deep(index: usize) -> CPtr {
        CPtr(usize::MAX << BITS | index)
    }
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let table: CNode = test.create_sized(BITS)?;
    for (index, slot) in [
        (0, test.slot(endpoint)),
        (1, test.slot(reply)),
        (3, test.slot(table)),
    ] {
        table
            .slot_of_table(index, BITS)
            .copy_from(slot, Rights::ALL)?;
    }
    let server = test.passive(BELOW, || {
        let (endpoint, reply) = (Endpoint(deep(0)), Reply(deep(1)));
        endpoint.recv(reply);
        loop {
            endpoint.reply_recv(Message::empty(0), reply);
        }
    })?;
    server.tcb.set_space(test.faults, table, 0, test.vspace)?;
    let time = test.create_sched_context(&SLICE)?;
    time.bind(server.tcb)?;
    server.start()?;
    test.let_others_run()?;
    time.unbind_object(server.tcb)?;

    let often = SchedParameters::new(us(20), us(130));
    let waker = test.timed(ABOVE, often, || {
        loop {
            syscall::yield_now();
        }
    })?;
    waker.start()?;
    test.spawn(BELOW, move || {
        for _ in 0..CALLS {
            endpoint.call(Message::empty(0));
        }
        note('c');
    })?;
    for _ in 0..1000 {
        test.sleep(ms(2))?;
        if noted() == "c" {
            return Ok(());
        }
    }
    crate::support::fail(format_args!("the server waits no more"))
}
