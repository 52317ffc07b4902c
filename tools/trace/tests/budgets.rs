//! Budgets in traces: which contexts had which, and how soon they were used up.

mod common;

use common::{read, simulated};
use simulator::{Microseconds, Setup, work};
use trace::{configured, used_budgets};
use userlib::cap::{Endpoint, Reply, SchedParameters};
use userlib::{Message, syscall};

/// A thread that always has something to do, with 2 ms in each 10, below one that takes 4 of each 7; and one that waits for
/// its next period before its budget is used up.
fn busy(setup: &mut Setup) {
    let ms = Microseconds::from_millis;
    for (name, priority, budget, period) in [("above", 20, 4, 7), ("below", 10, 2, 10)] {
        let time = SchedParameters::new(ms(budget), ms(period)).sporadic();
        setup.thread(name, priority).time(time).run(|| {
            loop {
                work(Microseconds(100));
            }
        });
    }
    let time = SchedParameters::new(ms(2), ms(10)).sporadic();
    setup.thread("idle", 5).time(time).repeat(|| {
        work(Microseconds(100));
        syscall::yield_now();
    });
}

/// By hand: the lower thread has its budget at 4, 14, 24 ms and so on, and 4 ms of interference at most before 2 ms of its
/// own are used.
#[test]
fn budgets_that_are_used_up_have_response_times() {
    let trace = read(&simulated(busy, 200_000, 100_000));
    let found = used_budgets(&trace);
    let names: Vec<_> = found.iter().map(|one| &*one.thread).collect();
    assert_eq!(names, ["above", "below"], "{found:?}");
    let longest = |place: usize| {
        let responses = found[place].responses.iter();
        let longest = responses.map(|(due, used)| used - due).max();
        trace.microseconds(longest.unwrap_or(0))
    };
    assert!((3_990.0..4_050.0).contains(&longest(0)), "{}", longest(0));
    assert!((5_900.0..6_100.0).contains(&longest(1)), "{}", longest(1));
    let count = |place: usize| found[place].responses.len();
    assert!(count(0) >= 27 && count(1) >= 18, "{found:?}");
}

/// The threads of the example `modes`: for 200 ms, the upper one has more than planned.
fn changing(setup: &mut Setup) {
    let ms = Microseconds::from_millis;
    let planned =
        move |(budget, period)| SchedParameters::new(ms(budget), ms(period)).with_extra_refills(8);
    let mut computing = |name, priority, time| {
        let thread = setup.thread(name, priority).time(planned(time));
        thread.repeat(|| work(Microseconds(100))).sched_context
    };
    let display = computing("display", 120, (4, 10));
    computing("brake", 100, (20, 50));
    let control = setup.sched_controls[0];
    let changes = setup.thread("changes", 255).time(planned((5, 200)));
    changes.run(move || {
        for budget in [9, 4] {
            syscall::yield_now();
            let time = planned((budget, 10));
            control.configure(display, &time).expect("it is valid");
        }
    });
}

#[test]
fn budgets_that_change_are_told_with_their_times() {
    let trace = read(&simulated(changing, 600_000, 100_000));
    let ms = |ticks| trace.microseconds(ticks) / 1000.0;
    let found = configured(&trace).into_iter();
    let found: Vec<_> = found
        .map(|one| {
            let [time, budget, period] = [one.time, one.budget, one.period].map(ms);
            (one.thread, time.round(), (budget, period))
        })
        .collect();
    let of = |name: &str| {
        let own = found.iter().filter(|(thread, ..)| thread == name);
        own.map(|&(_, time, parameters)| (time, parameters))
            .collect::<Vec<_>>()
    };
    let display = [
        (0.0, (4.0, 10.0)),
        (200.0, (9.0, 10.0)),
        (400.0, (4.0, 10.0)),
    ];
    assert_eq!(of("display"), display);
    assert_eq!(of("brake"), [(0.0, (20.0, 50.0))]);
    assert_eq!(of("changes"), [(0.0, (5.0, 200.0))]);
    // What the upper one has more makes the lower one late.
    let used = used_budgets(&trace);
    let of = |name: &str| -> Vec<_> {
        let one = used.iter().find(|one| one.thread == name);
        let responses = one.into_iter().flat_map(|one| &one.responses);
        responses.map(|&(due, used)| (ms(due), ms(used))).collect()
    };
    let planned: Vec<_> = (of("display").into_iter())
        .filter(|(_, used)| *used < 200.0)
        .collect();
    assert!(
        planned.len() >= 18 && planned.iter().all(|(due, used)| used - due < 4.1),
        "{planned:?}"
    );
    let late = of("brake")
        .into_iter()
        .find(|(due, used)| used - due > 50.0);
    assert!(late.is_some_and(|(due, _)| due > 200.0), "{late:?}");
}

/// A client that asks a server with time of its own.
fn waiting(setup: &mut Setup) {
    let ms = Microseconds::from_millis;
    let endpoint: Endpoint = setup.create();
    let reply: Reply = setup.create();
    let time = SchedParameters::new(ms(9), ms(10)).sporadic();
    setup.thread("server", 5).time(time).run(move || {
        let mut received = endpoint.recv(reply);
        while received.message.is_some() {
            work(Microseconds(500));
            received = endpoint.reply_recv(Message::empty(0), reply);
        }
    });
    let time = SchedParameters::new(ms(2), ms(10)).sporadic();
    setup.thread("client", 10).time(time).run(move || {
        loop {
            work(Microseconds(1_500));
            endpoint.call(Message::empty(0));
        }
    });
}

/// The client does not use its budget while it waits, so nothing is said of its budgets.
#[test]
fn waiting_for_a_server_with_time_of_its_own_is_no_use_of_a_budget() {
    let trace = read(&simulated(waiting, 200_000, 100_000));
    let found = used_budgets(&trace);
    assert!(found.iter().all(|one| one.thread != "client"), "{found:?}");
}
