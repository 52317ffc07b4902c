//! The schedules of random task sets are those of an independent simulator, SimSo (`vectors/make.py`).

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Fault;
use super::simulation::Simulation;
use crate::{Arrivals, Cluster, Duration, Instant, LowTasks, Overrun, Task, Unchecked};

const SAMPLE: &str = include_str!("vectors/edf.txt");

struct Set {
    cores: usize,
    duration: u64,
    tasks: Vec<Task>,
    intervals: Vec<Vec<(u64, u64)>>,
}

fn parse(text: &str) -> Vec<Set> {
    let mut sets: Vec<Set> = Vec::new();
    for line in text.lines() {
        let words: Vec<_> = line.split(' ').collect();
        let number = |index: usize| words[index].parse::<u64>().unwrap();
        if words[0] == "set" {
            sets.push(Set {
                cores: number(1) as usize,
                duration: number(2),
                tasks: Vec::new(),
                intervals: Vec::new(),
            });
            continue;
        }
        let set = sets.last_mut().unwrap();
        set.tasks.push(Task {
            arrivals: Arrivals::Periodic {
                offset: Duration(number(1)),
            },
            deadline: Duration(number(3)),
            // A job that ends with its budget is no overrun.
            overrun: Overrun::Abort,
            ..Task::periodic(Duration(number(2)), Duration(number(4)))
        });
        let interval = |word: &&str| {
            let (start, end) = word.split_once('-').unwrap();
            (start.parse().unwrap(), end.parse().unwrap())
        };
        set.intervals
            .push(words[5..].iter().map(interval).collect());
    }
    sets
}

fn schedule<const CORES: usize>(set: &Set, fault: Fault) -> Vec<Vec<(u64, u64)>> {
    let mut cluster = Cluster::<CORES, 64>::new(LowTasks::Stop);
    cluster.fault = fault;
    for task in &set.tasks {
        cluster.add(*task, Instant(0), &Unchecked).unwrap();
    }
    let mut simulation = Simulation::new(cluster);
    simulation.run(set.duration, |id| set.tasks[id.index()].budget.0);
    simulation.intervals.truncate(set.tasks.len());
    simulation.intervals
}

fn agrees(set: &Set, fault: Fault) -> bool {
    let schedule = match set.cores {
        1 => schedule::<1>,
        2 => schedule::<2>,
        3 => schedule::<3>,
        4 => schedule::<4>,
        5 => schedule::<5>,
        6 => schedule::<6>,
        7 => schedule::<7>,
        _ => schedule::<8>,
    };
    let schedule = catch_unwind(AssertUnwindSafe(|| schedule(set, fault)));
    schedule.is_ok_and(|schedule| schedule == set.intervals)
}

#[test]
fn schedules_are_those_of_simso() {
    let sets = parse(SAMPLE);
    assert_eq!(sets.len(), 40);
    for (number, set) in sets.iter().enumerate() {
        assert!(agrees(set, Fault::None), "set {number}");
    }
}

/// More sets: `make.py 2 1000 400 > large.txt`, and the environment variable `SIMSO` with the file's name.
#[test]
#[ignore = "its vectors are too many to be stored"]
fn schedules_of_many_sets_are_those_of_simso() {
    let text = std::fs::read_to_string(std::env::var("SIMSO").unwrap()).unwrap();
    let sets = parse(&text);
    let differing = sets.iter().filter(|set| !agrees(set, Fault::None)).count();
    let intervals: usize = sets
        .iter()
        .flat_map(|set| &set.intervals)
        .map(Vec::len)
        .sum();
    println!("{} sets, {intervals} intervals", sets.len());
    assert_eq!(differing, 0);
}

#[test]
fn faults_are_found() {
    let sets = parse(SAMPLE);
    for fault in [Fault::WrongHead, Fault::ForgottenLink] {
        let found = sets.iter().filter(|set| !agrees(set, fault)).count();
        assert!(found > sets.len() / 2, "{fault:?} in {found} sets");
    }
}
