//! Which traces have the same events.

mod common;

use common::read;
use simulator::scenarios::find;
use simulator::{Options, Simulation};
use trace::{Comparison, Trace};
use trace_format::{Kind, Mark};

/// What the threads do that do the same on boards, in a kernel whose entries take so many microseconds.
fn traced(kernel_time: u64) -> Trace {
    let options = Options {
        trace: 100_000,
        kernel_time,
        ..Options::default()
    };
    let scenario = find("traced").expect("it exists");
    let mut simulation = Simulation::new(scenario.setup, options);
    simulation.run_until(scenario.duration * 1000);
    read(&simulation.trace().expect("it is traced"))
}

fn compare(one: &Trace, other: &Trace) -> Result<usize, String> {
    let comparison = Comparison {
        traces: [one, other],
        from: Some("begin"),
        to: Some("end"),
    };
    comparison.run()
}

#[test]
fn a_slower_kernel_does_the_same_at_other_times() {
    let (fast, slow) = (traced(1), traced(15));
    let count = compare(&fast, &slow).unwrap();
    assert!(count > 500, "{count}");
    let times =
        |trace: &Trace| -> Vec<_> { trace.events.iter().map(|one| one.event.time).collect() };
    assert_ne!(times(&fast), times(&slow));
}

/// Each change of one event is found, and what it was is said.
#[test]
fn the_first_other_event_is_told() {
    let one = traced(1);
    type Change = (Kind, fn(&mut trace_format::Event), &'static str);
    let changes: [Change; 5] = [
        (
            Kind::Woken,
            |event| event.kind = Kind::Stopped.number(),
            "Stopped",
        ),
        (Kind::Blocked, |event| event.b += 1, "Blocked"),
        (Kind::Exit, |event| event.a = 0, "Exit"),
        (Kind::Timeout, |event| event.b = 7, "badge 7"),
        (Kind::Entry, |event| event.b = 99, "number 99"),
    ];
    for (kind, change, told) in changes {
        let mut other = one.clone();
        let begin = other.events.iter().position(|one| {
            one.event.kind() == Some(Kind::Marked)
                && one.event.a >> 32 == u64::from(Mark::Text.number())
        });
        let later = other
            .events
            .iter_mut()
            .skip(begin.expect("it is marked") + 20);
        let found = later
            .map(|one| &mut one.event)
            .find(|event| event.kind() == Some(kind));
        change(found.expect("there is one"));
        let difference = compare(&one, &other).unwrap_err();
        assert!(difference.contains(told), "{difference}");
    }
}

/// The ABI for 32-bit machines has other numbers for some kinds of capabilities.
#[test]
fn kinds_of_capabilities_may_have_other_numbers() {
    let one = traced(1);
    let mut other = one.clone();
    let invocations = other
        .events
        .iter_mut()
        .map(|one| &mut one.event)
        .filter(|event| event.kind() == Some(Kind::Invocation));
    let mut changed: Vec<_> = invocations.filter(|event| event.a == 22).collect();
    assert!(changed.len() > 1);
    for event in &mut changed {
        event.a = 78;
    }
    assert!(compare(&one, &other).is_ok());
    let mut last = other.events.iter_mut().map(|one| &mut one.event);
    let last = last
        .rfind(|event| event.kind() == Some(Kind::Invocation) && event.a == 78)
        .expect("there are several");
    last.a = 22;
    assert!(compare(&one, &other).is_err());
}

#[test]
fn a_trace_that_ends_early_is_another() {
    let one = traced(1);
    let mut other = one.clone();
    other.events.truncate(other.events.len() - 1);
    let comparison = Comparison {
        traces: [&one, &other],
        from: Some("begin"),
        to: None,
    };
    let difference = comparison.run().unwrap_err();
    assert!(
        difference.ends_with("and missing in the second one"),
        "{difference}"
    );
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let one = traced(1);
    let comparison = Comparison {
        traces: [&one, &one],
        from: Some("start"),
        to: None,
    };
    assert_eq!(
        comparison.run().unwrap_err(),
        "no program has marked `start` in a trace of simulator"
    );
    let mut several = one.clone();
    several.lost.insert(1, trace::Lost::default());
    assert!(
        compare(&one, &several)
            .unwrap_err()
            .contains("several cores")
    );
    let mut gap = one.clone();
    gap.lost.get_mut(&0).expect("it is there").at_the_end = 1;
    assert!(
        compare(&gap, &one)
            .unwrap_err()
            .contains("without all events")
    );
}
