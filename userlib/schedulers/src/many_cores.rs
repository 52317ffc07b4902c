//! Tests of global EDF on several cores.

use crate::admission::Admission;
use crate::fraction::Fraction;
use crate::task::Task;
use crate::time::Duration;

/// Two sufficient tests of preemptive EDF on any number of identical cores, between which jobs migrate; one of them
/// must succeed. In the first, a deadline after the period counts as the period; the second is for deadlines up to
/// periods. Budgets and deadlines are those of low mode; [`Charged`](crate::Charged) adds overheads.
///
/// By densities (J. Goossens, S. Funk and S. Baruah, Real-Time Systems, 2003; with deadlines before periods M. Bertogna
/// and others, ECRTS 2005): if the largest is d, those of all tasks are at most m - (m - 1) d in sum, on m cores.
///
/// By interference (M. Bertogna and others, IEEE TPDS, 2009; the first round): in the window of each job the others
/// cannot keep all cores busy for longer than the job can wait. Time is whole ticks.
#[derive(Clone, Copy, Debug)]
pub struct ManyCores;

/// Neither test of [`ManyCores`] succeeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotShown {
    /// The place of the first task, in the order of their numbers, whose jobs may have to wait for too long by the second
    /// test; the new task is the last.
    pub task: usize,
    /// How long they may have to wait.
    pub waits: Duration,
    /// How long they can wait.
    pub slack: Duration,
}

impl Admission for ManyCores {
    type Reason = NotShown;

    fn test(
        &self,
        cores: usize,
        tasks: impl Iterator<Item = Task> + Clone,
    ) -> Result<(), NotShown> {
        if densities_fit(cores, tasks.clone()) {
            return Ok(());
        }
        let is_constrained = |task: Task| task.low_deadline() <= task.period;
        for (place, late) in tasks.clone().enumerate() {
            let others = tasks.clone().enumerate();
            let others = others.filter(|(other, _)| *other != place);
            let deadline = constrained(late);
            let slack = deadline - late.budget;
            let most = slack + Duration(1);
            let work = others
                .map(|(_, task)| due_in(task, deadline).min(most))
                .fold(Duration(0), |sum, work| sum + work);
            let waits = Duration(work.0 / cores as u64);
            let is_shown = waits <= slack && late.budget <= deadline;
            if !is_shown || !tasks.clone().all(is_constrained) {
                return Err(NotShown {
                    task: place,
                    waits,
                    slack,
                });
            }
        }
        Ok(())
    }
}

/// Whether the densities are small enough.
fn densities_fit(cores: usize, tasks: impl Iterator<Item = Task>) -> bool {
    let (mut sum, mut largest) = (Fraction::ZERO, Fraction::ZERO);
    for task in tasks {
        let density = Fraction::of(task.budget, constrained(task));
        sum = sum.plus(density);
        largest = largest.max(density);
    }
    for _ in 1..cores {
        sum = sum.plus(largest);
    }
    let share = Fraction::of(Duration(1), Duration(cores as u64));
    sum.times(share).is_at_most_one()
}

/// The most that a task executes with deadlines in the window of a job that ends with one of its own deadlines.
fn due_in(task: Task, window: Duration) -> Duration {
    let (jobs, rest) = (window.0 / task.period.0, window.0 % task.period.0);
    let carried = Duration(rest).min(task.budget);
    Duration(task.budget.0.saturating_mul(jobs)) + carried
}

/// The deadline, if it is not after the period.
fn constrained(task: Task) -> Duration {
    task.low_deadline().min(task.period)
}
