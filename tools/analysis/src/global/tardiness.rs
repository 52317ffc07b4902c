//! How late jobs can be, if deadlines are soft.

use num_traits::ToPrimitive;

use crate::fault::{self, Fault};
use crate::model::Task;
use crate::{Error, Finding, Method, Result, Time};

use super::Set;

/// [`tardiness`] and its source.
pub const TARDINESS: Method = Method {
    name: "G-EDF tardiness",
    source: "Devi and Anderson, RTSS 2005; RTS 2008",
    assumptions: &[
        "identical cores, preemption and migration at any time, overheads are in the costs",
        "deadlines equal periods, and there is no jitter; a late job does not delay the next arrival",
        "jobs do not wait for anything between release and end",
    ],
};

/// How late each task's jobs can be: its own cost plus (the sum of the `k` largest costs, less the smallest) /
/// (m - the sum of the `k` - 1 largest utilisations), where `k` is the utilisation rounded up, less 1.
///
/// # Errors
/// If the set has jitter or deadlines other than periods, or its utilisation is above the number of cores.
pub fn tardiness(tasks: &[Task], cores: usize) -> Result<Finding<Vec<Time>>> {
    let set = Set::new(&TARDINESS, tasks, cores)?;
    if let Some(task) = tasks.iter().find(|task| task.deadline() != task.period()) {
        return Err(Error::NotApplicable {
            method: TARDINESS.name,
            why: format!("the deadline of task `{}` is not its period", task.name()),
        });
    }
    let used = set.utilisation();
    if used > set.capacity {
        return Err(Error::Overload {
            what: "the task set".into(),
            needed: crate::supply::parts_per_million(&used).saturating_add(1),
            supplied: cores as u64 * 1_000_000,
        });
    }
    if cores == 1 {
        return Ok(TARDINESS.finds(vec![Time::ZERO; tasks.len()]));
    }
    let mut costs: Vec<_> = tasks.iter().map(Task::cost).collect();
    let mut rates: Vec<_> = tasks.iter().map(Task::utilisation).collect();
    costs.sort_unstable();
    rates.sort_unstable();
    // At most so many tasks are late when not all cores are busy.
    let many = used
        .ceil()
        .to_integer()
        .to_usize()
        .unwrap_or_default()
        .saturating_sub(1);
    let largest: Time = costs.iter().rev().take(many).copied().sum();
    let smallest = costs.first().copied().unwrap_or_default();
    let beside = rates.into_iter().rev().take(many.saturating_sub(1));
    let left = beside.fold(set.capacity.clone(), |left, rate| left - rate);
    let delay = Time::ceil(&((largest - smallest).max(Time::ZERO).ratio() / left));
    let late = tasks
        .iter()
        .map(|task| delay + fault::unless(Fault::OwnCost, task.cost()));
    Ok(TARDINESS.finds(late.collect()))
}
