//! The same as `fast_path_call` for conditions of time: contexts, ready threads, timer deadlines, thresholds
//! and limits.

use crate::fast_path_call::{check_holder, client, serve};
use crate::support::events::{forget, note, noted};
use crate::support::{ABOVE, BELOW, Outcome, Test, ms, work};
use crate::{check, check_eq};
use abi::endpoint_flags::{LIMIT, TELL_BUDGET};
use userlib::cap::{Endpoint, Notification, Reply, SchedParameters};
use userlib::{Message, syscall};

tests![
    time_of_its_own,
    another_ready_thread,
    no_ready_thread,
    a_release_that_the_timer_does_not_tell,
    a_release_that_the_timer_need_not_tell,
    thresholds,
    budgets_for_a_threshold,
    a_threshold_without_a_receiver,
    limited_time,
    calls_within_calls,
];

/// Starts a thread of priority `ABOVE + 5` that is released 8 ms later, and notes it then.
pub(crate) fn release_soon(test: &mut Test) -> Outcome {
    let time = SchedParameters::new(ms(1), ms(8));
    let thread = test.timed(ABOVE + 5, time, || {
        syscall::yield_now();
        note('m');
    })?;
    Ok(thread.start()?)
}

fn time_of_its_own(test: &mut Test) -> Outcome {
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let server = test.spawn(ABOVE, move || {
        endpoint.recv(reply);
        note('s');
        endpoint.wait();
    })?;
    let caller = client(test, ABOVE, endpoint)?;
    check_eq!(noted(), "s");
    check_holder(caller.sched_context, caller);
    check_holder(server.sched_context, server);
    Ok(())
}

/// A server below a client, called twice: the timer deadline is right for the second call.
fn another_ready_thread(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    serve(test, endpoint, ABOVE, 's')?;
    let between = test.thread(ABOVE + 5, || note('m'))?;
    test.spawn(ABOVE + 10, move || {
        endpoint.call(Message::empty(0));
        check_eq!(between.start(), Ok(()));
        endpoint.call(Message::empty(0));
        note('c');
    })?;
    check_eq!(noted(), "smsc");
    // A thread of the server's priority does not come first.
    forget();
    let equal = test.thread(ABOVE, || note('m'))?;
    test.spawn(ABOVE + 10, move || {
        endpoint.call(Message::empty(0));
        check_eq!(equal.start(), Ok(()));
        endpoint.call(Message::empty(0));
        note('c');
    })?;
    check_eq!(noted(), "sscm");
    Ok(())
}

fn no_ready_thread(test: &mut Test) -> Outcome {
    let (endpoint, bell): (Endpoint, Notification) = (test.create()?, test.create()?);
    let ringing = test.badge(bell, 1)?;
    serve(test, endpoint, BELOW, 's')?;
    let caller = test.thread(BELOW + 5, move || {
        for _ in 0..3 {
            endpoint.call(Message::empty(0));
        }
        note('c');
        ringing.signal();
    })?;
    caller.start()?;
    bell.wait();
    check_eq!(noted(), "sssc");
    Ok(())
}

/// A thread is released between the priorities of client and server, soon after the call.
fn a_release_that_the_timer_does_not_tell(test: &mut Test) -> Outcome {
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let startup = test.startup;
    test.spawn_passive(ABOVE, move || {
        endpoint.recv(reply);
        work(startup, ms(15));
        note('s');
        reply.send(Message::empty(0));
    })?;
    release_soon(test)?;
    let long = SchedParameters::new(ms(60), ms(60));
    let caller = test.timed(ABOVE + 10, long, move || {
        endpoint.call(Message::empty(0));
        note('c');
    })?;
    caller.start()?;
    check_eq!(noted(), "msc");
    Ok(())
}

/// The same, but the server's priority is above that of the released thread.
fn a_release_that_the_timer_need_not_tell(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    serve(test, endpoint, ABOVE + 10, 's')?;
    release_soon(test)?;
    client(test, ABOVE, endpoint)?;
    check_eq!(noted(), "sc");
    test.sleep(ms(10))?;
    check_eq!(noted(), "scm");
    Ok(())
}

fn thresholds(test: &mut Test) -> Outcome {
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    test.spawn_passive(ABOVE, move || {
        let received = endpoint.recv(reply);
        let message = received.message.unwrap_or(Message::empty(0));
        check!(message.lent_time() >= ms(1));
        reply.send(Message::empty(0));
    })?;
    test.slot(endpoint)
        .set_endpoint_threshold(ms(1), TELL_BUDGET)?;
    client(test, ABOVE, endpoint)?;
    check_eq!(noted(), "c");
    Ok(())
}

/// The second call comes with too little budget left, and waits for more.
fn budgets_for_a_threshold(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    serve(test, endpoint, ABOVE, 's')?;
    test.slot(endpoint).set_endpoint_threshold(ms(10), 0)?;
    let startup = test.startup;
    let time = SchedParameters::new(ms(20), ms(60));
    let caller = test.timed(ABOVE, time, move || {
        for _ in 0..2 {
            endpoint.call(Message::empty(0));
            note('c');
            work(startup, ms(12));
        }
    })?;
    caller.start()?;
    check_eq!(noted(), "sc");
    test.sleep(ms(60))?;
    check_eq!(noted(), "scsc");
    Ok(())
}

fn a_threshold_without_a_receiver(test: &mut Test) -> Outcome {
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    test.slot(endpoint).set_endpoint_threshold(ms(1), 0)?;
    client(test, ABOVE, endpoint)?;
    check_eq!(noted(), "");
    check!(endpoint.nb_recv(reply).is_some());
    reply.send(Message::empty(0));
    check_eq!(noted(), "c");
    Ok(())
}

/// A server with a limit calls one without, which is refused, and answers in time: then the limit ends.
fn limited_time(test: &mut Test) -> Outcome {
    let (outer, inner): (Endpoint, Endpoint) = (test.create()?, test.create()?);
    let reply: Reply = test.create()?;
    serve(test, inner, ABOVE, 'i')?;
    test.spawn_passive(ABOVE, move || {
        outer.recv(reply);
        loop {
            check!(inner.call(Message::empty(0)).label() != 1);
            note('o');
            outer.reply_recv(Message::empty(0), reply);
        }
    })?;
    test.slot(outer).set_endpoint_threshold(ms(5), LIMIT)?;
    let startup = test.startup;
    let caller = test.timed(ABOVE, SchedParameters::new(ms(60), ms(1000)), move || {
        for _ in 0..2 {
            check_eq!(outer.call(Message::empty(0)).label(), 0);
            work(startup, ms(10));
            note('c');
        }
    })?;
    caller.start()?;
    check_eq!(noted(), "ococ");
    Ok(())
}

fn calls_within_calls(test: &mut Test) -> Outcome {
    let endpoints: [Endpoint; 3] = [test.create()?, test.create()?, test.create()?];
    serve(test, endpoints[2], ABOVE, 's')?;
    for (index, letter) in [(1, 'n'), (0, 'm')] {
        let (here, there) = (endpoints[index], endpoints[index + 1]);
        let reply: Reply = test.create()?;
        test.spawn_passive(ABOVE, move || {
            here.recv(reply);
            loop {
                note(letter);
                there.call(Message::empty(0));
                note(letter);
                here.reply_recv(Message::empty(0), reply);
            }
        })?;
    }
    let first = client(test, ABOVE, endpoints[0])?;
    let second = client(test, ABOVE, endpoints[0])?;
    check_eq!(noted(), "mnsnmcmnsnmc");
    for caller in [first, second] {
        check_holder(caller.sched_context, caller);
    }
    Ok(())
}
