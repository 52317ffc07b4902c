//! What each release adds to a decision: the difference of decisions that release one job and none, in the library alone.

use super::TASKS;
use crate::bench::Bench;
use crate::measure::repeated;
use schedulers::{Cluster, Duration, Instant, LowTasks, Task, TaskId, Unchecked};
use userlib::Result;

/// The period of the tasks.
const PERIOD: u64 = 1_000_000;

pub fn release(bench: &mut Bench, variant: usize) -> Result {
    let (tasks, counter) = (TASKS[variant], bench.counter());
    let mut cluster = Cluster::<1, { super::MOST }>::new(LowTasks::Stop);
    let mut add = |deadline| {
        let task = Task {
            deadline: Duration(deadline),
            ..Task::periodic(Duration(PERIOD), Duration(PERIOD))
        };
        let added = cluster.add(task, Instant(0), &Unchecked);
        added.expect("there is room for the task")
    };
    // The first runs; the jobs of the others wait.
    let first = add(1);
    for number in 1..tasks {
        add(2 * PERIOD + number as u64);
    }
    let last = TaskId(tasks as u16 - 1);
    assert!(first < last);
    let mut now = Instant(0);
    let decide = |cluster: &mut Cluster<1, { super::MOST }>, now: Instant| {
        let before = counter.now();
        cluster.decide(now, &mut |_| ());
        counter.between(before, counter.now())
    };
    decide(&mut cluster, now);
    let samples = repeated(|| {
        let completed = cluster.complete(last, now);
        completed.expect("it has a job");
        let without = decide(&mut cluster, now);
        now = now + Duration(PERIOD);
        let with = decide(&mut cluster, now);
        Ok(with - without.min(with))
    })?;
    bench.report("release", &[("tasks", tasks.into())], &samples);
    Ok(())
}
