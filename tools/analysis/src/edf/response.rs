//! Response times under EDF.

use crate::fault::{self, Fault};
use crate::model::Task;
use crate::search::Search;
use crate::supply::Supply;
use crate::{Finding, Method, Result, Time};

use super::demand::busy_window;

/// [`response_times`] and its sources.
pub const RESPONSE_TIME: Method = Method {
    name: "response time under EDF by deadline busy windows",
    source: "Spuri, INRIA 1996; Bozhko and Brandenburg, ECRTS 2020 (search space, supply)",
    assumptions: &[
        "one processor, fully preemptive jobs in order of their absolute deadlines, ties in the worst order",
        "jobs do not wait for anything between release and end",
        "arrivals may coincide in the worst way (offsets are not used)",
        "no jitter",
    ],
};

/// The longest response time of each task.
///
/// A job that is released `offset` after the busy window's begin is delayed by the jobs that are due no later than it.
/// The response time can only be longest at offsets where that set of jobs grows.
///
/// # Errors
/// If the utilisation is above the supply, a task has jitter, or the search does not end.
pub fn response_times(tasks: &[Task], supply: &dyn Supply) -> Result<Finding<Vec<Time>>> {
    if let Some(task) = tasks.iter().find(|task| task.jitter() > Time::ZERO) {
        return Err(crate::Error::NotApplicable {
            method: RESPONSE_TIME.name,
            why: format!("task `{}` has jitter", task.name()),
        });
    }
    let mut search = Search::of("the task set");
    let busy = busy_window(tasks, supply, &mut search)?;
    let mut bounds = Vec::new();
    for (place, task) in tasks.iter().enumerate() {
        let mut longest = Time::ZERO;
        for other in tasks {
            // Where a job of `other` is due with the one of `task`.
            let first = other.deadline() - task.deadline();
            let earliest = (Time::ZERO - first).covered_by(other.period());
            for job in earliest.max(0).. {
                let offset = first + other.period() * job;
                if offset >= busy || fault::is(Fault::Offsets) && offset > Time::ZERO {
                    break;
                }
                search.step(offset)?;
                let response = response(tasks, place, offset, supply, &mut search)?;
                longest = longest.max(response);
            }
        }
        bounds.push(longest);
    }
    Ok(RESPONSE_TIME.finds(bounds))
}

/// The response time of the job released at an offset of the busy window.
fn response(
    tasks: &[Task],
    place: usize,
    offset: Time,
    supply: &dyn Supply,
    search: &mut Search<'_>,
) -> Result<Time> {
    let task = &tasks[place];
    let due = offset + task.deadline();
    let own = task.cost() * (offset.whole(task.period()) + 1);
    let end = search.fixed_point(own, |end| {
        let others = (tasks.iter().enumerate())
            .filter(|(other, _)| *other != place)
            .map(|(_, other)| {
                let released = end.covered_by(other.period());
                let early = (due - other.deadline()).whole(other.period()) + 1;
                other.cost() * released.min(early).max(0)
            });
        supply.window_for(own + others.sum())
    })?;
    // A busy window that ends before the job is released is another one.
    Ok((end - offset).max(Time::ZERO))
}
