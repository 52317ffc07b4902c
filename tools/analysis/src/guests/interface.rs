//! What a guest needs from outside, found by exact analysis of its tasks.

use num_traits::One;

use crate::budget::least;
use crate::edf;
use crate::fixed::{Interference, deadline_monotonic, rate_monotonic, response_time};
use crate::model::Task;
use crate::supply::{Recurring, Supply};
use crate::{Error, Finding, Method, Ratio, Result, Time};

use super::Slots;

/// [`smallest_budget`], [`smallest_interface`] and their sources.
pub const INTERFACE: Method = Method {
    name: "smallest interface of a guest in the periodic resource model",
    source: "Shin and Lee, RTSS 2003; Lipari and Bini, ECRTS 2003",
    assumptions: &[
        "the guest's tasks are sporadic, and do not wait for anything between release and end",
        "fixed slots: the guest runs at the same place of every period, so that the blackout is T - C",
        "sliding budgets: the budget may come at any time of its period, so that the blackout is 2 (T - C)",
    ],
};

/// How a guest schedules its tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Fixed priorities; the shorter the period, the higher.
    RateMonotonic,
    /// Fixed priorities; the shorter the deadline, the higher.
    DeadlineMonotonic,
    /// The earliest deadline first.
    Edf,
}

/// A budget in each period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface {
    /// What reaches the guest in each period.
    pub budget: Time,
    /// The period.
    pub period: Time,
    /// Where in its period the budget is.
    pub slots: Slots,
}

impl Interface {
    /// What the guest surely gets.
    ///
    /// # Errors
    /// If 0 < `budget` <= `period` does not hold.
    pub fn supply(&self) -> Result<Recurring> {
        match self.slots {
            Slots::Fixed => Recurring::fixed_slot(self.budget, self.period),
            Slots::Sliding => Recurring::sliding(self.budget, self.period),
        }
    }
}

/// Whether a guest's tasks meet all deadlines on a supply. A bound that is not found counts as a miss.
///
/// # Errors
/// If the analysis does not apply to the tasks.
pub fn fits(tasks: &[Task], policy: Policy, supply: &dyn Supply) -> Result<bool> {
    let order = match policy {
        Policy::RateMonotonic => rate_monotonic(tasks).value,
        Policy::DeadlineMonotonic => deadline_monotonic(tasks).value,
        Policy::Edf => return Ok(edf::schedulable(tasks, &[], supply)?.value.holds()),
    };
    let mut higher = Vec::new();
    for place in order {
        let task = &tasks[place];
        match response_time(task, &higher, Time::ZERO, supply) {
            Ok(found) if found.value.bound <= task.deadline() => {}
            Ok(_) | Err(Error::Overload { .. } | Error::NotFound { .. }) => return Ok(false),
            Err(error) => return Err(error),
        }
        higher.push(Interference::of(task));
    }
    Ok(true)
}

/// The smallest budget in each period with which a guest's tasks meet all deadlines, or none if the whole processor is
/// too little.
///
/// # Errors
/// If there are no tasks, the period is not positive, or the analysis does not apply to the tasks.
pub fn smallest_budget(
    tasks: &[Task],
    policy: Policy,
    slots: Slots,
    period: Time,
) -> Result<Finding<Option<Interface>>> {
    if tasks.is_empty() {
        let why = "it has no tasks; name at least one";
        return Err(Error::impossible("guest", why));
    }
    if period <= Time::ZERO || period > Time::LONGEST {
        let why = format!("a period of {period} is impossible");
        return Err(Error::impossible("guest", why));
    }
    let with = |budget| Interface {
        budget,
        period,
        slots,
    };
    let found = least(Time::of(1), period, |budget| {
        fits(tasks, policy, &with(budget).supply()?)
    })?;
    Ok(INTERFACE.finds(found.map(with)))
}

/// The interface that takes the smallest share of the processor, if each period costs `switch` on top of the budget; of
/// equal ones that with the longest period. The periods that are tried are the whole parts of the shortest task's, up to
/// a `most`th of it.
///
/// # Errors
/// As for [`smallest_budget`].
pub fn smallest_interface(
    tasks: &[Task],
    policy: Policy,
    slots: Slots,
    switch: Time,
    most: u32,
) -> Result<Finding<Option<Interface>>> {
    let shortest = tasks.iter().map(Task::period).min().unwrap_or_default();
    let mut best: Option<(Ratio, Interface)> = None;
    for parts in 1..=i128::from(most.max(1)) {
        let period = Time::of(shortest.nanos() / parts);
        if parts > 1 && period <= switch {
            break;
        }
        let Some(found) = smallest_budget(tasks, policy, slots, period)?.value else {
            continue;
        };
        let share = (found.budget + switch).over(period);
        if share <= Ratio::one() && best.as_ref().is_none_or(|(least, _)| share < *least) {
            best = Some((share, found));
        }
    }
    Ok(INTERFACE.finds(best.map(|(_, found)| found)))
}
