//! What a scheduler costs, charged to the tasks before they are tested.

use crate::admission::Admission;
use crate::edf_vd::{EdfVd, NotAccepted, Shares};
use crate::fraction::Fraction;
use crate::task::{Criticality, Task};
use crate::time::Duration;

/// The longest times of a scheduler's work, as `cargo xtask bench --suite edf --overheads FILE` measures them. There is no
/// default, so none can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overheads {
    /// From a release, or the report of a completed job, to the scheduler's first instruction.
    pub release_latency: Duration,
    /// A decision that releases one job.
    pub schedule: Duration,
    /// What each further release adds to a decision.
    pub release: Duration,
    /// From the decision to the next job's first instruction on the scheduler's own core.
    pub context_switch: Duration,
    /// The same on another core.
    pub remote_reschedule: Duration,
}

/// Charges overheads to the tasks, then applies a test: costs are longer, periods and deadlines shorter (B. Brandenburg,
/// PhD thesis, UNC 2011, chapter 3).
///
/// A scheduler at user level takes the core as a whole for each release, whether it preempts or not. So that, and not only
/// the interrupt's handler, is what the formula calls the cost of a release.
#[derive(Clone, Copy, Debug)]
pub struct Charged<T> {
    /// What the scheduler costs.
    pub overheads: Overheads,
    /// The test.
    pub test: T,
}

/// Why a set is refused by [`Charged`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotCharged<R> {
    /// The scheduler alone takes all of the time, or as long as a deadline.
    Scheduler,
    /// The test refuses the tasks with overheads: its reason.
    Tasks(R),
}

impl<T: Admission> Admission for Charged<T> {
    type Reason = NotCharged<T::Reason>;

    fn test(
        &self,
        cores: usize,
        tasks: impl Iterator<Item = Task> + Clone,
    ) -> Result<(), Self::Reason> {
        let charge = self.overheads.charge(cores, tasks.clone());
        if !tasks.clone().all(|task| charge(task).is_some()) {
            return Err(NotCharged::Scheduler);
        }
        let charged = self.test.test(cores, tasks.filter_map(charge));
        charged.map_err(NotCharged::Tasks)
    }
}

impl Charged<EdfVd> {
    /// Sets the virtual deadlines of the high tasks as [`EdfVd::set_virtual_deadlines`] does, with time for overheads.
    pub fn set_virtual_deadlines(self, tasks: &mut [Task]) -> Result<(), NotCharged<NotAccepted>> {
        for task in &mut *tasks {
            if let Criticality::High {
                virtual_deadline, ..
            } = &mut task.criticality
            {
                *virtual_deadline = task.deadline;
            }
        }
        let shares = {
            let all = tasks.iter().copied();
            let charge = self.overheads.charge(1, all.clone());
            if !all.clone().all(|task| charge(task).is_some()) {
                return Err(NotCharged::Scheduler);
            }
            Shares::of(all.filter_map(charge))
        };
        let latency = self.overheads.latency(1);
        let set = shares.set_virtual_deadlines(tasks, latency);
        set.map_err(NotCharged::Tasks)?;
        self.test(1, tasks.iter().copied())
    }
}

impl Overheads {
    /// A turn of the scheduler that releases nothing. On several cores it may let a job run on another one, for which it takes
    /// its own core, too.
    fn turn(self, cores: usize) -> Duration {
        let turn = self.release_latency + self.schedule + self.context_switch;
        match cores {
            0 | 1 => turn,
            _ => turn + self.remote_reschedule,
        }
    }

    /// How late a release may be seen: another event may have come just before it.
    fn latency(self, cores: usize) -> Duration {
        self.release_latency + self.turn(cores)
    }

    /// Adds overheads to one of these tasks; none if they leave no time for it.
    pub(crate) fn charge(
        self,
        cores: usize,
        tasks: impl Iterator<Item = Task> + Clone,
    ) -> impl Fn(Task) -> Option<Task> + Copy {
        let turn = self.turn(cores);
        let release = turn + self.release;
        let share = |task: Task| Fraction::of(release, task.period);
        let shares = tasks
            .clone()
            .map(share)
            .fold(Fraction::ZERO, Fraction::plus);
        let latency = self.latency(cores);
        let burst = tasks.fold(latency, |sum, _| sum + release);
        // Beside its release: a look at its budget just before its end, and the end.
        let own = turn + turn + burst;
        let (own, remote) = match cores {
            0 | 1 => (own, Duration(0)),
            // It may be preempted by one of each other task, and wait for the scheduler again before it continues.
            _ => (own + burst, self.remote_reschedule + self.remote_reschedule),
        };
        move |mut task| {
            let stretch = |budget| Some(shares.stretch(budget + own)? + remote);
            task.budget = stretch(task.budget)?;
            task.period = task.period - latency;
            task.deadline = task.deadline - latency;
            if let Criticality::High {
                budget,
                virtual_deadline,
            } = &mut task.criticality
            {
                *budget = stretch(*budget)?;
                *virtual_deadline = *virtual_deadline - latency;
            }
            task.fault().is_none().then_some(task)
        }
    }
}
