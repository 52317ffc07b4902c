//! Mixed criticality: adaptive mode change under fixed priorities.

use crate::fault::{self, Fault};
use crate::model::Core;
use crate::search::Search;
use crate::{Error, Finding, Method, Result, Time};

/// [`amc_rtb`] and its source.
pub const AMC_RTB: Method = Method {
    name: "adaptive mixed criticality, response-time bound (AMC-rtb)",
    source: "Baruah, Burns and Davis, RTSS 2011",
    assumptions: &[
        "two levels: criticality 0 is low, all above are high",
        "when a high task uses more than its low cost, the criticality level is raised at once, and low tasks run no \
         more than in the time left over",
        "deadlines are not above periods, and contexts never run out",
        "jobs do not wait for anything between release and end, except for servers by donation",
    ],
};

/// Response times in both modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MixedResponse {
    /// While the level is low.
    pub low: Time,
    /// Of a high task, when the level is raised during a job or before.
    pub high: Option<Time>,
}

/// The longest response times of a thread in both modes, or none where the deadline is missed.
///
/// # Errors
/// If deadlines are above periods, the thread has not one or two costs, or a request may be interrupted by a lack of
/// budget.
pub fn amc_rtb(core: &Core, thread: usize) -> Result<Finding<Option<MixedResponse>>> {
    let threads = core.threads();
    for (place, each) in threads.iter().enumerate() {
        let task = &each.task;
        let why = if task.deadline() > task.period() {
            "its deadline is above its period"
        } else if task.parameters().costs.len() > 2 {
            "it has more than two costs"
        } else if each.waits.count > 0 {
            "its jobs wait for servers"
        } else if !super::threads::is_covered(core, place) {
            "its context does not cover its jobs"
        } else {
            continue;
        };
        return Err(Error::NotApplicable {
            method: AMC_RTB.name,
            why: format!("task `{}`: {why}", task.name()),
        });
    }
    let is_high = |place: usize| threads[place].task.parameters().criticality > 0;
    let task = &threads[thread].task;
    let blocking = super::threads::blocked(core, thread)?;
    let higher: Vec<_> = (0..threads.len())
        .filter(|place| *place != thread && threads[*place].priority >= threads[thread].priority)
        .collect();
    let jobs = |place: usize, window: Time| {
        let task = &threads[place].task;
        (window + task.jitter()).covered_by(task.period())
    };
    let mut search = Search::of(task.name());
    let latest = task.deadline() - task.jitter();
    // A fixed point up to the deadline.
    let mut solve = |own: Time, more: &dyn Fn(Time) -> Time| {
        let all = |window: Time| (blocking + own + more(window)).min(latest + Time::of(1));
        search.fixed_point(blocking + own, all)
    };
    let low = solve(core.demand_at(thread, 0), &|window| {
        let each = |place: &usize| core.demand_at(*place, 0) * jobs(*place, window);
        higher.iter().map(each).sum()
    })?;
    if low > latest {
        return Ok(AMC_RTB.finds(None));
    }
    let mut found = MixedResponse {
        low: low + task.jitter(),
        high: None,
    };
    if is_high(thread) {
        let high = solve(core.demand_at(thread, 1), &|window| {
            let each = |place: &usize| match is_high(*place) {
                true => core.demand_at(*place, 1) * jobs(*place, window),
                // Low tasks run until the level is raised, which is before this job would end in low mode.
                false => fault::unless(
                    Fault::LowTasks,
                    core.demand_at(*place, 0) * jobs(*place, low),
                ),
            };
            higher.iter().map(each).sum()
        })?;
        if high > latest {
            return Ok(AMC_RTB.finds(None));
        }
        found.high = Some(high + task.jitter());
    }
    Ok(AMC_RTB.finds(Some(found)))
}
