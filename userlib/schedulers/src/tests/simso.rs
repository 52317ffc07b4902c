//! The schedules of random task sets are those of an independent simulator, SimSo (`vectors/make.py`).

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Fault;
use super::simulation::Simulation;
use super::vectors::{self, FEW, Line, SAMPLE};
use crate::{Arrivals, Cluster, Duration, Instant, LowTasks, Overrun, Task, Unchecked};

struct Set {
    cores: usize,
    duration: u64,
    tasks: Vec<Task>,
    intervals: Vec<Vec<(u64, u64)>>,
}

fn parse(text: &str) -> Vec<Set> {
    let set = |set: vectors::Set| Set {
        cores: set.cores,
        duration: set.duration,
        tasks: set.tasks().map(task).collect(),
        intervals: set.tasks().map(|it| it.intervals().collect()).collect(),
    };
    vectors::sets(text).map(set).collect()
}

fn task(line: Line) -> Task {
    Task {
        arrivals: Arrivals::Periodic {
            offset: Duration(line.offset),
        },
        deadline: Duration(line.deadline),
        // A job that ends with its budget is no overrun.
        overrun: Overrun::Abort,
        ..Task::periodic(Duration(line.period), Duration(line.execution))
    }
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
    let (sample, few) = (parse(SAMPLE), parse(FEW));
    assert_eq!((sample.len(), few.len()), (40, 7));
    for (number, set) in sample.iter().chain(&few).enumerate() {
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
