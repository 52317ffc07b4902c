//! Another implementation: vectors made by the PyPI package `response-time-analysis`. The crate of that name is
//! compared in `tools/analysis-oracle`.

use std::path::Path;

use schedulability::fixed::{Interference, response_time};
use schedulability::model::{Parameters, Task};
use schedulability::supply::{Processor, Rate, Supply};
use schedulability::{Error, Time, edf};

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
pub fn bounds_of_bursts_are_those_of_the_package() {
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
