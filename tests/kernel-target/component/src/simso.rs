//! The schedules of random task sets under EDF, decided by the library on the target, are those of an independent simulator,
//! SimSo. Only decisions are compared, in simulated time: no threads run.

use crate::support::vectors::{Line, SAMPLE, Set, sets};
use crate::support::{Outcome, Test};
use crate::{check, check_eq};
use schedulers::{
    Action, Arrivals, Cluster, Duration, Instant, LowTasks, Overrun, Task, TaskId, Unchecked,
};

tests![
    schedules_on_one_core_are_those_of_simso,
    schedules_on_two_cores_are_those_of_simso,
    schedules_on_four_cores_are_those_of_simso,
    schedules_on_eight_cores_are_those_of_simso,
    another_schedule_is_noticed,
];

const TASKS: usize = 64;

/// A task with the intervals in which it ran, as they are compared with those of the simulator.
struct Compared<I> {
    execution: u64,
    /// The rest of its job; none before the first dispatch.
    left: Option<u64>,
    expected: I,
    /// The present interval, or the last one.
    last: Option<(u64, u64)>,
    differs: bool,
}

impl<I: Iterator<Item = (u64, u64)>> Compared<I> {
    fn run(&mut self, now: u64, until: u64) {
        match &mut self.last {
            Some((_, end)) if *end == now => *end = until,
            _ if until > now => {
                self.end();
                self.last = Some((now, until));
            }
            _ => {}
        }
        self.left = self.left.map(|left| left - (until - now));
    }

    /// The interval has ended.
    fn end(&mut self) {
        if let Some(last) = self.last.take() {
            self.differs |= self.expected.next() != Some(last);
        }
    }
}

fn task(line: &Line) -> Task {
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

/// How many tasks of the set ran in other intervals than in the simulator, on cores that do what they are told.
fn differing<const CORES: usize>(set: Set, change: impl Fn(&mut Task)) -> usize {
    let mut cluster = Cluster::<CORES, TASKS>::new(LowTasks::Stop);
    let mut tasks = [const { None }; TASKS];
    for (place, line) in tasks.iter_mut().zip(set.tasks()) {
        let mut task = task(&line);
        change(&mut task);
        let added = cluster.add(task, Instant(0), &Unchecked);
        added.expect("the cluster has room");
        *place = Some(Compared {
            execution: line.execution,
            left: None,
            expected: line.intervals(),
            last: None,
            differs: false,
        });
    }
    let mut running = [None::<TaskId>; CORES];
    let mut now = 0;
    while now < set.duration {
        let next = cluster.decide(Instant(now), &mut |action| match action {
            Action::Dispatch { core, task } => {
                running[core] = Some(task);
                let compared = tasks[usize::from(task.0)].as_mut();
                compared.map(|it| it.left.get_or_insert(it.execution));
            }
            Action::Idle { core } => running[core] = None,
            // There are none: jobs end with their budgets.
            Action::Aborted { .. } | Action::Overrun { .. } | Action::Switched(_) => {}
        });
        let left = |id: &TaskId| tasks[usize::from(id.0)].as_ref().and_then(|it| it.left);
        let ends = running.iter().flatten().filter_map(left);
        let until = ends.map(|left| now + left).fold(next.0, u64::min);
        let until = until.min(set.duration);
        for (core, place) in running.iter_mut().enumerate() {
            let Some(id) = *place else { continue };
            let Some(task) = &mut tasks[usize::from(id.0)] else {
                continue;
            };
            cluster.charge(core, Duration(until - now));
            task.run(now, until);
            if task.left == Some(0) && until < set.duration {
                task.left = None;
                *place = None;
                let completed = cluster.complete(id, Instant(until));
                completed.expect("the job runs");
            }
        }
        now = until;
    }
    let all = tasks.iter_mut().flatten();
    let differing = all.filter_map(|task| {
        task.end();
        (task.differs || task.expected.next().is_some()).then_some(())
    });
    differing.count()
}

/// All sets of the sample for so many cores.
fn on<const CORES: usize>(count: usize) -> Outcome {
    let mut compared = 0;
    for set in sets(SAMPLE).filter(|set| set.cores == CORES) {
        check_eq!(differing::<CORES>(set, |_| ()), 0);
        compared += 1;
    }
    check_eq!(compared, count);
    Ok(())
}

fn schedules_on_one_core_are_those_of_simso(_: &mut Test) -> Outcome {
    on::<1>(5)
}

fn schedules_on_two_cores_are_those_of_simso(_: &mut Test) -> Outcome {
    on::<2>(4)
}

fn schedules_on_four_cores_are_those_of_simso(_: &mut Test) -> Outcome {
    on::<4>(1)
}

fn schedules_on_eight_cores_are_those_of_simso(_: &mut Test) -> Outcome {
    on::<8>(8)
}

/// A negative control: deadlines equal to periods.
fn another_schedule_is_noticed(_: &mut Test) -> Outcome {
    for set in sets(SAMPLE).filter(|set| set.cores == 2) {
        let differing = differing::<2>(set, |task| task.deadline = task.period);
        check!(differing > 0);
    }
    Ok(())
}
