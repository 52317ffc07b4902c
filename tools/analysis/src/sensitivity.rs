//! By how much costs may grow.

use crate::budget::least;
use crate::model::Task;
use crate::{Finding, Method, Result, Time};

/// [`largest_cost`] and [`largest_scale`], and their source.
pub const SENSITIVITY: Method = Method {
    name: "sensitivity of costs by bisection",
    source: "Vestal, IEEE TSE 1994; Punnekkat, Davis and Burns, ASIAN 1997",
    assumptions: &["what a test accepts, it accepts with shorter jobs, too (sustainability)"],
};

/// The largest cost of one task with which the set is accepted, or none if the set is not accepted as it is.
///
/// # Errors
/// Those of `accepts`.
pub fn largest_cost(
    tasks: &[Task],
    task: usize,
    mut accepts: impl FnMut(&[Task]) -> Result<bool>,
) -> Result<Finding<Option<Time>>> {
    let own = &tasks[task];
    let most = own.deadline() - own.jitter();
    let mut with = |cost: Time| {
        let mut changed = tasks.to_vec();
        changed[task] = own.with_cost(cost)?;
        accepts(&changed)
    };
    if !with(own.cost())? {
        return Ok(SENSITIVITY.finds(None));
    }
    // The least reduction from the most that can be.
    let less = least(Time::ZERO, most - own.cost(), |less| with(most - less))?;
    Ok(SENSITIVITY.finds(less.map(|less| most - less)))
}

/// By how many parts per million all costs may be scaled at once, rounded down. Below a million, costs are too large.
///
/// # Errors
/// Those of `accepts`.
pub fn largest_scale(
    tasks: &[Task],
    mut accepts: impl FnMut(&[Task]) -> Result<bool>,
) -> Result<Finding<u64>> {
    const MOST: i128 = 1_000_000_000_000;
    let mut with = |parts: i128| {
        let scaled = tasks.iter().map(|task| {
            let cost = Time::of((task.cost().nanos() * parts).div_euclid(1_000_000));
            // A cost that is impossible for the task alone is not accepted either.
            task.with_cost(cost.max(Time::of(1))).ok()
        });
        match scaled.collect::<Option<Vec<_>>>() {
            Some(tasks) => accepts(&tasks),
            None => Ok(false),
        }
    };
    let less = least(Time::ZERO, Time::of(MOST), |less| {
        let parts = MOST - less.nanos();
        Ok(parts == 0 || with(parts)?)
    })?;
    let parts = MOST - less.unwrap_or_default().nanos();
    Ok(SENSITIVITY.finds(u64::try_from(parts).unwrap_or_default()))
}
