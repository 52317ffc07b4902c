//! The same as `fast_path_reply` for conditions of time: contexts, ready threads and timer deadlines.

use core::sync::atomic::Ordering::Relaxed;

use abi::endpoint_flags::LIMIT;

use crate::fast_path_call::check_holder;
use crate::fast_path_call_time::release_soon;
use crate::fast_path_reply::{Server, client, empty, new_client};
use crate::support::events::{note, noted};
use crate::support::{ABOVE, Outcome, SLICE, Test, ms, us, work};
use crate::{check, check_eq};
use userlib::cap::{Endpoint, Notification, Reply, SchedParameters};
use userlib::time::Clock;
use userlib::{Fault, Microseconds};

tests![
    callers_with_other_time,
    time_that_is_not_lent,
    time_that_was_lent_before,
    callers_that_lost_their_time,
    answers_along_a_chain,
    another_ready_thread,
    a_release_that_the_timer_does_not_tell,
    a_release_that_the_timer_need_not_tell,
    limited_time,
    less_than_the_smallest_budget,
];

fn callers_with_other_time(test: &mut Test) -> Outcome {
    let server = Server::new(test)?;
    let caller = new_client(test, ABOVE, server.endpoint)?;
    let other = test.create_sched_context(&SLICE)?;
    let thread = server.start(test, move || {
        check_eq!(other.bind(caller.tcb), Ok(()));
    })?;
    caller.start()?;
    check_eq!(noted(), "sa");
    check_holder(caller.sched_context, thread);
    check_holder(other, caller);
    Ok(())
}

/// The server answers while it runs on its own context; the donated one returns to the caller.
fn time_that_is_not_lent(test: &mut Test) -> Outcome {
    let server = Server::new(test)?;
    let bell: Notification = test.create()?;
    let thread = server.start(test, move || {
        bell.wait();
    })?;
    let caller = client(test, server.endpoint)?;
    check_holder(caller.sched_context, thread);
    let own = test.create_sched_context(&SLICE)?;
    own.bind(thread.tcb)?;
    bell.signal();
    check_eq!(noted(), "sa");
    check_holder(caller.sched_context, caller);
    check_holder(own, thread);
    Ok(())
}

/// The server has kept a caller's context, and answers a caller without one, through the same reply object.
fn time_that_was_lent_before(test: &mut Test) -> Outcome {
    let server = Server::new(test)?;
    let thread = server.start(test, || {})?;
    let first = client(test, server.endpoint)?;
    check_eq!(noted(), "sa");
    let time = first.sched_context;
    time.unbind()?;
    let second = new_client(test, ABOVE, server.endpoint)?;
    time.bind(thread.tcb)?;
    second.start()?;
    check_eq!(noted(), "sata");
    check_holder(second.sched_context, second);
    check_holder(time, thread);
    Ok(())
}

/// The same, and the second caller loses its own context meanwhile: it gets none by the answer.
fn callers_that_lost_their_time(test: &mut Test) -> Outcome {
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let second = new_client(test, ABOVE, endpoint)?;
    let server = test.spawn_passive(ABOVE, move || {
        endpoint.recv(reply);
        endpoint.reply_recv(empty(0), reply);
        note('t');
        check_eq!(second.sched_context.unbind(), Ok(()));
        endpoint.reply_recv(empty(0), reply);
    })?;
    let first = client(test, endpoint)?;
    check_eq!(noted(), "a");
    let time = first.sched_context;
    time.unbind()?;
    time.bind(server.tcb)?;
    second.start()?;
    check_eq!(noted(), "at");
    check_holder(time, server);
    second.sched_context.bind(second.tcb)?;
    check_eq!(noted(), "ata");
    Ok(())
}

/// The inner server answers the outer caller. The donated context stays with the inner server.
fn answers_along_a_chain(test: &mut Test) -> Outcome {
    let (outer, inner): (Endpoint, Endpoint) = (test.create()?, test.create()?);
    let (reply, own): (Reply, Reply) = (test.create()?, test.create()?);
    let last = test.spawn_passive(ABOVE, move || {
        inner.recv(own);
        note('i');
        inner.reply_recv(empty(3), reply);
        note('x');
    })?;
    test.spawn_passive(ABOVE, move || {
        outer.recv(reply);
        note('o');
        inner.call(empty(0));
        note('y');
    })?;
    let caller = client(test, outer)?;
    check_eq!(noted(), "oi");
    check_holder(caller.sched_context, last);
    caller.sched_context.bind(caller.tcb)?;
    check_eq!(noted(), "oid");
    Ok(())
}

/// The client's priority is below that of a thread that the server makes ready.
fn another_ready_thread(test: &mut Test) -> Outcome {
    let server = Server::new(test)?;
    let between = test.thread(ABOVE - 2, || note('m'))?;
    server.start(test, move || {
        check_eq!(between.start(), Ok(()));
    })?;
    new_client(test, ABOVE - 5, server.endpoint)?.start()?;
    check_eq!(noted(), "sma");
    Ok(())
}

/// A thread is released between the priorities of server and client, soon after the answer.
fn a_release_that_the_timer_does_not_tell(test: &mut Test) -> Outcome {
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let startup = test.startup;
    test.spawn_passive(ABOVE + 10, move || {
        endpoint.recv(reply);
        loop {
            endpoint.reply_recv(empty(0), reply);
        }
    })?;
    release_soon(test)?;
    let long = SchedParameters::new(ms(60), ms(60));
    let caller = test.timed(ABOVE, long, move || {
        endpoint.call(empty(0));
        work(startup, ms(15));
        note('c');
    })?;
    caller.start()?;
    check_eq!(noted(), "mc");
    Ok(())
}

/// The same, but the client's priority is above that of the released thread, and the server's is below.
fn a_release_that_the_timer_need_not_tell(test: &mut Test) -> Outcome {
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    test.spawn_passive(ABOVE, move || {
        endpoint.recv(reply);
        loop {
            endpoint.reply_recv(empty(0), reply);
        }
    })?;
    release_soon(test)?;
    // With a budget that ends later: the timer is programmed for the release.
    let long = SchedParameters::new(ms(60), ms(60));
    let caller = test.timed(ABOVE + 10, long, move || {
        endpoint.call(empty(0));
        note('c');
    })?;
    caller.start()?;
    check_eq!(noted(), "c");
    test.sleep(ms(10))?;
    check_eq!(noted(), "cm");
    Ok(())
}

/// A server with a limit answers, and waits at an endpoint without one: the limit ends, and what it would refuse, a
/// call without a limit, is possible again.
fn limited_time(test: &mut Test) -> Outcome {
    let (limited, plain): (Endpoint, Endpoint) = (test.create()?, test.create()?);
    let reply: Reply = test.create()?;
    test.spawn_passive(ABOVE, move || {
        limited.recv(reply);
        loop {
            note('s');
            plain.reply_recv(empty(0), reply);
        }
    })?;
    test.slot(limited).set_endpoint_threshold(ms(5), LIMIT)?;
    let startup = test.startup;
    let caller = test.timed(ABOVE, SchedParameters::new(ms(60), ms(1000)), move || {
        check_eq!(limited.call(empty(0)).label(), 0);
        check_eq!(plain.call(empty(0)).label(), 0);
        work(startup, ms(10));
        note('c');
    })?;
    caller.start()?;
    check_eq!(noted(), "ssc");
    Ok(())
}

/// A server answers on an idling context, each use of which needs a budget check, when less than the smallest budget
/// is left: that is a timeout, and the caller gets no answer.
///
/// The server tries it at times that are 2 us apart, about the end of its budget. So several of them must be in the
/// last 20 us, though the server does not know its end exactly.
fn less_than_the_smallest_budget(test: &mut Test) -> Outcome {
    if test.is_in_real_time() {
        // Only in virtual time does the server have about the same time twice.
        return Ok(());
    }
    // The runner's ticks would take time from the server's clock, but not from its budget.
    test.quiet();
    let end = run_and_answer(test, None)?.time;
    check!(end > ms(5), "{end}");
    let mut refused = 0;
    for step in 0..24 {
        let attempt = run_and_answer(test, Some(end + us(16) - us(2 * step)))?;
        refused += usize::from(attempt.answers && attempt.times_out);
    }
    check!(refused >= 4, "{refused}");
    Ok(())
}

/// What a server has done.
struct Attempt {
    /// How long it has run.
    time: Microseconds,
    /// Whether it has tried to answer.
    answers: bool,
    /// Whether it has had a timeout.
    times_out: bool,
}

/// Runs a server that answers after `time`, or not at all.
fn run_and_answer(test: &mut Test, time: Option<Microseconds>) -> Outcome<Attempt> {
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let (timeouts, answer): (Endpoint, Reply) = (test.create()?, test.create()?);
    let (startup, page) = (test.startup, test.create_shared_page()?.words);
    let server = test.spawn_passive(ABOVE, move || {
        endpoint.recv(reply);
        let clock = Clock::from_startup(startup);
        let begin = clock.now();
        let mut ran = Microseconds(0);
        while time.is_none_or(|time| ran < time) {
            page[0].store(ran.0 as usize, Relaxed);
            ran = clock.now() - begin;
        }
        page[1].store(1, Relaxed);
        endpoint.reply_recv(empty(0), reply);
    })?;
    server.tcb.set_timeout_endpoint(timeouts)?;
    let budget = SchedParameters::new(ms(10), ms(1_000_000)).idling();
    let caller = test.timed(ABOVE, budget, move || {
        endpoint.call(empty(0));
    })?;
    caller.start()?;
    let message = timeouts
        .nb_recv(answer)
        .and_then(|received| received.message);
    let fault = message.map(|message| Fault::from_message(&message));
    Ok(Attempt {
        time: Microseconds(page[0].load(Relaxed) as u64),
        answers: page[1].load(Relaxed) == 1,
        times_out: matches!(fault, Some(Fault::Timeout { .. })),
    })
}
