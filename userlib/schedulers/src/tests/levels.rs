//! EDF-VD keeps the promises of both modes.

use oorandom::Rand64;

use super::simulation::Simulation;
use crate::{
    Action, Arrivals, Cluster, Criticality, Duration, EdfVd, Instant, LowTasks, Mode, NotAccepted,
    Overrun, Task, Unchecked,
};

fn number(random: &mut Rand64, range: core::ops::Range<u64>) -> u64 {
    random.rand_range(range)
}

/// A random set of 2 to 8 tasks, about as large as a core.
fn random_tasks(random: &mut Rand64) -> Vec<Task> {
    let count = number(random, 2..9);
    let tasks = (0..count).map(|_| {
        let period = number(random, 20..400);
        let most = (2 * period / count).max(2);
        let budget = number(random, 1..most);
        let mut task = Task::periodic(Duration(period), Duration(budget));
        task.overrun = Overrun::Abort;
        let offset = Duration(number(random, 0..2) * number(random, 0..period));
        task.arrivals = Arrivals::Periodic { offset };
        if random.rand_float() < 0.5 {
            task.criticality = Criticality::High {
                budget: Duration(number(random, budget..(3 * budget + 1).min(period + 1))),
                virtual_deadline: task.deadline,
            };
        }
        task
    });
    tasks.collect()
}

#[derive(Default)]
struct Seen {
    sets: u32,
    with_switch: u32,
    /// Sets with a late job of a high task.
    late_high: u32,
    /// Sets with a late job before the first switch.
    late_low_mode: u32,
}

/// Simulates `sets` accepted sets that need virtual deadlines. Jobs of high tasks may overrun; in the last
/// tenth of the sets, all do.
fn simulate(sets: u32, low_tasks: LowTasks, use_virtual: bool) -> Seen {
    let mut random = Rand64::new(7);
    let mut seen = Seen::default();
    while seen.sets < sets {
        let mut tasks = random_tasks(&mut random);
        if EdfVd.set_virtual_deadlines(&mut tasks).is_err() {
            continue;
        }
        let deadline = |task: &Task| match task.criticality {
            Criticality::High {
                virtual_deadline, ..
            } => virtual_deadline,
            Criticality::Low => task.deadline,
        };
        if tasks.iter().all(|task| deadline(task) == task.deadline) {
            continue;
        }
        let mut cluster = Cluster::<1, 8>::new(low_tasks);
        for mut task in tasks.iter().copied() {
            if let Criticality::High {
                virtual_deadline, ..
            } = &mut task.criticality
                && !use_virtual
            {
                *virtual_deadline = task.deadline;
            }
            cluster.add(task, Instant(0), &Unchecked).unwrap();
        }
        let overruns = if seen.sets % 10 == 0 { 1.0 } else { 0.1 };
        let mut simulation = Simulation::new(cluster);
        for end in (1..=8).map(|part| part * 500) {
            simulation.run(end, |id| {
                let task = tasks[id.index()];
                match task.criticality {
                    Criticality::High { budget, .. } if random.rand_float() < overruns => budget.0,
                    _ => task.budget.0,
                }
            });
            if !simulation.switched_to_high && !simulation.late.is_empty() {
                seen.late_low_mode += 1;
                break;
            }
        }
        let high = |id: crate::TaskId| tasks[id.index()].criticality != Criticality::Low;
        seen.sets += 1;
        seen.with_switch += u32::from(simulation.switched_to_high);
        seen.late_high += u32::from(simulation.late.iter().any(|(id, _)| high(*id)));
    }
    seen
}

#[test]
fn high_tasks_keep_their_deadlines_in_ten_thousand_sets() {
    for low_tasks in [LowTasks::Stop, LowTasks::Background, LowTasks::Stretch(4)] {
        let seen = simulate(10_000, low_tasks, true);
        assert_eq!(
            (seen.late_high, seen.late_low_mode),
            (0, 0),
            "{low_tasks:?}"
        );
        assert!(seen.with_switch > 9_000, "{}", seen.with_switch);
    }
}

/// Negative control: without virtual deadlines some high jobs are late.
#[test]
fn without_virtual_deadlines_they_do_not() {
    assert!(simulate(500, LowTasks::Stop, false).late_high > 0);
}

fn high(period: u64, low: u64, high: u64) -> Task {
    Task {
        criticality: Criticality::High {
            budget: Duration(high),
            virtual_deadline: Duration(period),
        },
        ..Task::periodic(Duration(period), Duration(low))
    }
}

/// U_LO(LO) = 1/2, U_HI(LO) = 1/4 and U_HI(HI) = 3/4, so x = 1/2 and 1/2 * 1/2 + 3/4 = 1.
fn at_the_limit() -> [Task; 2] {
    [Task::periodic(Duration(20), Duration(10)), high(40, 10, 30)]
}

#[test]
fn virtual_deadlines_follow_from_the_utilisations() {
    let mut tasks = at_the_limit();
    EdfVd.set_virtual_deadlines(&mut tasks).unwrap();
    assert_eq!(tasks[1].low_deadline(), Duration(20));

    tasks[1] = high(40, 10, 31);
    let refused = EdfVd.set_virtual_deadlines(&mut tasks);
    assert_eq!(refused, Err(NotAccepted::HighMode));
    tasks[1] = high(40, 21, 30);
    let refused = EdfVd.set_virtual_deadlines(&mut tasks);
    assert_eq!(refused, Err(NotAccepted::LowMode));
    // They need more than 2^68 cores.
    let mut many = [Task::periodic(Duration(1), Duration::UNLIMITED); 18];
    many[17] = high(40, 10, 30);
    let refused = EdfVd.set_virtual_deadlines(&mut many);
    assert_eq!(refused, Err(NotAccepted::LowMode));
    // Together at most 1: the deadlines stay.
    tasks[1] = high(40, 10, 20);
    EdfVd.set_virtual_deadlines(&mut tasks).unwrap();
    assert_eq!(tasks[1].low_deadline(), Duration(40));
    assert_eq!(tasks[1].budget, Duration(20));
}

/// Releases that have passed while a job was in the background are left out when it is aborted, as when it is completed: they
/// would have the earliest deadlines of all.
#[test]
fn an_abort_in_the_background_leaves_no_releases_behind() {
    let mut cluster = Cluster::<1, 8>::new(LowTasks::Background);
    let low = Task {
        overrun: Overrun::Abort,
        ..Task::periodic(Duration(20), Duration(10))
    };
    let critical = Task {
        criticality: Criticality::High {
            budget: Duration(60),
            virtual_deadline: Duration(15),
        },
        ..Task::periodic(Duration(100), Duration(10))
    };
    let [low, critical] =
        [low, critical].map(|task| cluster.add(task, Instant(0), &Unchecked).unwrap());
    let decide = |cluster: &mut Cluster<1, 8>, now| {
        let mut actions = Vec::new();
        let next = cluster.decide(Instant(now), &mut |action| actions.push(action));
        (actions, next)
    };
    let dispatch = |task| Action::Dispatch { core: 0, task };
    assert_eq!(decide(&mut cluster, 0).0, [dispatch(critical)]);
    cluster.charge(0, Duration(10));
    decide(&mut cluster, 10);
    assert_eq!(cluster.mode(), Mode::High);
    cluster.charge(0, Duration(50));
    cluster.complete(critical, Instant(60)).unwrap();
    let switched = Action::Switched(Mode::Low);
    assert_eq!(decide(&mut cluster, 60).0, [switched, dispatch(low)]);
    cluster.charge(0, Duration(10));
    let (actions, next) = decide(&mut cluster, 70);
    let aborted = Action::Aborted { task: low };
    let expected = [
        Action::Overrun { task: low },
        aborted,
        Action::Idle { core: 0 },
    ];
    assert_eq!(actions, expected);
    assert_eq!(next, Instant(80));
}

/// Runs the set at the limit; the high task's second job, and no other, overruns.
fn one_overrun(low_tasks: LowTasks) -> Simulation<1, 4> {
    let mut tasks = at_the_limit();
    EdfVd.set_virtual_deadlines(&mut tasks).unwrap();
    let mut cluster = Cluster::new(low_tasks);
    for task in tasks {
        cluster.add(task, Instant(0), &Unchecked).unwrap();
    }
    let mut simulation = Simulation::new(cluster);
    let mut jobs = 0;
    simulation.run(200, |id| {
        if id.index() == 0 {
            return 10;
        }
        jobs += 1;
        if jobs == 2 { 30 } else { 10 }
    });
    simulation
}

#[test]
fn the_mode_switches_at_the_overrun_and_back_when_the_core_is_free() {
    let switches = |simulation: &Simulation<1, 4>| -> Vec<_> {
        let switches = simulation.actions.iter();
        let switches = switches.filter(|(_, action)| matches!(action, Action::Switched(_)));
        switches.copied().collect()
    };
    // The second job of the high task begins at 50, after the low task's, and overruns at 60.
    let stopped = one_overrun(LowTasks::Stop);
    let expected = [
        (60, Action::Switched(Mode::High)),
        (80, Action::Switched(Mode::Low)),
    ];
    assert_eq!(switches(&stopped), expected);
    assert_eq!(stopped.late, []);
    // Of the ten jobs of the low task, the one released at 60 is dropped.
    assert_eq!(stopped.completed[..2], [9, 5]);

    let background = one_overrun(LowTasks::Background);
    assert_eq!(switches(&background)[0], expected[0]);
    assert!(background.late.iter().all(|(id, _)| id.index() == 0));
    assert_eq!(background.completed[1], 5);
}
