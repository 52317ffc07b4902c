//! Kernels that are broken deliberately, as those of `tests/kernel-host/tests/suite/violations.rs` are, in the simulator:
//! the rules for traces must notice those that break what a trace shows.
//!
//! The state is changed between two kernel entries. The kernel's own invariant checks would end the run at the next
//! entry, so they are ignored; if the kernel panics later, the trace up to there is checked as after any panic.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ::trace::{Trace, check};
use abi::sizes::{REFILL_BYTES, SCHED_CONTEXT_HEADER_BYTES};
use host_machine::arch::Host;
use kernel::Kernel;
use kernel::budget::Refill;
use kernel::object::{Above, SchedContext, Thread, ThreadState};
use kernel::time::Ticks;
use kernel::token::Ptr;
use simulator::{Microseconds, Options, Setup, Simulation, work};
use userlib::cap::{Endpoint, Notification, Reply, SchedParameters};
use userlib::{Message, server, syscall, trace};

/// Two threads with budgets; at 42.5 ms the one with the lower priority runs, and the other one waits for its
/// replenishment at 50 ms. At 41.5 ms it is the other way round: the one with the lower priority is ready.
fn scenario(setup: &mut Setup) {
    for (name, priority, budget) in [("high", 20, 2_000), ("low", 10, 6_000)] {
        let time = SchedParameters::new(Microseconds(budget), Microseconds(10_000));
        setup.thread(name, priority).time(time).run(|| {
            for number in 0.. {
                work(Microseconds(700));
                trace::number(0, number);
            }
        });
    }
}

/// A thread that is lent a context by a notification, a passive server, and a client; at 35.5 ms the server works, and at 33.5 ms
/// the borrower.
fn lending(setup: &mut Setup) {
    let time = |budget| SchedParameters::new(Microseconds(budget), Microseconds(10_000));
    let (endpoint, reply): (Endpoint, Reply) = (setup.create(), setup.create());
    let notification: Notification = setup.create();
    let borrower = setup.thread("borrower", 40).time(time(2_000)).passive();
    let borrower = borrower.run(move || {
        loop {
            notification.wait();
            work(Microseconds(1_000));
        }
    });
    // Its context is lent by a notification that the client signals.
    let (tcb, lent) = (borrower.tcb, borrower.sched_context);
    lent.unbind().expect("it is bound");
    tcb.unbind_notification().expect("it has one");
    tcb.bind_notification(notification)
        .expect("neither is bound");
    lent.bind_notification(notification)
        .expect("neither is bound");
    setup.thread("server", 30).passive().run(move || {
        server::serve(endpoint, reply, |_| {
            work(Microseconds(2_000));
            Message::empty(0)
        })
    });
    setup
        .thread("client", 20)
        .time(time(5_000))
        .repeat(move || {
            notification.signal();
            work(Microseconds(300));
            endpoint.call(Message::empty(0));
            syscall::yield_now();
        });
}

type Threads<'t> = &'t [Ptr<Thread<Host>>];

/// The complaints about the trace of a kernel that is changed at a time, in microseconds.
fn complaints(
    scenario: fn(&mut Setup),
    time: u64,
    change: fn(&mut Kernel<Host>, Threads<'_>),
) -> Vec<String> {
    let options = Options {
        trace: 100_000,
        ..Options::default()
    };
    let mut simulation = Simulation::new(scenario, options);
    simulation.run_until(time);
    simulation.tamper(change);
    let rest = catch_unwind(AssertUnwindSafe(|| simulation.run_until(70_000)));
    let file = simulation.trace().expect("it is traced");
    drop(rest);
    let (trace, damage) = Trace::read(&file.to_bytes()).unwrap();
    assert_eq!(damage, [""; 0]);
    let complaints = check(&trace).into_iter();
    complaints.map(|complaint| complaint.text).collect()
}

/// What is changed: the invariant that it breaks, a time in microseconds, the change, and the rule that complains.
type Broken = (
    &'static str,
    u64,
    fn(&mut Kernel<Host>, Threads<'_>),
    &'static str,
);

/// Writes a replenishment of a context that has a single one at first: the amount is the total of all up to it.
fn write_refill(context: &SchedContext<Host>, index: usize, time: u64, amount: u64) {
    let header = SCHED_CONTEXT_HEADER_BYTES.next_multiple_of(REFILL_BYTES);
    let address = core::ptr::from_ref(context).addr() + header + index * REFILL_BYTES;
    let place = core::ptr::with_exposed_provenance_mut::<Refill>(address);
    let [time, amount] = [time, amount].map(Ticks);
    // SAFETY: the replenishments follow the header, and the kernel does not run.
    unsafe { place.write(Refill { time, amount }) };
}

/// The context of the thread with the lower priority.
fn of_low<'k>(kernel: &'k mut Kernel<Host>, threads: Threads<'_>) -> &'k mut SchedContext<Host> {
    let context = kernel[threads[1]].sched_context.expect("it has one");
    &mut kernel[context]
}

const BROKEN: [Broken; 14] = [
    (
        "the current scheduling context is that of the current thread",
        42_500,
        |kernel, _| kernel.core.current_context = None,
        "the context of low was used for 6538 ticks, and charged 6000",
    ),
    (
        "the current thread has budget",
        42_500,
        |kernel, threads| {
            let context = kernel[threads[1]].sched_context.unwrap();
            kernel[context].unconfigure();
        },
        "core 0 idles, and low could run",
    ),
    (
        "a core idles only when no thread is ready or due",
        42_500,
        |kernel, _| (kernel.core.current, kernel.core.current_context) = (None, None),
        "core 0 idles, and low could run",
    ),
    (
        "no higher-priority thread than the current one is ready",
        41_500,
        |kernel, threads| {
            kernel.core.current = Some(threads[1]);
            kernel.core.current_context = kernel[threads[1]].sched_context;
        },
        "low runs, and high could and has a higher priority",
    ),
    (
        "a ready thread is runnable and has budget",
        41_500,
        |kernel, threads| {
            kernel.core.current = Some(threads[1]);
            kernel.core.current_context = kernel[threads[1]].sched_context;
        },
        "the context of low is used before its replenishment",
    ),
    (
        "the timer is programmed for the first event that can change the current thread",
        42_500,
        |kernel, _| kernel.core.now += Ticks(100),
        "the context of low supplies 6100 ticks within a period, and its budget is 6000",
    ),
    (
        "the replenishments add up to the budget",
        42_500,
        |kernel, threads| {
            let context = kernel[threads[1]].sched_context.unwrap();
            kernel[context].budget = Ticks(7_000);
        },
        "a replenishment of the context of low has 6001 ticks, and its budget 6000",
    ),
    (
        "replenishments are in order and do not overlap",
        42_500,
        |kernel, threads| {
            let context = of_low(kernel, threads);
            context.charge(Ticks(1_000), Ticks(20));
            let total = context.total_consumed() + 6_000;
            write_refill(context, 1, 43_000, total);
        },
        "a replenishment of the context of low comes 4004 ticks sooner than a period after its use",
    ),
    (
        "the head replenishment holds the smallest budget",
        42_500,
        |kernel, threads| {
            let context = of_low(kernel, threads);
            context.budget = Ticks(1);
            write_refill(context, 0, 0, 1);
        },
        "a replenishment of the context of low has 36000 ticks, and its budget 6000",
    ),
    (
        "a thread waits in the release queue for its next replenishment",
        42_500,
        |kernel, threads| {
            let context = kernel[threads[0]].sched_context.unwrap();
            let now = kernel.core.now;
            kernel[context].start(2, now, Ticks(100), Ticks(100_000));
        },
        "a replenishment of the context of high has 100 ticks, with which they do not add up to the budget",
    ),
    (
        "a timeslice has a remaining and a used part",
        42_500,
        |kernel, threads| of_low(kernel, threads).period = Ticks::ZERO,
        "a replenishment of the context of low has 0 ticks, with which they do not add up to the budget",
    ),
    (
        "a configured context has replenishments, no more than it may",
        42_500,
        |kernel, threads| {
            let context = of_low(kernel, threads);
            context.unconfigure();
            context.budget = Ticks(100);
        },
        "a replenishment of the context of low has 100 ticks, with which they do not add up to the budget",
    ),
    // No rule for the state can know these.
    (
        "time that was used is charged",
        45_000,
        |kernel, _| kernel.core.consumed = Ticks::ZERO,
        "the context of low supplies 8001 ticks within a period, and its budget is 6000",
    ),
    (
        "time is charged that was used",
        42_500,
        |kernel, threads| {
            let context = kernel[threads[1]].sched_context.unwrap();
            kernel[context].charge(Ticks(100), Ticks(20));
        },
        "the kernel says that the context of low has consumed 39363 ticks, and the events say 39263",
    ),
];

/// The same in the other scenario.
const BROKEN_LENDING: [Broken; 2] = [
    (
        "the top of a call chain knows its context",
        35_500,
        |kernel, threads| {
            let ThreadState::BlockedOnReply { reply } = kernel[threads[2]].state else {
                panic!("the client waits for the reply");
            };
            kernel[reply].above = Above::None;
        },
        "the call of client is answered, and the context of client has not come back",
    ),
    (
        "the notification of a scheduling context knows the context",
        33_500,
        |kernel, threads| {
            let context = kernel[threads[0]].sched_context.expect("it is lent");
            let lender = kernel[context].notification.expect("it lends it");
            kernel[lender].sched_context = None;
        },
        "borrower waits for the notification that has lent it the context of borrower, and keeps it",
    ),
];

#[test]
fn rules_notice_what_a_trace_shows() {
    assert_eq!(complaints(scenario, 42_500, |_, _| {}), [""; 0]);
    assert_eq!(complaints(lending, 42_500, |_, _| {}), [""; 0]);
    let broken = BROKEN.map(|broken| (scenario as fn(&mut Setup), broken));
    let lending = BROKEN_LENDING.map(|broken| (lending as fn(&mut Setup), broken));
    let mut missed = Vec::new();
    for (scenario, (invariant, time, change, expected)) in broken.into_iter().chain(lending) {
        let found = complaints(scenario, time, change);
        if !found.iter().any(|complaint| complaint == expected) {
            missed.push((invariant, found));
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

/// The book says of each invariant whether a trace shows that it is broken. Here are all that it does show.
#[test]
fn the_book_has_all_broken_kernels() {
    let page = include_str!("../../docs/src/traces.md");
    let (_, page) = page
        .split_once("## Broken kernels")
        .expect("the page has such a part");
    let sources = [
        include_str!("../../tests/kernel-host/tests/suite/violations.rs"),
        include_str!("../../tests/kernel-host/tests/suite/violations/slots.rs"),
    ];
    let mut count = 0;
    for source in sources {
        for call in source.split("caught(").skip(1) {
            let Some(invariant) = call.trim_start().strip_prefix('"') else {
                continue;
            };
            let (invariant, _) = invariant.split_once('"').expect("a text ends");
            assert!(page.contains(&format!("| {invariant} |")), "{invariant}");
            count += 1;
        }
    }
    assert!(count > 50, "{count}");
    for (invariant, ..) in BROKEN.into_iter().chain(BROKEN_LENDING) {
        let row = page
            .lines()
            .find(|row| row.contains(&format!("| {invariant} |")));
        assert!(
            row.is_some_and(|row| !row.contains("| no |")),
            "{invariant}"
        );
    }
}
