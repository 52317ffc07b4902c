//! Sets that are accepted with overheads, in a simulation whose scheduler takes time.

use oorandom::Rand64;

use crate::{
    Action, Admission, Arrivals, Charged, Cluster, Criticality, Duration, EdfVd, Instant, LowTasks,
    NotAccepted, NotCharged, OneCore, Overheads, Refusal, Task, TaskId, Unchecked, Unschedulable,
};

const COSTS: Overheads = Overheads {
    release_latency: Duration(6),
    schedule: Duration(4),
    release: Duration(2),
    context_switch: Duration(5),
    remote_reschedule: Duration(9),
};
const NONE: Overheads = Overheads {
    release_latency: Duration(0),
    schedule: Duration(0),
    release: Duration(0),
    context_switch: Duration(0),
    remote_reschedule: Duration(0),
};
/// The simulated time.
const END: u64 = 300_000;
const TASKS: usize = 6;

fn charged(overheads: Overheads) -> Charged<OneCore> {
    Charged {
        overheads,
        test: OneCore,
    }
}

/// Whether all jobs, which need all of their budgets, are reported in time on one core by a scheduler with these costs.
fn keeps(tasks: &[Task], costs: Overheads) -> bool {
    let mut cluster = Cluster::<1, TASKS>::new(LowTasks::Stop);
    cluster.set_granularity(costs.release_latency + costs.schedule + costs.context_switch);
    for task in tasks {
        cluster.add(*task, Instant(0), &Unchecked).unwrap();
    }
    let (mut now, mut before) = (0, None);
    let (mut left, mut running): (_, Option<TaskId>) = ([None; TASKS], None);
    while now < END {
        let releases: u64 = tasks.iter().map(|task| releases(task, before, now)).sum();
        let next = cluster.decide(Instant(now), &mut |action| match action {
            Action::Dispatch { task, .. } => {
                left[task.index()].get_or_insert(tasks[task.index()].budget.0);
                running = Some(task);
            }
            Action::Idle { .. } => running = None,
            Action::Overrun { .. } => {}
            other => panic!("{other:?}"),
        });
        before = Some(now);
        now += costs.schedule.0 + costs.release.0 * releases.saturating_sub(1);
        now += costs.context_switch.0;
        let left = running.map(|id| &mut left[id.index()]);
        let rest = left.as_ref().and_then(|left| **left).unwrap_or(u64::MAX);
        let ran = rest.min(next.0.saturating_sub(now));
        cluster.charge(0, Duration(ran));
        now += ran + costs.release_latency.0;
        if let Some(left) = left {
            *left = (rest > ran).then(|| rest - ran);
            if left.is_none() {
                let completion = cluster.complete(running.take().unwrap(), Instant(now));
                if completion.unwrap().late > Duration(0) {
                    return false;
                }
            }
        }
    }
    true
}

/// How many jobs the task releases after `before`, until `now`.
fn releases(task: &Task, before: Option<u64>, now: u64) -> u64 {
    let Arrivals::Periodic { offset } = task.arrivals else {
        return 0;
    };
    let until = |time: u64| match time.checked_sub(offset.0) {
        Some(time) => time / task.period.0 + 1,
        None => 0,
    };
    until(now) - before.map_or(0, until)
}

/// Random tasks, whose budgets are as long as the test with these overheads accepts.
fn fullest(random: &mut Rand64, overheads: Overheads) -> Vec<Task> {
    let count = random.rand_range(2..TASKS as u64 + 1);
    let draw = |_| {
        let period = random.rand_range(400..3000);
        let offset = match random.rand_range(0..2) {
            0 => 0,
            _ => random.rand_range(0..period),
        };
        Task {
            arrivals: Arrivals::Periodic {
                offset: Duration(offset),
            },
            deadline: Duration(random.rand_range(period * 2 / 3..period + 1)),
            ..Task::periodic(Duration(period), Duration(1))
        }
    };
    let mut tasks: Vec<_> = (0..count).map(draw).collect();
    // Tasks in turn get more, while the set is accepted.
    let mut step = 256;
    while step > 0 {
        let mut grown = false;
        for place in 0..tasks.len() {
            let mut more = tasks.clone();
            more[place].budget.0 += step;
            if charged(overheads).test(1, more.iter().copied()).is_ok() {
                (tasks, grown) = (more, true);
            }
        }
        if !grown {
            step /= 2;
        }
    }
    tasks
}

#[test]
fn accepted_sets_are_in_time_although_the_scheduler_takes_time() {
    let mut random = Rand64::new(25);
    for _ in 0..200 {
        let tasks = fullest(&mut random, COSTS);
        if charged(COSTS).test(1, tasks.iter().copied()).is_ok() {
            assert!(keeps(&tasks, COSTS), "{tasks:?}");
        }
    }
}

/// A negative control.
#[test]
fn sets_that_are_accepted_without_overheads_are_late() {
    let mut random = Rand64::new(25);
    for _ in 0..60 {
        let tasks = fullest(&mut random, NONE);
        assert!(keeps(&tasks, NONE) && !keeps(&tasks, COSTS), "{tasks:?}");
    }
}

/// Each of them makes a budget longer, or a deadline shorter.
#[test]
fn no_overhead_is_ignored() {
    let tasks = [(1_000, 300), (2_000, 500)]
        .map(|(period, budget)| Task::periodic(Duration(period), Duration(budget)));
    let charged = |overheads: Overheads| {
        let charge = overheads.charge(2, tasks.into_iter());
        tasks.map(|task| charge(task).unwrap())
    };
    let more: [fn(&mut Overheads) -> &mut Duration; 5] = [
        |costs| &mut costs.release_latency,
        |costs| &mut costs.schedule,
        |costs| &mut costs.release,
        |costs| &mut costs.context_switch,
        |costs| &mut costs.remote_reschedule,
    ];
    for (place, more) in more.into_iter().enumerate() {
        let mut costs = COSTS;
        *more(&mut costs) = *more(&mut costs) + Duration(1);
        for (one, before) in charged(costs).into_iter().zip(charged(COSTS)) {
            assert!(one.budget > before.budget, "{place}");
            assert!(one.deadline <= before.deadline, "{place}");
        }
    }
}

/// Each release may be one on another core, for which the scheduler takes its own: so a job there loses that much, too, and not
/// only for its own reschedules.
#[test]
fn a_turn_for_another_core_takes_the_own_one() {
    let tasks = [Task::periodic(Duration(10_000), Duration(1_000)); 3];
    let costs = Overheads {
        remote_reschedule: Duration(50),
        ..NONE
    };
    let charge = costs.charge(2, tasks.into_iter());
    // Two turns, twice one before the release and those of three releases, divided by 1 - 3 * 50 / 10,000; and its own.
    let expected = Task {
        budget: Duration((1_500_u64 * 10_000).div_ceil(9_850) + 100),
        period: Duration(9_950),
        deadline: Duration(9_950),
        ..tasks[0]
    };
    assert_eq!(charge(tasks[0]), Some(expected));
}

/// The least virtual deadlines leave no time for anything else in low mode.
#[test]
fn virtual_deadlines_leave_time_for_overheads() {
    let criticality = Criticality::High {
        budget: Duration(28_000),
        virtual_deadline: Duration(0),
    };
    let mut tasks = [
        Task::periodic(Duration(20_000), Duration(8_000)),
        Task {
            criticality,
            ..Task::periodic(Duration(40_000), Duration(9_000))
        },
    ];
    let charged = Charged {
        overheads: COSTS,
        test: EdfVd,
    };
    EdfVd.set_virtual_deadlines(&mut tasks).unwrap();
    // 15,000, rounded up.
    let least = tasks[1].low_deadline();
    assert!(least <= Duration(15_001), "{least:?}");
    let refused = charged.test(1, tasks.into_iter());
    assert_eq!(refused, Err(NotCharged::Tasks(NotAccepted::LowMode)));
    charged.set_virtual_deadlines(&mut tasks).unwrap();
    let longer = tasks[1].low_deadline();
    assert!(longer > least && longer < Duration(15_500), "{longer:?}");
    // These fit together with the budgets of high mode, but not with overheads.
    let mut tasks = [(500, 200), (1_000, 300)]
        .map(|(period, budget)| Task::periodic(Duration(period), Duration(budget)));
    tasks[1].criticality = Criticality::High {
        budget: Duration(550),
        virtual_deadline: Duration(1_000),
    };
    EdfVd.set_virtual_deadlines(&mut tasks).unwrap();
    assert_eq!(tasks[1].budget, Duration(550));
    let refused = charged.set_virtual_deadlines(&mut tasks);
    assert_eq!(refused, Err(NotCharged::Tasks(NotAccepted::LowMode)));
    // The scheduler takes as long as the deadline.
    tasks[0].deadline = Duration(21);
    let refused = charged.set_virtual_deadlines(&mut tasks);
    assert_eq!(refused, Err(NotCharged::Scheduler));
}

#[test]
fn a_refusal_says_why() {
    let mut cluster = Cluster::<1, 4>::new(LowTasks::Stop);
    let mut add = |period, budget| {
        let task = Task::periodic(Duration(period), Duration(budget));
        cluster.add(task, Instant(0), &charged(COSTS))
    };
    // The scheduler takes as long as the deadline.
    assert_eq!(add(21, 1), Err(Refusal::Admission(NotCharged::Scheduler)));
    assert!(add(1_000, 400).is_ok());
    // With what the scheduler takes, this is more than the core has; without, it is not.
    let full = NotCharged::Tasks(Unschedulable::Utilisation);
    assert_eq!(add(1_000, 600), Err(Refusal::Admission(full)));
    assert!(add(1_000, 300).is_ok());
}
