//! The two criticality modes.

use super::{Action, Cluster};
use crate::task::Task;
use crate::time::{Duration, Instant};

/// The criticality mode of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Jobs keep the budgets of low mode, and all tasks their deadlines.
    Low,
    /// A job of a high task has exceeded its budget of low mode. High tasks keep their deadlines. The mode
    /// ends as soon as no job is left, except jobs in the background.
    High,
}

/// What happens to low tasks in high mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LowTasks {
    /// Their jobs are aborted, and none are released.
    Stop,
    /// Their periods and deadlines are multiplied by this number, of at least 1, and their jobs run as with
    /// `Background`.
    Stretch(u32),
    /// Their jobs run after all jobs that have a deadline.
    Background,
}

/// How a job released in some mode is scheduled.
pub(super) struct Timing {
    pub(super) period: Duration,
    pub(super) deadline: Duration,
    /// The deadline by which it is scheduled; none if the job is not released.
    pub(super) effective: Option<Duration>,
    pub(super) budget: Duration,
}

pub(super) fn timing(task: &Task, mode: Mode, low_tasks: LowTasks) -> Timing {
    let mut timing = Timing {
        period: task.period,
        deadline: task.deadline,
        effective: Some(task.low_deadline()),
        budget: task.budget,
    };
    if mode == Mode::Low {
        return timing;
    }
    if let Some(budget) = task.high_budget() {
        timing.effective = Some(task.deadline);
        timing.budget = budget;
        return timing;
    }
    match low_tasks {
        LowTasks::Stop => timing.effective = None,
        LowTasks::Background => timing.effective = Some(Duration(u64::MAX)),
        LowTasks::Stretch(factor) => {
            let times = |length: Duration| Duration(length.0.saturating_mul(factor.max(1).into()));
            timing.period = times(task.period);
            timing.deadline = times(task.deadline);
            timing.effective = Some(Duration(u64::MAX));
        }
    }
    timing
}

impl<const CORES: usize, const TASKS: usize> Cluster<CORES, TASKS> {
    /// The mode.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Switches to high mode, as the first overrun of a high task does; a no-operation in high mode.
    pub fn switch_to_high(&mut self, now: Instant, act: &mut dyn FnMut(Action)) {
        if self.mode == Mode::High {
            return;
        }
        self.mode = Mode::High;
        act(Action::Switched(Mode::High));
        for id in self.ids() {
            let Some(entry) = &mut self.entries[id.index()] else {
                continue;
            };
            let timing = timing(&entry.task, Mode::High, self.low_tasks);
            let Some(job) = &mut entry.job else {
                continue;
            };
            let Some(effective) = timing.effective else {
                self.abort(id, now, act);
                continue;
            };
            // A job that an overrun has put into the background stays there.
            if job.effective != Instant::NEVER {
                job.deadline = job.release + timing.deadline;
                job.effective = job.release + effective;
            }
            let deadline = job.effective;
            let more = timing.budget - entry.task.budget;
            let place = self.cores.iter_mut().find(|place| place.runs(id));
            let remaining = place.map_or(&mut job.remaining, |place| &mut place.remaining);
            if *remaining != Duration::UNLIMITED {
                *remaining = *remaining + more;
            }
            self.reorder(id, deadline);
        }
    }

    /// Returns from high to low mode if no job is left, except jobs in the background.
    #[cold]
    pub(super) fn return_to_low(&mut self, act: &mut dyn FnMut(Action)) {
        let entries = self.entries.iter().flatten();
        let mut jobs = entries.filter_map(|entry| entry.job.as_ref());
        if jobs.all(|job| job.effective == Instant::NEVER) {
            self.mode = Mode::Low;
            act(Action::Switched(Mode::Low));
        }
    }

    /// Whether jobs of the task are not released in the present mode.
    pub(super) fn stops(&self, task: &Task) -> bool {
        timing(task, self.mode, self.low_tasks).effective.is_none()
    }
}
