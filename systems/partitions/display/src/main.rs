//! A guest with a scheduler of its own: two tasks, of which that with the shorter period comes first. When all jobs are
//! done it never waits again, which no other guest notices: its turns end.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::time::{Clock, Load};
use userlib::{Microseconds, println};

userlib::component!(main);

/// A job runs for so much time before the guest decides again.
const STEP: Microseconds = Microseconds(100);

struct Task {
    period: Microseconds,
    /// The steps of a job, a little less than the description says.
    steps: u32,
    jobs: u32,
    done: u32,
    /// The release of the job that is next, or not done yet.
    release: Microseconds,
    left: u32,
}

impl Task {
    const fn new(period: Microseconds, steps: u32, jobs: u32) -> Self {
        Self {
            period,
            steps,
            jobs,
            done: 0,
            release: Microseconds(0),
            left: steps,
        }
    }

    fn is_ready(&self, now: Microseconds) -> bool {
        self.done < self.jobs && self.release <= now
    }

    /// Does a step of its job.
    fn step(&mut self, clock: &Clock, load: Load) {
        load.work(STEP);
        self.left -= 1;
        if self.left == 0 {
            let deadline = self.release + self.period;
            assert!(clock.now() <= deadline, "job {} is late", self.done);
            (self.done, self.left, self.release) = (self.done + 1, self.steps, deadline);
        }
    }
}

fn main(given: Given) {
    let clock = &given.clock;
    let load = Load::calibrate_often(clock);
    let mut tasks = [
        Task::new(Microseconds::from_millis(40), 18, 10),
        Task::new(Microseconds::from_millis(70), 55, 6),
    ];
    let start = clock.now();
    tasks.iter_mut().for_each(|task| task.release = start);
    while tasks.iter().any(|task| task.done < task.jobs) {
        let now = clock.now();
        if let Some(task) = tasks.iter_mut().find(|task| task.is_ready(now)) {
            task.step(clock, load);
        }
    }
    println!(
        "display: {} fast and {} slow jobs in time",
        tasks[0].done, tasks[1].done
    );
    loop {
        load.work(STEP);
    }
}
