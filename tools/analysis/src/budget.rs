//! Budgets and periods for given tasks.

use crate::supply::Recurring;
use crate::{Finding, Method, Result, Time};

/// [`smallest_budget`] and [`smallest_bandwidth`], and their source.
pub const BUDGET: Method = Method {
    name: "smallest budget by bisection",
    source: "Shin and Lee, RTSS 2003; Lipari and Bini, ECRTS 2003",
    assumptions: &[
        "what a supply suffices for, a larger one does",
        "the budget may slide within its period, unless the caller's supply says otherwise",
    ],
};

/// The smallest whole number of nanoseconds from `least` to `most` that suffices, if any does.
pub(crate) fn least(
    least: Time,
    most: Time,
    mut suffices: impl FnMut(Time) -> Result<bool>,
) -> Result<Option<Time>> {
    if least > most || !suffices(most)? {
        return Ok(None);
    }
    let (mut low, mut high) = (least, most);
    while low < high {
        let middle = Time::of((low + high).nanos().div_euclid(2));
        if suffices(middle)? {
            high = middle;
        } else {
            low = middle + Time::of(1);
        }
    }
    Ok(Some(high))
}

/// The smallest budget in a period with which the tasks fit, if any does.
///
/// # Errors
/// Those of `fits`, and an impossible period.
pub fn smallest_budget(
    period: Time,
    mut fits: impl FnMut(&Recurring) -> Result<bool>,
) -> Result<Finding<Option<Time>>> {
    let found = least(Time::of(1), period, |budget| {
        fits(&Recurring::sliding(budget, period)?)
    })?;
    Ok(BUDGET.finds(found))
}

/// Of these periods, the one that takes the smallest share of the processor, with its smallest budget. `kernel` is what
/// each period loses to the kernel; it comes on top of the budget.
///
/// # Errors
/// Those of `fits`, and an impossible period.
pub fn smallest_bandwidth(
    periods: &[Time],
    kernel: Time,
    mut fits: impl FnMut(&Recurring) -> Result<bool>,
) -> Result<Finding<Option<(Time, Time)>>> {
    let mut best: Option<(Time, Time)> = None;
    for period in periods {
        let Some(budget) = smallest_budget(*period, &mut fits)?.value else {
            continue;
        };
        let budget = budget + kernel;
        let is_better =
            best.is_none_or(|(other, in_period)| budget.over(*period) < other.over(in_period));
        if budget <= *period && is_better {
            best = Some((budget, *period));
        }
    }
    Ok(BUDGET.finds(best))
}
