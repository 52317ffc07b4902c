//! Criticality: which threads keep running when the level is raised.

use crate::support::events::{note, noted};
use crate::support::{ABOVE, BELOW, Outcome, SLICE, Test, ms, work};
use crate::{check, check_eq};
use abi::Method;
use userlib::cap::{Endpoint, Notification, Reply, SchedParameters, Tcb};
use userlib::invoke::invoke;
use userlib::{CPtr, Error, Message, Result, Thread};

tests![
    criticality_needs_authority,
    criticality_ends_at_the_authority,
    levels_have_a_limit,
    short_messages_are_truncated,
    at_level_zero_no_thread_is_critical,
    the_level_divides_threads,
    servers_run_at_the_criticality_of_their_clients,
    a_new_criticality_reaches_the_server,
    borrowers_lend_notified_time_their_criticality,
    critical_releases_preempt,
    messages_at_a_raised_level,
];

fn thread<F: FnOnce() + Send + 'static>(
    test: &mut Test,
    priority: u8,
    criticality: u8,
    work: F,
) -> Result<Thread> {
    let thread = test.thread(priority, work)?;
    thread.tcb.set_criticality(test.tcb, criticality)?;
    Ok(thread)
}

/// Raises the level; the test stays above it.
fn raise(test: &Test, level: u8) -> Result {
    test.tcb.set_criticality(test.tcb, abi::MAX_CRITICALITY)?;
    test.sched_control.set_criticality_level(level)
}

/// A passive server that notes `s` and answers.
fn serve(test: &mut Test, priority: u8) -> Result<Endpoint> {
    let endpoint: Endpoint = test.create()?;
    let reply: Reply = test.create()?;
    test.spawn_passive(priority, move || {
        endpoint.recv(reply);
        loop {
            note('s');
            endpoint.reply_recv(Message::empty(0), reply);
        }
    })?;
    Ok(endpoint)
}

fn criticality_needs_authority(test: &mut Test) -> Outcome {
    let (tcb, new): (Tcb, Tcb) = (test.create()?, test.create()?);
    let endpoint: Endpoint = test.create()?;
    let none = Err(Error::Range {
        minimum: 0,
        maximum: 0,
    });
    let invalid = Err(Error::InvalidCapability(1));
    check_eq!(tcb.set_criticality(new, 1), none);
    check_eq!(tcb.set_mc_criticality(new, 1), none);
    check_eq!(tcb.set_criticality(new, 0), Ok(()));
    check_eq!(tcb.set_criticality(Tcb(endpoint.0), 0), invalid);
    check_eq!(tcb.set_mc_criticality(Tcb(endpoint.0), 0), invalid);
    Ok(())
}

fn criticality_ends_at_the_authority(test: &mut Test) -> Outcome {
    let (tcb, authority): (Tcb, Tcb) = (test.create()?, test.create()?);
    authority.set_mc_criticality(test.tcb, 3)?;
    let range = |maximum| {
        Err(Error::Range {
            minimum: 0,
            maximum,
        })
    };
    check_eq!(tcb.set_criticality(authority, 3), Ok(()));
    check_eq!(tcb.set_criticality(authority, 4), range(3));
    check_eq!(tcb.set_mc_criticality(authority, 3), Ok(()));
    check_eq!(tcb.set_mc_criticality(authority, 4), range(3));
    for method in [Method::TcbSetCriticality, Method::TcbSetMcCriticality] {
        for value in [8, 256, usize::MAX] {
            let result = invoke(tcb.0, method.number(), &[value], &[test.tcb.0]);
            check_eq!(result.map(drop), range(7));
        }
    }
    Ok(())
}

fn levels_have_a_limit(test: &mut Test) -> Outcome {
    let label = Method::SchedControlSetCriticalityLevel.number();
    for level in [8, 256, usize::MAX] {
        let result = invoke(test.sched_control.0, label, &[level], &[]);
        let range = Err(Error::Range {
            minimum: 0,
            maximum: 7,
        });
        check_eq!(result.map(drop), range);
    }
    let result = invoke(test.tcb.0, label, &[0], &[]);
    check_eq!(result.map(drop), Err(Error::IllegalOperation));
    raise(test, 7)?;
    test.sched_control.set_criticality_level(0)?;
    Ok(())
}

fn short_messages_are_truncated(test: &mut Test) -> Outcome {
    let tcb: Tcb = test.create()?;
    let truncated = Err(Error::TruncatedMessage);
    for method in [Method::TcbSetCriticality, Method::TcbSetMcCriticality] {
        let label = method.number();
        check_eq!(
            invoke(tcb.0, label, &[], &[test.tcb.0]).map(drop),
            truncated
        );
        check_eq!(invoke(tcb.0, label, &[0], &[]).map(drop), truncated);
    }
    let label = Method::SchedControlSetCriticalityLevel.number();
    check_eq!(
        invoke(test.sched_control.0, label, &[], &[] as &[CPtr]).map(drop),
        truncated
    );
    Ok(())
}

fn at_level_zero_no_thread_is_critical(test: &mut Test) -> Outcome {
    let low = thread(test, BELOW, 7, || note('l'))?;
    let high = thread(test, ABOVE, 0, || note('h'))?;
    low.start()?;
    high.start()?;
    check_eq!(noted(), "h");
    test.let_others_run()?;
    check_eq!(noted(), "hl");
    Ok(())
}

fn the_level_divides_threads(test: &mut Test) -> Outcome {
    raise(test, 2)?;
    for (priority, criticality, name) in [
        (ABOVE, 1, 'd'),
        (ABOVE + 1, 0, 'c'),
        (BELOW, 2, 'b'),
        (BELOW + 1, 7, 'a'),
    ] {
        thread(test, priority, criticality, move || note(name))?.start()?;
    }
    check_eq!(noted(), "");
    // The others run when no thread above them is ready.
    test.sleep(ms(20))?;
    check_eq!(noted(), "abcd");
    test.sched_control.set_criticality_level(0)?;
    Ok(())
}

fn servers_run_at_the_criticality_of_their_clients(test: &mut Test) -> Outcome {
    let endpoint = serve(test, BELOW)?;
    let rival = thread(test, ABOVE + 1, 0, || note('r'))?;
    let client = thread(test, ABOVE, 5, move || {
        note('c');
        endpoint.call(Message::empty(0));
        note('d');
    })?;
    raise(test, 5)?;
    rival.start()?;
    // The server's priority is below the test's; it runs at its client's criticality.
    client.start()?;
    check_eq!(noted(), "c");
    test.sleep(ms(20))?;
    check_eq!(noted(), "csdr");
    test.sched_control.set_criticality_level(0)?;
    Ok(())
}

fn a_new_criticality_reaches_the_server(test: &mut Test) -> Outcome {
    let endpoint = serve(test, BELOW)?;
    let client = thread(test, ABOVE, 0, move || {
        note('c');
        endpoint.call(Message::empty(0));
        note('d');
    })?;
    client.start()?;
    check_eq!(noted(), "c");
    // The server has the client's context, and runs when the test lets it.
    raise(test, 1)?;
    let rival = thread(test, ABOVE + 1, 0, || note('r'))?;
    rival.start()?;
    client.tcb.set_criticality(test.tcb, 1)?;
    test.sleep(ms(20))?;
    check_eq!(noted(), "csdr");
    test.sched_control.set_criticality_level(0)?;
    Ok(())
}

fn borrowers_lend_notified_time_their_criticality(test: &mut Test) -> Outcome {
    let notification: Notification = test.create()?;
    let time = test.create_sched_context(&SLICE)?;
    let borrower = test.spawn_passive(ABOVE, move || {
        loop {
            notification.wait();
            note('b');
        }
    })?;
    time.bind_notification(notification)?;
    let rival = thread(test, ABOVE, 0, || note('r'))?;
    raise(test, 3)?;
    rival.start()?;
    notification.signal();
    check_eq!(noted(), "");
    borrower.tcb.set_criticality(test.tcb, 3)?;
    check_eq!(noted(), "b");
    notification.signal();
    check_eq!(noted(), "bb");
    test.sched_control.set_criticality_level(0)?;
    check_eq!(noted(), "bbr");
    Ok(())
}

fn critical_releases_preempt(test: &mut Test) -> Outcome {
    let startup = test.startup;
    let sleeper = test.timed(BELOW, SchedParameters::new(ms(10), ms(50)), || {
        note('a');
        userlib::syscall::yield_now();
        note('b');
    })?;
    sleeper.tcb.set_criticality(test.tcb, 2)?;
    let worker = thread(test, ABOVE, 0, move || {
        work(startup, ms(100));
        note('w');
    })?;
    raise(test, 2)?;
    sleeper.start()?;
    worker.start()?;
    test.sleep(ms(200))?;
    check_eq!(noted(), "abw");
    test.sched_control.set_criticality_level(0)?;
    Ok(())
}

fn messages_at_a_raised_level(test: &mut Test) -> Outcome {
    // All kinds of messages, between threads of all criticalities, at all levels: each one arrives.
    let endpoint = serve(test, ABOVE + 2)?;
    let notification: Notification = test.create()?;
    let waiter = thread(test, ABOVE + 1, 4, move || {
        loop {
            notification.wait();
            note('w');
        }
    })?;
    waiter.start()?;
    for level in 0..=abi::MAX_CRITICALITY {
        crate::support::events::forget();
        raise(test, level)?;
        for criticality in [0, 3, 7] {
            let client = thread(test, ABOVE, criticality, move || {
                endpoint.call(Message::empty(0));
                notification.signal();
                endpoint.call(Message::empty(0));
            })?;
            client.start()?;
        }
        test.sleep(ms(20))?;
        check!(noted().contains("s"));
        check_eq!(crate::support::events::count(), 9);
    }
    test.sched_control.set_criticality_level(0)?;
    Ok(())
}
