//! The analyses against the crate `response-time-analysis`. Apart from their other tests, because the libraries of
//! that crate take long to compile.

use response_time_analysis::arrival::{Curve, Sporadic};
use response_time_analysis::demand::RBF;
use response_time_analysis::fixed_point::SearchFailure;
use response_time_analysis::fixed_priority as other_fixed;
use response_time_analysis::time::{Duration, Service};
use response_time_analysis::wcet::Scalar;
use schedulability::fixed::{Interference, response_time};
use schedulability::generate::Generator;
use schedulability::model::{Parameters, Task};
use schedulability::supply::Processor;
use schedulability::{Error, Time};

fn ns(time: i128) -> Time {
    Time::from_nanos(time as u64)
}

/// A random number from `low` to `high`.
fn between(random: &mut Generator, low: i128, high: i128) -> i128 {
    low + random.below((high - low + 1) as u64) as i128
}

/// Four tasks with periods up to 60 ns, and deadlines not above their periods.
fn tasks(random: &mut Generator) -> Vec<Task> {
    let one = |_| {
        let period = between(random, 2, 60);
        let cost = between(random, 1, (period / 2).max(1));
        let mut parameters = Parameters::new(format!("{cost}/{period}"), ns(cost), ns(period));
        parameters.deadline = ns(between(random, cost.max(period / 2), period));
        Task::new(parameters).unwrap()
    };
    (0..4).map(one).collect()
}

/// Our bound of a task, if there is one.
fn bound(tasks: &[Task], place: usize) -> Option<i128> {
    let others: Vec<_> = tasks[..place].iter().map(Interference::of).collect();
    match response_time(&tasks[place], &others, Time::ZERO, &Processor) {
        Ok(found) => Some(found.value.bound.nanos()),
        Err(Error::Overload { .. } | Error::NotFound { .. }) => None,
        Err(error) => panic!("{error}"),
    }
}

fn other(task: &Task) -> RBF<Sporadic, Scalar> {
    let [cost, period] = [task.cost(), task.period()].map(|time| time.nanos() as u64);
    let arrivals = Sporadic::new_zero_jitter(Duration::from(period));
    RBF::new(arrivals, Scalar::new(Service::from(cost)))
}

fn other_bursts(task: &Task) -> RBF<Curve, Scalar> {
    let Parameters { period, bursts, .. } = task.parameters();
    let windows = [std::slice::from_ref(period), bursts].concat();
    let windows = windows
        .iter()
        .map(|window| Duration::from(window.nanos() as u64));
    let cost = task.cost().nanos() as u64;
    RBF::new(
        Curve::new(windows.collect()),
        Scalar::new(Service::from(cost)),
    )
}

/// Up to four jobs in a row, at random distances.
fn with_bursts(random: &mut Generator, task: &Task) -> Task {
    let mut parameters = task.parameters().clone();
    let jobs = between(random, 1, 4);
    let longest = parameters.period.nanos() * 2;
    let mut gaps: Vec<_> = (0..jobs).map(|_| between(random, 1, longest)).collect();
    // Distances grow within a burst, so that windows are consistent with each other.
    gaps.sort_unstable();
    let mut last = 0;
    let mut windows: Vec<_> = (gaps.into_iter())
        .map(|gap| {
            last += gap;
            ns(last)
        })
        .collect();
    parameters.period = windows.remove(0);
    parameters.bursts = windows;
    Task::new(parameters).unwrap()
}

#[test]
fn bounds_of_bursts_are_those_of_the_crate() {
    let mut random = Generator::new(61);
    let mut compared = 0;
    for _ in 0..500 {
        let tasks = tasks(&mut random);
        let tasks: Vec<_> = tasks
            .iter()
            .map(|task| with_bursts(&mut random, task))
            .collect();
        let others: Vec<_> = tasks.iter().map(other_bursts).collect();
        for place in 0..tasks.len() {
            let theirs = other_fixed::fully_preemptive::dedicated_uniproc_rta(
                &others[place],
                &others[..place],
                Duration::from(20_000),
            );
            let ours = bound(&tasks, place);
            assert_eq!(ours, unless_unbounded(theirs), "{tasks:?}");
            compared += usize::from(ours.is_some());
        }
    }
    assert!(compared > 1_000, "{compared}");
}

fn unless_unbounded(found: Result<Duration, SearchFailure>) -> Option<i128> {
    found.ok().map(|bound| i128::from(u64::from(bound)))
}

#[test]
fn bounds_are_those_of_the_crate() {
    let mut random = Generator::new(60);
    let mut compared = 0;
    for _ in 0..1_000 {
        let tasks = tasks(&mut random);
        let others: Vec<_> = tasks.iter().map(other).collect();
        let limit = Duration::from(20_000);
        for place in 0..tasks.len() {
            let theirs = other_fixed::fully_preemptive::dedicated_uniproc_rta(
                &others[place],
                &others[..place],
                limit,
            );
            let ours = bound(&tasks, place);
            assert_eq!(ours, unless_unbounded(theirs), "{tasks:?}");
            compared += usize::from(ours.is_some());
        }
    }
    assert!(compared > 2_000, "{compared}");
}
