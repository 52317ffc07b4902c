//! The test of one core against the simulation of the worst case.

use oorandom::Rand64;

use super::simulation::Simulation;
use crate::{
    Admission, Cluster, Duration, Instant, LowTasks, OneCore, Refusal, Task, Unchecked,
    Unschedulable,
};

fn task(period: u64, deadline: u64, budget: u64) -> Task {
    Task {
        deadline: Duration(deadline),
        ..Task::periodic(Duration(period), Duration(budget))
    }
}

/// Whether all deadlines are kept if all tasks release at 0, the worst case (Baruah et al., 1990).
fn keeps(tasks: &[Task]) -> bool {
    let mut cluster = Cluster::<1, 8>::new(LowTasks::Stop);
    for task in tasks {
        cluster.add(*task, Instant(0), &Unchecked).unwrap();
    }
    let mut simulation = Simulation::new(cluster);
    // Long enough that a job that is not completed is late as well.
    simulation.run(4 * HYPERPERIOD, |id| tasks[id.index()].budget.0);
    simulation.late.is_empty()
}

/// All periods divide this.
const HYPERPERIOD: u64 = 360;

/// Two to four tasks, whose deadlines are at most so many periods.
fn random_tasks(random: &mut Rand64, periods: u64) -> Vec<Task> {
    const PERIODS: [u64; 10] = [4, 5, 6, 8, 9, 10, 12, 15, 20, 24];
    let count = random.rand_range(2..5) as usize;
    let tasks = (0..count).map(|_| {
        let period = PERIODS[random.rand_range(0..10) as usize];
        let budget = random.rand_range(1..(period / 2).max(2));
        let deadline = random.rand_range(budget..periods * period + 1);
        task(period, deadline, budget)
    });
    tasks.collect()
}

#[test]
fn the_test_is_exact() {
    let mut random = Rand64::new(3);
    let mut accepted = 0;
    for _ in 0..300 {
        let tasks = random_tasks(&mut random, 1);
        let test = OneCore.test(1, tasks.iter().copied());
        assert_eq!(test.is_ok(), keeps(&tasks), "{test:?}: {tasks:?}");
        accepted += usize::from(test.is_ok());
    }
    assert!((60..240).contains(&accepted), "{accepted}");
}

/// Of tasks that do not need more than the core: if others are late, then perhaps not before the end of the simulation.
#[test]
fn it_is_exact_if_deadlines_are_after_periods() {
    let mut random = Rand64::new(4);
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..600 {
        let tasks = random_tasks(&mut random, 2);
        let needs = tasks
            .iter()
            .map(|task| task.budget.0 * HYPERPERIOD / task.period.0);
        if needs.sum::<u64>() > HYPERPERIOD {
            continue;
        }
        let test = OneCore.test(1, tasks.iter().copied());
        assert_eq!(test.is_ok(), keeps(&tasks), "{test:?}: {tasks:?}");
        match test {
            Ok(()) => accepted += 1,
            Err(_) => refused += 1,
        }
    }
    assert!(accepted > 10 && refused > 10, "{accepted}, {refused}");
}

#[test]
fn a_refusal_says_why() {
    let mut cluster = Cluster::<1, 8>::new(LowTasks::Stop);
    let mut add = |one: Task| cluster.add(one, Instant(0), &OneCore);
    // 1/3 + 1/6 + 1/2 is exactly 1.
    assert!(add(task(3, 3, 1)).is_ok());
    assert!(add(task(6, 6, 1)).is_ok());
    let demand = Unschedulable::Demand {
        interval: Duration(3),
        demand: Duration(4),
    };
    assert_eq!(add(task(6, 3, 3)), Err(Refusal::Admission(demand)));
    assert!(add(task(2, 2, 1)).is_ok());
    let full = Err(Refusal::Admission(Unschedulable::Utilisation));
    assert_eq!(add(task(1 << 40, 1 << 40, 1)), full);
    let many = OneCore.test(2, [task(2, 2, 1)].into_iter());
    assert_eq!(many, Err(Unschedulable::ManyCores));
}
