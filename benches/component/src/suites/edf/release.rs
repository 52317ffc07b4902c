//! What each release adds to a decision: the difference of decisions that release two jobs and one, in the library alone. The
//! other tasks wait for their releases.

use super::TASKS;
use crate::bench::Bench;
use crate::measure::repeated;
use schedulers::{Arrivals, Cluster, Duration, Instant, LowTasks, Task, TaskId, Unchecked};
use userlib::Result;

/// The period of the tasks.
const PERIOD: u64 = 1_000_000;
/// When the first jobs of the others are released.
const FAR: u64 = PERIOD << 20;

type Tasks = Cluster<1, { super::MOST }>;

pub fn release(bench: &mut Bench, variant: usize) -> Result {
    let (tasks, counter) = (TASKS[variant], bench.counter());
    let mut cluster = Tasks::new(LowTasks::Stop);
    let mut add = |offset, deadline| {
        let task = Task {
            arrivals: Arrivals::Periodic {
                offset: Duration(offset),
            },
            deadline: Duration(deadline),
            ..Task::periodic(Duration(PERIOD), Duration(PERIOD))
        };
        let added = cluster.add(task, Instant(0), &Unchecked);
        added.expect("there is room for the task")
    };
    // The first runs; the jobs of the two that follow wait for it.
    add(0, 1);
    let two = [2, 3].map(|periods| add(0, periods * PERIOD));
    for number in 3..tasks as u64 {
        add(FAR + number, PERIOD);
    }
    let mut now = Instant(0);
    let mut decide = |completed: &[TaskId]| {
        for task in completed {
            let completed = cluster.complete(*task, now);
            completed.expect("it has a job");
        }
        now = now + Duration(PERIOD);
        let before = counter.now();
        cluster.decide(now, &mut |_| ());
        counter.between(before, counter.now())
    };
    decide(&[]);
    let samples = repeated(|| {
        let one = decide(&two[..1]);
        let both = decide(&two);
        Ok(both - one.min(both))
    })?;
    bench.report("release", &[("tasks", tasks.into())], &samples);
    Ok(())
}
