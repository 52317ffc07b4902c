//! Endpoint thresholds, and limits to a server's use of donated budget.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::support::events::{note, noted};
use crate::support::{ABOVE, BELOW, Outcome, Test, ms, relax, work};
use crate::{check, check_eq};
use abi::endpoint_flags::{DONATION_REQUIRED, LIMIT, TELL_BUDGET};
use abi::{ErrorCode, Method, WORD_BITS};
use userlib::cap::{Endpoint, Notification, Reply, SchedParameters};
use userlib::invoke::invoke;
use userlib::time::Clock;
use userlib::{Capability, Error, Fault, Message, Microseconds, Rights, Thread, syscall};

tests![
    a_caller_with_enough_budget_is_served,
    a_deferred_caller_is_served_later_without_timeout,
    a_budget_that_can_never_suffice_is_refused,
    a_whole_budget_of_exactly_what_is_needed_is_enough,
    a_sender_that_does_not_donate_is_refused,
    what_does_not_wait_is_dropped,
    queued_senders_stay,
    a_threshold_is_taken_back,
    the_deferred_find_the_endpoint_gone,
    the_deferred_may_lose_their_capability,
    a_context_reconfigured_during_a_deferral_is_asked_again,
    only_the_original_sets_a_threshold,
    bad_thresholds_are_refused,
    the_receiver_learns_what_was_lent,
    a_limit_gives_the_time_back,
    a_server_in_time_reaches_no_limit,
    limits_of_three_servers_nest,
    limited_time_is_lent_only_within_limits,
    hostile_clients_never_time_a_server_out,
];

/// The budget that the kernel requires in addition to the threshold: twice its worst case.
const KERNEL: u64 = 20;
/// A period longer than any test.
const NEVER: Microseconds = ms(1_000_000);

fn threshold(test: &Test, endpoint: Endpoint, time: Microseconds, flags: usize) -> userlib::Result {
    test.slot(endpoint).set_endpoint_threshold(time, flags)
}

/// The label of the answer to a call.
fn call(endpoint: Endpoint) -> usize {
    endpoint.call(Message::empty(0)).label()
}

/// A passive server that notes `s`, works for a while and answers with label 0.
fn serve(test: &mut Test, time: Microseconds) -> Outcome<(Endpoint, Thread)> {
    let endpoint: Endpoint = test.create()?;
    let reply: Reply = test.create()?;
    let startup = test.startup;
    let server = test.spawn_passive(ABOVE, move || {
        endpoint.recv(reply);
        loop {
            note('s');
            work(startup, time);
            endpoint.reply_recv(Message::empty(0), reply);
        }
    })?;
    Ok((endpoint, server))
}

fn a_caller_with_enough_budget_is_served(test: &mut Test) -> Outcome {
    let (endpoint, _) = serve(test, ms(1))?;
    threshold(test, endpoint, ms(5), 0)?;
    let budget = SchedParameters::new(ms(30), NEVER);
    let client = test.timed(ABOVE, budget, move || {
        check_eq!(call(endpoint), 0);
        note('c');
    })?;
    client.start()?;
    check_eq!(noted(), "sc");
    Ok(())
}

fn a_deferred_caller_is_served_later_without_timeout(test: &mut Test) -> Outcome {
    let (endpoint, _) = serve(test, ms(1))?;
    let timeouts: Endpoint = test.create()?;
    let reply: Reply = test.create()?;
    threshold(test, endpoint, ms(10), 0)?;
    let startup = test.startup;
    let budget = SchedParameters::new(ms(20), ms(60));
    let client = test.timed(ABOVE, budget, move || {
        work(startup, ms(15));
        note('d');
        check_eq!(call(endpoint), 0);
        note('c');
    })?;
    client.tcb.set_timeout_endpoint(timeouts)?;
    client.start()?;
    check_eq!(noted(), "d");
    test.sleep(ms(30))?;
    check_eq!(noted(), "d");
    test.sleep(ms(40))?;
    check_eq!(noted(), "dsc");
    check!(timeouts.nb_recv(reply).is_none());
    Ok(())
}

fn a_budget_that_can_never_suffice_is_refused(test: &mut Test) -> Outcome {
    let (endpoint, _) = serve(test, ms(1))?;
    threshold(test, endpoint, ms(30), 0)?;
    let client = test.timed(ABOVE, SchedParameters::new(ms(30), NEVER), move || {
        let answer = endpoint.call(Message::empty(0));
        check_eq!(answer.label(), ErrorCode::BudgetTooSmall as usize);
        check_eq!(answer.length(), 2);
        check_eq!(answer.word(0), 30_000 + KERNEL as usize);
        check_eq!(answer.word(1), 30_000);
        note('e');
    })?;
    client.start()?;
    check_eq!(noted(), "e");
    Ok(())
}

fn a_whole_budget_of_exactly_what_is_needed_is_enough(test: &mut Test) -> Outcome {
    let (endpoint, _) = serve(test, ms(1))?;
    threshold(test, endpoint, ms(10), 0)?;
    let budget = SchedParameters::new(Microseconds(10_000 + KERNEL), ms(20));
    let client = test.timed(ABOVE, budget, move || {
        for _ in 0..3 {
            check_eq!(call(endpoint), 0);
            note('c');
        }
    })?;
    client.start()?;
    test.sleep(ms(100))?;
    check_eq!(noted(), "scscsc");
    Ok(())
}

fn a_sender_that_does_not_donate_is_refused(test: &mut Test) -> Outcome {
    for (time, flags) in [(ms(1), 0), (ms(0), DONATION_REQUIRED)] {
        let (endpoint, _) = serve(test, ms(0))?;
        threshold(test, endpoint, time, flags)?;
        // A send does not block, whether or not a receiver waits.
        endpoint.send(Message::empty(0));
        endpoint.nb_send(Message::empty(0));
        test.let_others_run()?;
        check_eq!(noted(), "");
        check_eq!(call(endpoint), 0);
        check_eq!(noted(), "s");
        crate::support::events::forget();
        let empty: Endpoint = test.create()?;
        threshold(test, empty, time, flags)?;
        empty.send(Message::empty(0));
    }
    Ok(())
}

fn what_does_not_wait_is_dropped(test: &mut Test) -> Outcome {
    let (endpoint, _) = serve(test, ms(0))?;
    threshold(test, endpoint, ms(10), 0)?;
    let own: Notification = test.create()?;
    let startup = test.startup;
    for (budget, arrives) in [(ms(20), "s"), (ms(14), "")] {
        let time = SchedParameters::new(budget, NEVER);
        let sender = test.timed(ABOVE, time, move || {
            work(startup, ms(5));
            syscall::nb_send_wait(endpoint.cptr(), Message::empty(0), own.cptr());
        })?;
        sender.start()?;
        check_eq!(noted(), arrives);
        crate::support::events::forget();
        sender.tcb.suspend()?;
    }
    Ok(())
}

fn queued_senders_stay(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let reply: Reply = test.create()?;
    test.spawn(ABOVE, move || {
        check_eq!(call(endpoint), 7);
        note('c');
    })?;
    threshold(test, endpoint, ms(1_000), 0)?;
    check!(endpoint.recv(reply).message.is_some());
    reply.send(Message::empty(7));
    check_eq!(noted(), "c");
    Ok(())
}

fn a_threshold_is_taken_back(test: &mut Test) -> Outcome {
    let (endpoint, _) = serve(test, ms(0))?;
    threshold(test, endpoint, ms(1_000), 0)?;
    check_eq!(call(endpoint), ErrorCode::BudgetTooSmall as usize);
    threshold(test, endpoint, ms(0), 0)?;
    check_eq!(call(endpoint), 0);
    check_eq!(noted(), "s");
    Ok(())
}

fn the_deferred_find_the_endpoint_gone(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    threshold(test, endpoint, ms(10), 0)?;
    let startup = test.startup;
    let budget = SchedParameters::new(ms(12), ms(40));
    let client = test.timed(ABOVE, budget, move || {
        work(startup, ms(5));
        check_eq!(call(endpoint), ErrorCode::InvalidCapability as usize);
        note('g');
    })?;
    client.start()?;
    test.delete(endpoint)?;
    test.sleep(ms(60))?;
    check_eq!(noted(), "g");
    Ok(())
}

fn the_deferred_may_lose_their_capability(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let badged = test.badge(endpoint, 5)?;
    threshold(test, endpoint, ms(10), 0)?;
    let startup = test.startup;
    let budget = SchedParameters::new(ms(12), ms(40));
    let client = test.timed(ABOVE, budget, move || {
        work(startup, ms(5));
        note('d');
        check_eq!(call(badged), ErrorCode::InvalidCapability as usize);
        note('g');
    })?;
    client.start()?;
    check_eq!(noted(), "d");
    test.slot(endpoint).revoke()?;
    test.sleep(ms(60))?;
    check_eq!(noted(), "dg");
    Ok(())
}

fn a_context_reconfigured_during_a_deferral_is_asked_again(test: &mut Test) -> Outcome {
    let (endpoint, _) = serve(test, ms(1))?;
    threshold(test, endpoint, ms(10), 0)?;
    let startup = test.startup;
    let client = test.passive(ABOVE, move || {
        work(startup, ms(5));
        note('d');
        check_eq!(call(endpoint), ErrorCode::BudgetTooSmall as usize);
        note('r');
    })?;
    let time = test.create_sched_context(&SchedParameters::new(ms(12), ms(40)))?;
    time.bind(client.tcb)?;
    client.start()?;
    check_eq!(noted(), "d");
    // With this budget the check can never pass.
    let less = SchedParameters::new(ms(8), ms(30));
    test.sched_control.configure(time, &less)?;
    test.sleep(ms(120))?;
    check_eq!(noted(), "dr");
    Ok(())
}

fn only_the_original_sets_a_threshold(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let notification: Notification = test.create()?;
    let copy = test.copy(endpoint)?;
    let badged = test.badge(endpoint, 5)?;
    let weak = test.restrict(endpoint, Rights::WRITE)?;
    for other in [copy.0, badged.0, weak.0, notification.0] {
        let result = threshold(test, Endpoint(other), ms(1), 0);
        check_eq!(result, Err(Error::IllegalOperation));
    }
    check_eq!(threshold(test, endpoint, ms(1), 0), Ok(()));
    Ok(())
}

fn bad_thresholds_are_refused(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    // A time value takes as many words as hold 64 bits.
    let flags_word = 2 + 64 / WORD_BITS;
    for flags in [8, usize::MAX] {
        let result = threshold(test, endpoint, ms(1), flags);
        check_eq!(result, Err(Error::InvalidArgument(flags_word)));
    }
    let too_long = threshold(test, endpoint, Microseconds(u64::MAX), 0);
    check!(matches!(too_long, Err(Error::Range { minimum: 0, .. })));
    let no_limit = threshold(test, endpoint, ms(0), LIMIT);
    check!(matches!(no_limit, Err(Error::Range { minimum: 1, .. })));
    let slot = test.slot(endpoint);
    let label = Method::CNodeEndpointSetThreshold.number();
    let short = invoke(slot.root.0, label, &[slot.index, slot.depth, 1], &[]);
    check_eq!(short.map(drop), Err(Error::TruncatedMessage));
    // The threshold has not changed.
    endpoint.nb_send(Message::empty(0));
    Ok(())
}

fn the_receiver_learns_what_was_lent(test: &mut Test) -> Outcome {
    static LENT: AtomicUsize = AtomicUsize::new(0);
    let endpoint: Endpoint = test.create()?;
    let reply: Reply = test.create()?;
    threshold(test, endpoint, ms(1), TELL_BUDGET)?;
    test.spawn_passive(ABOVE, move || {
        let mut received = endpoint.recv(reply);
        loop {
            let message = received.message.unwrap_or(Message::empty(0));
            check_eq!(message.length(), 1);
            check_eq!(message.word(0), 9);
            LENT.store((message.lent_time().0 / 1_000) as usize, Relaxed);
            received = endpoint.reply_recv(Message::empty(0), reply);
        }
    })?;
    // Two hours are more microseconds than 32 bits can hold.
    for milliseconds in [50, 7_200_000] {
        let budget = SchedParameters::new(ms(milliseconds), ms(8_000_000));
        let client = test.timed(BELOW, budget, move || {
            endpoint.call(Message::new(0, &[9]));
        })?;
        client.start()?;
        test.let_others_run()?;
        let (lent, all) = (LENT.load(Relaxed), milliseconds as usize);
        check!(lent > all - 10 && lent <= all);
    }
    Ok(())
}

/// Nested servers, each with its own limit: all but the last call the next one and then continue; the last
/// continues at once. The handler of their timeouts notes `t`.
fn chain(test: &mut Test, limits: &[Microseconds]) -> Outcome<Endpoint> {
    let timeouts: Endpoint = test.create()?;
    let handler_reply: Reply = test.create()?;
    test.spawn(ABOVE + 1, move || {
        loop {
            let received = timeouts.recv(handler_reply);
            let message = received.message.unwrap_or(Message::empty(0));
            check!(matches!(
                Fault::from_message(&message),
                Fault::Timeout { badge: 77, .. }
            ));
            note('t');
        }
    })?;
    let mut next: Option<Endpoint> = None;
    for limit in limits.iter().rev() {
        let endpoint: Endpoint = test.create()?;
        let reply: Reply = test.create()?;
        let inner = next.replace(endpoint);
        let server = test.spawn_passive(ABOVE, move || {
            endpoint.recv(reply);
            if let Some(inner) = inner {
                let answer = call(inner);
                note(if answer == ErrorCode::LimitReached as usize {
                    'l'
                } else {
                    'x'
                });
            }
            loop {
                relax();
            }
        })?;
        server.tcb.set_timeout_endpoint(timeouts)?;
        threshold(test, endpoint, *limit, LIMIT)?;
    }
    Ok(next.unwrap_or(timeouts))
}

fn a_limit_gives_the_time_back(test: &mut Test) -> Outcome {
    let endpoint = chain(test, &[ms(5)])?;
    let startup = test.startup;
    let budget = SchedParameters::new(ms(100), NEVER).with_badge(77);
    let client = test.timed(ABOVE, budget, move || {
        let clock = Clock::from_startup(startup);
        let start = clock.now();
        check_eq!(call(endpoint), ErrorCode::LimitReached as usize);
        let passed = clock.now() - start;
        check!(passed >= ms(5) && passed < ms(8));
        note('c');
    })?;
    client.start()?;
    test.let_others_run()?;
    check_eq!(noted(), "tc");
    Ok(())
}

fn a_server_in_time_reaches_no_limit(test: &mut Test) -> Outcome {
    let (endpoint, _) = serve(test, ms(3))?;
    threshold(test, endpoint, ms(5), LIMIT)?;
    let startup = test.startup;
    let client = test.timed(ABOVE, SchedParameters::new(ms(100), NEVER), move || {
        for _ in 0..3 {
            check_eq!(call(endpoint), 0);
            work(startup, ms(6));
            note('c');
        }
    })?;
    client.start()?;
    test.let_others_run()?;
    check_eq!(noted(), "scscsc");
    Ok(())
}

fn limits_of_three_servers_nest(test: &mut Test) -> Outcome {
    let endpoint = chain(test, &[ms(30), ms(20), ms(10)])?;
    let startup = test.startup;
    let budget = SchedParameters::new(ms(200), NEVER).with_badge(77);
    let client = test.timed(ABOVE, budget, move || {
        let clock = Clock::from_startup(startup);
        let start = clock.now();
        check_eq!(call(endpoint), ErrorCode::LimitReached as usize);
        let passed = clock.now() - start;
        check!(passed >= ms(30) && passed < ms(33));
        note('c');
    })?;
    client.start()?;
    test.let_others_run()?;
    // The innermost limit ends first; each outer server gets the error, and uses up its own limit.
    check_eq!(noted(), "tltltc");
    Ok(())
}

fn limited_time_is_lent_only_within_limits(test: &mut Test) -> Outcome {
    let (free, _) = serve(test, ms(0))?;
    let endpoint: Endpoint = test.create()?;
    let reply: Reply = test.create()?;
    test.spawn_passive(ABOVE, move || {
        endpoint.recv(reply);
        check_eq!(call(free), ErrorCode::IllegalOperation as usize);
        reply.send(Message::empty(4));
    })?;
    threshold(test, endpoint, ms(5), LIMIT)?;
    let client = test.timed(ABOVE, SchedParameters::new(ms(100), NEVER), move || {
        check_eq!(call(endpoint), 4);
        note('c');
    })?;
    client.start()?;
    test.let_others_run()?;
    check_eq!(noted(), "c");
    Ok(())
}

/// Clients with various budgets, none of which fits the server's work, call as fast as they can.
fn hostile_clients_never_time_a_server_out(test: &mut Test) -> Outcome {
    static SERVED: AtomicUsize = AtomicUsize::new(0);
    const WORK: Microseconds = ms(2);
    // The time in the kernel counts as well: from the delivery of the call to that of the reply.
    const THRESHOLD: Microseconds = Microseconds(2_100);
    let endpoint: Endpoint = test.create()?;
    let (reply, timeouts): (Reply, Endpoint) = (test.create()?, test.create()?);
    let startup = test.startup;
    let server = test.spawn_passive(ABOVE, move || {
        endpoint.recv(reply);
        loop {
            work(startup, WORK);
            SERVED.fetch_add(1, Relaxed);
            endpoint.reply_recv(Message::empty(0), reply);
        }
    })?;
    server.tcb.set_timeout_endpoint(timeouts)?;
    threshold(test, endpoint, THRESHOLD, 0)?;
    let mut clients = [None; 6];
    for (index, (budget, period)) in [
        (2_120, 9_000),
        (2_500, 7_000),
        (3_999, 11_000),
        (4_300, 10_000),
        (9_000, 9_000),
        (2_000, 5_000),
    ]
    .into_iter()
    .enumerate()
    {
        let time = SchedParameters::new(Microseconds(budget), Microseconds(period));
        let time = if index % 2 == 0 {
            time.with_extra_refills(index)
        } else {
            time
        };
        let priority = BELOW - index as u8;
        let client = test.timed(priority, time, move || {
            loop {
                call(endpoint);
            }
        })?;
        client.start()?;
        clients[index] = Some(client);
    }
    test.sleep(ms(300))?;
    for client in clients.into_iter().flatten() {
        client.tcb.suspend()?;
    }
    let other: Reply = test.create()?;
    check!(timeouts.nb_recv(other).is_none());
    check!(SERVED.load(Relaxed) > 30);
    Ok(())
}
