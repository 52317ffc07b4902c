//! The tests of several cores against simulations.

use oorandom::Rand64;

use super::simulation::Simulation;
use crate::{
    Admission, Arrivals, Cluster, Duration, Instant, LowTasks, ManyCores, NotShown, OneCore, Task,
    Unchecked,
};

fn task(period: u64, deadline: u64, budget: u64) -> Task {
    Task {
        deadline: Duration(deadline),
        ..Task::periodic(Duration(period), Duration(budget))
    }
}

/// Whether the tasks keep their deadlines on `CORES` cores with these offsets.
fn keeps<const CORES: usize>(tasks: &[Task], offset: impl FnMut(&Task) -> u64) -> bool {
    let mut cluster = Cluster::<CORES, 8>::new(LowTasks::Stop);
    let offsets = tasks.iter().map(offset);
    for (task, offset) in tasks.iter().zip(offsets) {
        let task = Task {
            arrivals: Arrivals::Periodic {
                offset: Duration(offset),
            },
            ..*task
        };
        cluster.add(task, Instant(0), &Unchecked).unwrap();
    }
    let mut simulation = Simulation::new(cluster);
    simulation.run(3000, |id| tasks[id.index()].budget.0);
    simulation.late.is_empty()
}

/// Accepted sets keep their deadlines; returns how many of the sets are accepted.
fn accepted_sets_keep_deadlines<const CORES: usize>(seed: u128) -> usize {
    const PERIODS: [u64; 8] = [4, 5, 6, 8, 10, 12, 15, 20];
    let mut random = Rand64::new(seed);
    let mut accepted = 0;
    for _ in 0..200 {
        let count = random.rand_range(CORES as u64 + 1..8) as usize;
        let tasks: Vec<_> = (0..count)
            .map(|_| {
                let period = PERIODS[random.rand_range(0..8) as usize];
                let budget = random.rand_range(1..(period / 2).max(2));
                task(period, random.rand_range(budget..period * 3 / 2), budget)
            })
            .collect();
        if ManyCores.test(CORES, tasks.iter().copied()).is_err() {
            continue;
        }
        accepted += 1;
        assert!(keeps::<CORES>(&tasks, |_| 0), "{tasks:?}");
        for _ in 0..2 {
            let offset = |task: &Task| random.rand_range(0..task.period.0);
            assert!(keeps::<CORES>(&tasks, offset), "{tasks:?}");
        }
    }
    accepted
}

#[test]
fn accepted_sets_are_in_time() {
    for accepted in [
        accepted_sets_keep_deadlines::<1>(5),
        accepted_sets_keep_deadlines::<2>(6),
        accepted_sets_keep_deadlines::<3>(7),
    ] {
        assert!((20..180).contains(&accepted), "{accepted}");
    }
}

#[test]
fn both_tests_agree_about_two_sets_on_one_core() {
    let set = [task(10, 10, 5), task(20, 20, 10)];
    assert_eq!(ManyCores.test(1, set.into_iter()), Ok(()));
    assert_eq!(OneCore.test(1, set.into_iter()), Ok(()));
    let set = [task(10, 5, 5), task(20, 20, 1), task(20, 5, 1)];
    assert!(ManyCores.test(1, set.into_iter()).is_err());
    assert!(OneCore.test(1, set.into_iter()).is_err());
}

#[test]
fn each_of_the_two_tests_accepts_a_set_of_its_own() {
    // Densities of 0.1 and 19 times 0.09, at most 2 - 0.1 together; but in the window of the short task's job each of the
    // others may take a core for its whole length.
    let mut light = [task(100, 100, 9); 20];
    light[0] = task(10, 10, 1);
    assert_eq!(ManyCores.test(2, light.into_iter()), Ok(()));
    // Densities of 0.9, 0.1 and 0.9, more than 2 - 0.9 together; but the windows are short.
    let windows = [task(100, 10, 9), task(100, 10, 1), task(100, 100, 90)];
    assert_eq!(ManyCores.test(2, windows.into_iter()), Ok(()));
}

#[test]
fn response_times_accept_more_than_whole_windows() {
    // In the window that ends with its deadline the first task seems to wait for too long. But it ends earlier, and in that
    // time the others execute less.
    let early = [task(4, 4, 1), task(5, 2, 2), task(3, 1, 1)];
    assert_eq!(ManyCores.test(2, early.into_iter()), Ok(()));
    // The last task is shown in the second round, by what the first one has shown of the others.
    let rounds = [task(17, 12, 3), task(11, 6, 5), task(242, 173, 115)];
    assert_eq!(ManyCores.test(2, rounds.into_iter()), Ok(()));
}

/// If jobs that wait for others counted as ending as early as those that do not, this set would be accepted.
#[test]
fn what_jobs_wait_for_others_is_not_left_to_them() {
    let set = [task(3, 1, 1), task(5, 5, 3), task(3, 2, 2)];
    assert!(!keeps::<2>(&set, |_| 0));
    assert!(ManyCores.test(2, set.into_iter()).is_err());
}

#[test]
fn a_refusal_names_the_task_that_waits() {
    // Dhall's effect (Operations Research, 1978): two short tasks begin first, and the long one needs nearly all of its period.
    let set = [task(10, 10, 1), task(10, 10, 1), task(11, 11, 11)];
    assert!(!keeps::<2>(&set, |_| 0));
    assert_eq!(
        ManyCores.test(2, set.into_iter()),
        Err(NotShown {
            task: 2,
            waits: Duration(1),
            slack: Duration(0)
        })
    );
    assert!(ManyCores.test(2, [task(10, 10, 11)].into_iter()).is_err());
    // The second test is for deadlines up to periods.
    let late = [task(10, 10, 9), task(10, 12, 9), task(10, 10, 9)];
    let refused = ManyCores.test(2, late.into_iter()).unwrap_err();
    assert_eq!((refused.task, refused.waits), (1, Duration::UNLIMITED));
}
