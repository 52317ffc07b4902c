//! A simulator that knows nothing of the analyses: jobs run on cores in steps of one nanosecond.

use schedulability::Time;
use schedulability::model::Task;

/// A job in progress.
#[derive(Clone, Debug)]
pub struct Job {
    /// The place of its task.
    pub task: usize,
    /// When it arrived.
    pub arrival: i128,
    /// By when it must be done.
    pub due: i128,
    /// What it has executed.
    pub done: i128,
    /// What it executes in all.
    pub cost: i128,
}

/// A run.
pub struct Run<'a> {
    /// The tasks.
    pub tasks: &'a [Task],
    /// Arrivals, with the release and the execution of each job: task, arrival, release, cost.
    pub jobs: Vec<(usize, i128, i128, i128)>,
    /// The number of cores.
    pub cores: usize,
    /// When to stop.
    pub end: i128,
}

/// What a run has shown.
#[derive(Debug)]
pub struct Seen {
    /// The longest response time of each task, of jobs that are not done as well.
    pub longest: Vec<i128>,
    /// Whether a job was late.
    pub late: bool,
}

/// Whether the processor is there, and in what order jobs run.
pub trait Policy {
    /// The job with the smallest key runs.
    fn key(&self, job: &Job) -> i128;

    /// Whether the cores run at a time.
    fn is_there(&self, _time: i128) -> bool {
        true
    }

    /// A job has executed for one nanosecond. Returns the tasks whose jobs are dropped.
    fn after(&mut self, _job: &Job) -> Option<Vec<usize>> {
        None
    }
}

/// By place in the set.
pub struct ByPlace;

impl Policy for ByPlace {
    fn key(&self, job: &Job) -> i128 {
        job.task as i128
    }
}

/// Earliest deadline first.
pub struct ByDeadline;

impl Policy for ByDeadline {
    fn key(&self, job: &Job) -> i128 {
        job.due
    }
}

/// Any policy, on a processor that is there at some times only.
pub struct At<P>(pub P, pub Vec<bool>);

impl<P: Policy> Policy for At<P> {
    fn key(&self, job: &Job) -> i128 {
        self.0.key(job)
    }

    fn is_there(&self, time: i128) -> bool {
        self.1[time as usize % self.1.len()]
    }
}

/// Each task's jobs as early as they can be, from its offset on.
pub fn periodic(tasks: &[Task], offsets: &[i128], end: i128) -> Vec<(usize, i128, i128, i128)> {
    let mut jobs = Vec::new();
    for (place, task) in tasks.iter().enumerate() {
        let mut arrival = offsets[place];
        while arrival < end {
            jobs.push((place, arrival, arrival, task.cost().nanos()));
            arrival += task.period().nanos();
        }
    }
    jobs
}

/// The time after which a synchronous periodic set repeats.
pub fn hyperperiod(tasks: &[Task]) -> i128 {
    let divisor = |mut one: i128, mut other: i128| {
        while other != 0 {
            (one, other) = (other, one % other);
        }
        one
    };
    tasks.iter().fold(1, |all, task| {
        let period = task.period().nanos();
        all / divisor(all, period) * period
    })
}

impl Run<'_> {
    /// Runs under a policy. Jobs of one task run in order.
    pub fn run(mut self, policy: &mut impl Policy) -> Seen {
        self.jobs
            .sort_by_key(|(task, _, release, _)| (*release, *task));
        let mut coming = self.jobs.into_iter().peekable();
        let mut ready: Vec<Job> = Vec::new();
        let mut dropped = vec![false; self.tasks.len()];
        let mut longest = vec![0; self.tasks.len()];
        let mut late = false;
        for now in 0..self.end {
            while let Some((task, arrival, _, cost)) = coming.next_if(|job| job.2 <= now) {
                let due = arrival + self.tasks[task].deadline().nanos();
                if !dropped[task] {
                    let done = 0;
                    ready.push(Job {
                        task,
                        arrival,
                        due,
                        done,
                        cost,
                    });
                }
            }
            if policy.is_there(now) {
                let mut order: Vec<_> = (0..ready.len())
                    .filter(|place| {
                        let job = &ready[*place];
                        !ready[..*place].iter().any(|before| before.task == job.task)
                    })
                    .collect();
                order.sort_by_key(|place| policy.key(&ready[*place]));
                for place in order.into_iter().take(self.cores) {
                    ready[place].done += 1;
                    if let Some(tasks) = policy.after(&ready[place]) {
                        tasks.into_iter().for_each(|task| dropped[task] = true);
                    }
                }
            }
            ready.retain(|job| {
                let response = now + 1 - job.arrival;
                let ends = job.done == job.cost;
                if !dropped[job.task] {
                    longest[job.task] = response.max(longest[job.task]);
                    late |= response > job.due - job.arrival;
                }
                !ends && !dropped[job.task]
            });
        }
        Seen { longest, late }
    }
}

/// Whole nanoseconds.
pub fn ns(time: i128) -> Time {
    Time::from_nanos(time as u64)
}
