//! Tasks and what is known of them in advance.

use crate::time::Duration;

/// The number of a task in its cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub u16);

impl TaskId {
    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// A sequence of jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// What releases the jobs.
    pub arrivals: Arrivals,
    /// The time from one release to the next: exactly, or at least if the task is sporadic.
    pub period: Duration,
    /// The time after its release by which a job must be completed.
    pub deadline: Duration,
    /// The execution time of a job. In low mode if the task has high criticality.
    pub budget: Duration,
    /// What happens to a job that exceeds its budget.
    pub overrun: Overrun,
    /// The criticality of the task.
    pub criticality: Criticality,
}

/// What releases the jobs of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// Time: the first job is released `offset` after the task is added, the others a period apart. A job
    /// whose predecessor is not completed waits for it, and its deadline still counts from its release.
    Periodic {
        /// Time to the first release.
        offset: Duration,
    },
    /// Events, reported by [`Cluster::arrive`](crate::Cluster::arrive). A job that arrives less than a period
    /// after the last release is released when the period has passed.
    Sporadic,
}

/// What happens to a job that has used its budget and is not completed. It is reported and counted in any
/// case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overrun {
    /// The job ends. Its thread must be restarted before the next job.
    Abort,
    /// The job's budget grows by this amount, each time.
    Extend(Duration),
    /// The job continues in the background, after all jobs that have a deadline.
    Lower,
    /// The job continues as before.
    Count,
}

/// The criticality of a task (Vestal, 2007).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Criticality {
    /// The task may be degraded in high mode.
    Low,
    /// The task keeps its deadlines in both modes.
    High {
        /// The execution time of a job in high mode. A job that exceeds [`Task::budget`] in low mode switches
        /// the cluster to high mode.
        budget: Duration,
        /// The deadline in low mode; see [`EdfVd`](crate::EdfVd).
        virtual_deadline: Duration,
    },
}

impl Task {
    /// A periodic task of low criticality whose deadline is its period, and whose overruns are only counted.
    pub const fn periodic(period: Duration, budget: Duration) -> Self {
        Self {
            arrivals: Arrivals::Periodic {
                offset: Duration(0),
            },
            period,
            deadline: period,
            budget,
            overrun: Overrun::Count,
            criticality: Criticality::Low,
        }
    }

    /// The execution time of a job in high mode, of a task that keeps its deadlines there.
    pub(crate) fn high_budget(&self) -> Option<Duration> {
        match self.criticality {
            Criticality::Low => None,
            Criticality::High { budget, .. } => Some(budget),
        }
    }

    /// The deadline by which the task is scheduled in low mode.
    pub(crate) fn low_deadline(&self) -> Duration {
        match self.criticality {
            Criticality::Low => self.deadline,
            Criticality::High {
                virtual_deadline, ..
            } => virtual_deadline,
        }
    }

    /// Why no cluster can schedule the task.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        let high = self.high_budget().unwrap_or(self.budget);
        let zero = Duration(0);
        if self.period == zero || self.budget == zero || self.low_deadline() == zero {
            Some("period, budget and deadline must be greater than 0")
        } else if high < self.budget {
            Some("the budget of high mode must not be less than that of low mode")
        } else if self.low_deadline() > self.deadline {
            Some("the virtual deadline must not be later than the deadline")
        } else if self.overrun == Overrun::Extend(zero) {
            Some("an overrun must extend the budget by more than 0")
        } else {
            None
        }
    }
}
