//! Links under non-preemptible sections, blocked jobs, equal deadlines, overruns and arbitrary events.

use proptest::prelude::*;

use super::Fault;
use crate::{
    Action, Arrivals, Cluster, Criticality, Duration, Error, Instant, LowTasks, Overrun, Refusal,
    Task, TaskId, Unchecked,
};

/// A sporadic task.
fn sporadic(deadline: u64, budget: u64, overrun: Overrun) -> Task {
    Task {
        arrivals: Arrivals::Sporadic,
        overrun,
        ..Task::periodic(Duration(deadline), Duration(budget))
    }
}

/// Tasks with these deadlines and long budgets.
fn cluster<const CORES: usize>(deadlines: &[u64]) -> (Cluster<CORES, 8>, Vec<TaskId>) {
    let mut cluster = Cluster::new(LowTasks::Stop);
    let add = |deadline: &u64| {
        let task = sporadic(*deadline, 1000, Overrun::Count);
        cluster.add(task, Instant(0), &Unchecked).unwrap()
    };
    let ids = deadlines.iter().map(add).collect();
    (cluster, ids)
}

fn decide<const CORES: usize>(cluster: &mut Cluster<CORES, 8>, now: u64) -> Vec<Action> {
    let mut actions = Vec::new();
    cluster.decide(Instant(now), &mut |action| actions.push(action));
    cluster.check();
    actions
}

fn dispatch(core: usize, task: TaskId) -> Action {
    Action::Dispatch { core, task }
}

#[test]
fn an_earlier_deadline_displaces_the_latest() {
    let (mut cluster, ids) = cluster::<2>(&[300, 200, 100]);
    for id in &ids[..2] {
        cluster.arrive(*id, Instant(0)).unwrap();
    }
    // The earliest deadline goes to the scheduler's own core, whose action comes last.
    assert_eq!(
        decide(&mut cluster, 0),
        [dispatch(1, ids[0]), dispatch(0, ids[1])]
    );
    cluster.arrive(ids[2], Instant(10)).unwrap();
    assert_eq!(decide(&mut cluster, 10), [dispatch(1, ids[2])]);
    // A completion costs one action: the core is not made idle in between.
    cluster.complete(ids[1], Instant(20)).unwrap();
    assert_eq!(decide(&mut cluster, 20), [dispatch(0, ids[0])]);
    // Nor does the core of a thread that waits already.
    cluster.complete(ids[0], Instant(30)).unwrap();
    assert_eq!(decide(&mut cluster, 30), []);
    // But one whose task is removed.
    cluster.remove(ids[2]).unwrap();
    assert_eq!(decide(&mut cluster, 40), [Action::Idle { core: 1 }]);
}

#[test]
fn equal_deadlines_do_not_displace() {
    let preempts = |fault| {
        let (mut cluster, ids) = cluster::<1>(&[100, 90]);
        cluster.fault = fault;
        cluster.arrive(ids[0], Instant(0)).unwrap();
        decide(&mut cluster, 0);
        cluster.arrive(ids[1], Instant(10)).unwrap();
        !decide(&mut cluster, 10).is_empty()
    };
    assert!(!preempts(Fault::None));
    assert!(preempts(Fault::TiesDisplace));
}

#[test]
fn a_job_that_runs_does_not_migrate() {
    let (mut cluster, ids) = cluster::<2>(&[300, 200, 100]);
    for id in &ids[..2] {
        cluster.arrive(*id, Instant(0)).unwrap();
    }
    decide(&mut cluster, 0);
    // At one instant, an arrival takes the link of core 1, and a completion leaves core 0 free.
    cluster.arrive(ids[2], Instant(10)).unwrap();
    cluster.complete(ids[1], Instant(10)).unwrap();
    assert_eq!(decide(&mut cluster, 10), [dispatch(0, ids[2])]);
}

#[test]
fn a_non_preemptible_section_keeps_the_core() {
    let (mut cluster, ids) = cluster::<2>(&[300, 200, 100, 50]);
    for id in &ids[..2] {
        cluster.arrive(*id, Instant(0)).unwrap();
    }
    decide(&mut cluster, 0);
    cluster.set_non_preemptible(ids[0], true).unwrap();
    cluster.arrive(ids[2], Instant(10)).unwrap();
    assert_eq!(decide(&mut cluster, 10), []);
    // Another core is left: the job in the section gets a link again, and stays where it runs.
    cluster.complete(ids[1], Instant(20)).unwrap();
    assert_eq!(decide(&mut cluster, 20), [dispatch(0, ids[2])]);
    cluster.arrive(ids[3], Instant(30)).unwrap();
    assert_eq!(decide(&mut cluster, 30), []);
    cluster.set_non_preemptible(ids[0], false).unwrap();
    assert_eq!(decide(&mut cluster, 40), [dispatch(1, ids[3])]);
}

#[test]
fn a_changed_deadline_changes_links() {
    let (mut cluster, ids) = cluster::<1>(&[100, 200]);
    for id in &ids {
        cluster.arrive(*id, Instant(0)).unwrap();
    }
    assert_eq!(decide(&mut cluster, 0), [dispatch(0, ids[0])]);
    cluster.set_deadline(ids[1], Instant(50)).unwrap();
    assert_eq!(decide(&mut cluster, 10), [dispatch(0, ids[1])]);
    cluster.set_deadline(ids[1], Instant(300)).unwrap();
    assert_eq!(decide(&mut cluster, 20), [dispatch(0, ids[0])]);
    // The deadline that the job must keep is the old one.
    cluster.block(ids[0]).unwrap();
    assert_eq!(decide(&mut cluster, 30), [dispatch(0, ids[1])]);
    assert_eq!(
        cluster.complete(ids[1], Instant(210)).unwrap().late,
        Duration(10)
    );
    cluster.unblock(ids[0]).unwrap();
    assert_eq!(decide(&mut cluster, 210), [dispatch(0, ids[0])]);
}

#[test]
fn overruns_follow_the_policy() {
    let run = |overrun| {
        let mut cluster = Cluster::<1, 8>::new(LowTasks::Stop);
        let first = cluster
            .add(sporadic(100, 10, overrun), Instant(0), &Unchecked)
            .unwrap();
        let second = cluster
            .add(sporadic(200, 10, overrun), Instant(0), &Unchecked)
            .unwrap();
        cluster.arrive(first, Instant(0)).unwrap();
        cluster.arrive(second, Instant(0)).unwrap();
        assert_eq!(decide(&mut cluster, 0), [dispatch(0, first)]);
        // Another thread ran for 5 of 15 ticks.
        cluster.charge(0, Duration(9));
        assert_eq!(decide(&mut cluster, 14), []);
        cluster.charge(0, Duration(1));
        let mut actions = Vec::new();
        let next = cluster.decide(Instant(15), &mut |action| actions.push(action));
        assert_eq!(actions.remove(0), Action::Overrun { task: first });
        assert_eq!(cluster.overruns(first), Ok(1));
        (actions, next)
    };
    let (first, second) = (TaskId(0), TaskId(1));
    let aborted = vec![Action::Aborted { task: first }, dispatch(0, second)];
    assert_eq!(run(Overrun::Abort), (aborted, Instant(25)));
    assert_eq!(run(Overrun::Extend(Duration(3))), (vec![], Instant(18)));
    assert_eq!(
        run(Overrun::Lower),
        (vec![dispatch(0, second)], Instant(25))
    );
    assert_eq!(run(Overrun::Count), (vec![], Instant::NEVER));
}

/// Its budget has ended: a section does not keep the core for it.
#[test]
fn a_job_in_the_background_leaves_its_section() {
    let mut cluster = Cluster::<1, 8>::new(LowTasks::Stop);
    let [first, second] = [100, 200].map(|deadline| {
        let task = sporadic(deadline, 10, Overrun::Lower);
        cluster.add(task, Instant(0), &Unchecked).unwrap()
    });
    for id in [first, second] {
        cluster.arrive(id, Instant(0)).unwrap();
    }
    assert_eq!(decide(&mut cluster, 0), [dispatch(0, first)]);
    cluster.set_non_preemptible(first, true).unwrap();
    cluster.charge(0, Duration(10));
    assert_eq!(
        decide(&mut cluster, 10),
        [Action::Overrun { task: first }, dispatch(0, second)]
    );
}

#[test]
fn after_a_job_in_the_background_a_sporadic_one_need_not_wait() {
    let mut cluster = Cluster::<1, 8>::new(LowTasks::Stop);
    let task = sporadic(100, 10, Overrun::Lower);
    let id = cluster.add(task, Instant(0), &Unchecked).unwrap();
    cluster.arrive(id, Instant(0)).unwrap();
    decide(&mut cluster, 0);
    cluster.charge(0, Duration(10));
    assert_eq!(decide(&mut cluster, 10), [Action::Overrun { task: id }]);
    cluster.complete(id, Instant(250)).unwrap();
    // More than a period after the last release.
    cluster.arrive(id, Instant(260)).unwrap();
    assert_eq!(decide(&mut cluster, 260), [dispatch(0, id)]);
}

#[test]
fn an_early_arrival_waits_for_the_period() {
    let (mut cluster, ids) = cluster::<1>(&[100]);
    cluster.arrive(ids[0], Instant(0)).unwrap();
    assert_eq!(cluster.arrive(ids[0], Instant(1)), Err(Error::HasJob));
    decide(&mut cluster, 1);
    cluster.complete(ids[0], Instant(10)).unwrap();
    cluster.arrive(ids[0], Instant(50)).unwrap();
    assert_eq!(cluster.decide(Instant(50), &mut |_| ()), Instant(100));
    assert_eq!(decide(&mut cluster, 100), [dispatch(0, ids[0])]);
}

#[test]
fn impossible_tasks_are_refused() {
    let mut cluster = Cluster::<1, 1>::new(LowTasks::Stop);
    let good = Task::periodic(Duration(10), Duration(1));
    let bad = Task {
        period: Duration(0),
        ..good
    };
    let mut add = |task| cluster.add(task, Instant(0), &Unchecked);
    assert!(matches!(add(bad), Err(Refusal::Parameters(_))));
    let criticality = Criticality::High {
        budget: Duration(0),
        virtual_deadline: Duration(10),
    };
    assert!(matches!(
        add(Task {
            criticality,
            ..good
        }),
        Err(Refusal::Parameters(_))
    ));
    assert_eq!(add(good), Ok(TaskId(0)));
    assert_eq!(add(good), Err(Refusal::Full));
    assert_eq!(
        cluster.arrive(TaskId(0), Instant(0)),
        Err(Error::IsPeriodic)
    );
    assert_eq!(cluster.block(TaskId(0)), Err(Error::NoJob));
    assert_eq!(cluster.remove(TaskId(5)), Err(Error::NoTask));
}

proptest! {
    /// After any events: the linked jobs are those of the earliest deadlines, no job runs on two cores, and
    /// a job leaves its core only if it is displaced.
    #[test]
    fn links_are_right_after_any_events(
        deadlines in prop::collection::vec(1u64..60, 8),
        events in prop::collection::vec((0u8..8, 0u16..8, 0u64..30), 1..120),
    ) {
        let (mut cluster, _) = cluster::<3>(&deadlines);
        let mut now = 0;
        for (event, task, length) in events {
            let id = TaskId(task);
            // Events of tasks in another state are refused and change nothing.
            let _ = match event {
                0 | 1 => cluster.arrive(id, Instant(now)),
                2 => cluster.complete(id, Instant(now)).map(|_| ()),
                3 => cluster.block(id),
                4 => cluster.unblock(id),
                5 => cluster.set_non_preemptible(id, length % 2 == 0),
                6 => cluster.set_deadline(id, Instant(now + length)),
                _ => {
                    now += length;
                    Ok(())
                }
            };
            decide(&mut cluster, now);
            prop_assert_eq!(decide(&mut cluster, now), []);
        }
    }
}

#[test]
fn the_end_of_a_budget_is_not_looked_at_more_often_than_the_grain_says() {
    let mut cluster = Cluster::<1, 1>::new(LowTasks::Stop);
    cluster.set_granularity(Duration(100));
    let task = Task::periodic(Duration(10_000), Duration(500));
    cluster.add(task, Instant(0), &Unchecked).unwrap();
    let decide = |cluster: &mut Cluster<1, 1>, now| cluster.decide(Instant(now), &mut |_| ());
    assert_eq!(decide(&mut cluster, 0), Instant(500));
    // The decision took some of the time, and is not charged.
    cluster.charge(0, Duration(470));
    assert_eq!(decide(&mut cluster, 500), Instant(600));
    cluster.charge(0, Duration(100));
    decide(&mut cluster, 600);
    assert_eq!(cluster.overruns(TaskId(0)), Ok(1));
}
