//! Donation: scheduling contexts go to passive servers with calls, and come back with replies.

use crate::support::events::{note, noted};
use crate::support::{ABOVE, BELOW, Outcome, SLICE, Test, ms, spin_for, us};
use crate::{check, check_eq};
use userlib::cap::{CNode, Endpoint, Reply, SchedContext, SchedParameters};
use userlib::{CPtr, Message, Rights, Thread, syscall};

tests![
    each_caller_pays_for_itself,
    nb_send_recv_plays_ping_pong,
    servers_that_are_interrupted_wait_again,
];

/// Checks that a context is bound to a thread, and unbinds it.
#[track_caller]
fn check_holder(context: SchedContext, holder: Thread) {
    check_eq!(context.unbind_object(holder.tcb), Ok(()));
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
