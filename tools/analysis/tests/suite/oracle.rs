//! Other implementations: vectors made by the PyPI package `response-time-analysis`, and the crate of that name.

use std::path::Path;

use response_time_analysis::arrival::{Curve, Sporadic};
use response_time_analysis::demand::RBF;
use response_time_analysis::fixed_point::SearchFailure;
use response_time_analysis::fixed_priority as other_fixed;
use response_time_analysis::time::{Duration, Service};
use response_time_analysis::wcet::Scalar;
use schedulability::fixed::{Interference, response_time};
use schedulability::generate::Generator;
use schedulability::model::{Parameters, Task};
use schedulability::supply::{Processor, Rate, Supply};
use schedulability::{Error, Time, edf};

use super::random::{between, constrained};
use super::simulator::ns;

/// What a comparison has covered.
#[derive(Debug, Default)]
struct Count {
    sets: usize,
    equal: usize,
    unbounded: usize,
    jittery: usize,
}

/// Compares each line, as `vectors/make.py` describes it.
fn compare(text: &str) -> Count {
    let mut count = Count::default();
    for line in text.lines() {
        count.sets += 1;
        let mut fields = line.split(" | ");
        let head: Vec<_> = fields.next().unwrap().split(' ').collect();
        let [budget, period, delay] = [1, 2, 3].map(|field| ns(head[field].parse().unwrap()));
        let rate = Rate::new(budget, period, delay).unwrap();
        let supply: &dyn Supply = if delay == Time::ZERO && budget == period {
            &Processor
        } else {
            &rate
        };
        let (tasks, theirs): (Vec<_>, Vec<Option<i128>>) = fields.map(task_and_bound).unzip();
        let ours = match head[0] {
            "fp" => (0..tasks.len())
                .map(|place| fixed(&tasks, place, supply))
                .collect(),
            _ => all_edf(&tasks, supply),
        };
        for ((task, ours), theirs) in tasks.iter().zip(ours).zip(theirs) {
            let Some(theirs) = theirs else {
                count.unbounded += 1;
                // Where the package gives up, the bound is above its horizon, or there is none.
                assert!(ours.is_none_or(|ours| ours > 100_000), "{line}: {ours:?}");
                continue;
            };
            let ours = ours.unwrap_or_else(|| panic!("{line}: no bound of {}", task.name()));
            let jitter = task.jitter().nanos();
            if jitter > 0 {
                // The package counts from the release, this crate from the arrival, which is earlier by the jitter.
                assert!(
                    theirs <= ours && ours <= theirs + jitter,
                    "{line}: {ours} for {theirs}"
                );
                count.jittery += 1;
            } else {
                assert_eq!(ours, theirs, "{line}");
                count.equal += 1;
            }
        }
    }
    count
}

fn task_and_bound(field: &str) -> (Task, Option<i128>) {
    let words: Vec<_> = field.split(' ').collect();
    let [cost, deadline, jitter] = [0, 2, 3].map(|word| ns(words[word].parse().unwrap()));
    let windows = words[1].split('/').map(|word| ns(word.parse().unwrap()));
    let windows: Vec<_> = windows.collect();
    let (period, bursts) = (windows[0], windows[1..].to_vec());
    let task = Task::new(Parameters {
        bursts,
        deadline,
        jitter,
        ..Parameters::new(field, cost, period)
    });
    (task.unwrap(), words[4].parse().ok())
}

fn fixed(tasks: &[Task], place: usize, supply: &dyn Supply) -> Option<i128> {
    let others: Vec<_> = tasks[..place].iter().map(Interference::of).collect();
    bounded(
        response_time(&tasks[place], &others, Time::ZERO, supply).map(|found| found.value.bound),
    )
}

fn all_edf(tasks: &[Task], supply: &dyn Supply) -> Vec<Option<i128>> {
    match edf::response_times(tasks, supply) {
        Ok(found) => {
            // Where no deadline is above its bound, the demand must say the same.
            let late = found
                .value
                .iter()
                .zip(tasks)
                .any(|(bound, task)| *bound > task.deadline());
            let misfit = edf::first_misfit(tasks, &[], supply).unwrap();
            assert!(late || misfit.is_none(), "{tasks:?}");
            found
                .value
                .into_iter()
                .map(|bound| Some(bound.nanos()))
                .collect()
        }
        Err(error) => vec![bounded(Err(error)); tasks.len()],
    }
}

fn bounded(found: Result<Time, Error>) -> Option<i128> {
    match found {
        Ok(bound) => Some(bound.nanos()),
        Err(Error::Overload { .. } | Error::NotFound { .. }) => None,
        Err(error) => panic!("{error}"),
    }
}

#[test]
pub fn bounds_are_those_of_the_package() {
    let count = compare(include_str!("../vectors/vectors.txt"));
    assert_eq!(count.sets, 400);
    assert!(
        count.equal > 500 && count.jittery > 50 && count.unbounded > 50,
        "{count:?}"
    );
}

#[test]
fn bounds_of_bursts_are_those_of_the_package() {
    let count = compare(include_str!("../vectors/bursts.txt"));
    assert_eq!(count.sets, 150);
    assert!(count.equal > 200 && count.jittery == 0, "{count:?}");
}

/// `python make.py 2 20000 > FILE; ORACLE_VECTORS=FILE cargo test -p schedulability -- --ignored --nocapture`
#[test]
#[ignore = "compares a file of any size"]
fn bounds_are_those_of_a_file() {
    let path = std::env::var_os("ORACLE_VECTORS").expect("ORACLE_VECTORS names a file of make.py");
    let text = std::fs::read_to_string(Path::new(&path)).unwrap();
    println!("{:?}", compare(&text));
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
pub fn bounds_of_bursts_are_those_of_the_crate() {
    let mut random = Generator::new(61);
    let mut compared = 0;
    for _ in 0..500 {
        let tasks = constrained(&mut random, 4, 60);
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
            let ours = fixed(&tasks, place, &Processor);
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
        let tasks = constrained(&mut random, 4, 60);
        let others: Vec<_> = tasks.iter().map(other).collect();
        let limit = Duration::from(20_000);
        for place in 0..tasks.len() {
            let theirs = other_fixed::fully_preemptive::dedicated_uniproc_rta(
                &others[place],
                &others[..place],
                limit,
            );
            let ours = fixed(&tasks, place, &Processor);
            assert_eq!(ours, unless_unbounded(theirs), "{tasks:?}");
            compared += usize::from(ours.is_some());
        }
    }
    assert!(compared > 2_000, "{compared}");
}
