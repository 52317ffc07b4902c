//! Tests that a set of tasks keeps its deadlines.

use crate::fraction::Fraction;
use crate::task::Task;
use crate::time::Duration;

/// A test that decides whether a task may join a cluster.
pub trait Admission {
    /// Why a set is refused.
    type Reason;

    /// Whether the tasks keep all deadlines on this number of cores.
    fn test(
        &self,
        cores: usize,
        tasks: impl Iterator<Item = Task> + Clone,
    ) -> Result<(), Self::Reason>;
}

/// Accepts every set: deadlines may be missed.
#[derive(Clone, Copy, Debug)]
pub struct Unchecked;

impl Admission for Unchecked {
    type Reason = core::convert::Infallible;

    fn test(&self, _: usize, _: impl Iterator<Item = Task> + Clone) -> Result<(), Self::Reason> {
        Ok(())
    }
}

/// The exact test of preemptive EDF on one core, by the processor demand of sporadic tasks: QPA (F. Zhang and
/// A. Burns, IEEE Transactions on Computers, 2009). For periodic tasks with offsets it is sufficient only.
/// Budgets and deadlines are those of low mode; [`Charged`](crate::Charged) adds overheads.
#[derive(Clone, Copy, Debug)]
pub struct OneCore;

/// Why a set is refused by [`OneCore`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unschedulable {
    /// The test is for one core.
    ManyCores,
    /// The utilisation exceeds the core.
    Utilisation,
    /// In an interval of this length, jobs may need `demand` in order to keep their deadlines.
    Demand {
        /// The length.
        interval: Duration,
        /// The demand, which is longer.
        demand: Duration,
    },
    /// The answer needs more than a million steps.
    Undecided,
}

/// The most steps of a test, to bound it.
const MOST_STEPS: usize = 1_000_000;

impl Admission for OneCore {
    type Reason = Unschedulable;

    fn test(
        &self,
        cores: usize,
        tasks: impl Iterator<Item = Task> + Clone,
    ) -> Result<(), Unschedulable> {
        if cores != 1 {
            return Err(Unschedulable::ManyCores);
        }
        let utilisation = tasks
            .clone()
            .map(|task| Fraction::of(task.budget, task.period))
            .fold(Fraction::ZERO, Fraction::plus);
        if !utilisation.is_at_most_one() {
            return Err(Unschedulable::Utilisation);
        }
        if tasks.clone().all(|task| task.low_deadline() >= task.period) {
            return Ok(());
        }
        let end = busy_period(tasks.clone())?;
        let earliest = tasks.clone().map(|task| task.low_deadline().0).min();
        let earliest = earliest.unwrap_or(0);
        let Some(mut interval) = deadline_before(tasks.clone(), end) else {
            return Ok(());
        };
        for _ in 0..MOST_STEPS {
            let demand = demand(tasks.clone(), interval);
            if demand > interval {
                return Err(Unschedulable::Demand {
                    interval: Duration(interval),
                    demand: Duration(demand),
                });
            }
            if demand <= earliest {
                return Ok(());
            }
            interval = if demand < interval {
                demand
            } else {
                let before = deadline_before(tasks.clone(), interval);
                before.ok_or(Unschedulable::Undecided)?
            };
        }
        Err(Unschedulable::Undecided)
    }
}

/// The length of the interval in which the core is never idle if all tasks release at its beginning.
fn busy_period(tasks: impl Iterator<Item = Task> + Clone) -> Result<u64, Unschedulable> {
    let mut length = sum(tasks.clone().map(|task| task.budget.0));
    for _ in 0..MOST_STEPS {
        let jobs = |task: Task| task.budget.0.saturating_mul(length.div_ceil(task.period.0));
        let longer = sum(tasks.clone().map(jobs));
        if longer == length {
            return Ok(length);
        }
        length = longer;
    }
    Err(Unschedulable::Undecided)
}

/// The execution of all jobs with release and deadline in an interval of this length.
fn demand(tasks: impl Iterator<Item = Task>, interval: u64) -> u64 {
    let jobs = |task: Task| match interval.checked_sub(task.low_deadline().0) {
        Some(rest) => rest / task.period.0 + 1,
        None => 0,
    };
    sum(tasks.map(|task| task.budget.0.saturating_mul(jobs(task))))
}

/// The latest deadline before `end` if all tasks release at 0.
fn deadline_before(tasks: impl Iterator<Item = Task>, end: u64) -> Option<u64> {
    let latest = |task: Task| {
        let rest = end.checked_sub(1)?.checked_sub(task.low_deadline().0)?;
        Some(task.low_deadline().0 + rest / task.period.0 * task.period.0)
    };
    tasks.filter_map(latest).max()
}

fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}
