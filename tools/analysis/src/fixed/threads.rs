//! Threads in their contexts.

use crate::model::{Call, Core, Replenishment, Task, Thread};
use crate::supply::{Processor, Recurring};
use crate::{Error, Finding, Method, Result, Time, Verdict};

use super::blocking::blocking;
use super::response::{Interference, Response, longest};

/// [`thread_response`] of a thread whose context covers its jobs.
pub const IN_CONTEXT: Method = Method {
    name: "response time by the busy window, in a context that covers each job",
    source: "Tindell, Burns and Wellings, RTS 1994; Sprunt, Sha and Lehoczky, RTS 1989 (sporadic servers)",
    assumptions: &[
        "jobs do not wait for anything between release and end, except for servers by donation",
        "what a job used is replenished before the next one is released",
        "other threads may do whatever their contexts permit; one without its own, or that its context covers, does \
         what its task states",
        "equal priorities interfere like higher ones",
    ],
};

/// [`thread_response`] of a thread whose budget may run out within a job.
pub const ON_SUPPLY: Method = Method {
    name: "response time on the supply of a context",
    source: "Shin and Lee, RTSS 2003 (supply and demand); Davis and Burns, RTSS 2005 (servers of fixed priority)",
    assumptions: &[
        "the context gets its budget like a sporadic task of its priority, and uses it up within that response time",
        "a call that is deferred by a threshold loses at most what the threshold asks for",
        "jobs do not wait for anything between release and end, except for servers by donation",
        "other threads may do whatever their contexts permit",
    ],
};

/// A bound on a thread's response time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guarantee {
    /// The bound, and what it is made of. `interference` is by [`Guarantee::others`]; on a supply it is empty, because
    /// it is in what is missing.
    pub response: Response,
    /// The threads that interfere, by their place in the core.
    pub others: Vec<usize>,
    /// The supply, if the thread's budget may run out within a job.
    pub supply: Option<Recurring>,
}

/// Whether all jobs of a thread surely have their budget, if each ends before the next one is released: the budget
/// holds a whole job and what the kernel needs, no threshold defers a call, and all is there again by the next release.
pub(super) fn is_covered(core: &Core, thread: usize) -> bool {
    let Thread { task, context, .. } = &core.threads()[thread];
    context.is_none_or(|context| {
        context.is_round_robin()
            || context.budget() >= needed(core, thread)
                && context.period() <= task.period() - task.jitter()
                && context.replenishment() == Replenishment::Sporadic
    })
}

/// The budget that a whole job needs. Before a call, which may be the last thing that the job does, as much as the
/// threshold must be left of it.
fn needed(core: &Core, thread: usize) -> Time {
    let demand = core.demand(thread);
    let calls = core.all_calls(thread);
    let left_over = |call: &Call| Some(core.server(call).threshold? - core.request(call));
    let most = calls.into_iter().filter_map(left_over).max();
    demand + core.kernel() + most.unwrap_or_default().max(Time::ZERO)
}

/// The threads of a thread's priority or above, and how they interfere.
fn others(core: &Core, thread: usize) -> (Vec<usize>, Vec<Interference>) {
    let priority = core.threads()[thread].priority;
    (core.threads().iter().enumerate())
        .filter(|(place, other)| *place != thread && other.priority >= priority)
        .map(|(place, other)| {
            let interference = match other.context {
                // Jobs that wait for budget may run later in a row, so their demand says nothing.
                Some(context) if !is_covered(core, place) => Interference::of_context(context),
                context => Interference::of_jobs(core.demand(place), &other.task, context),
            };
            (place, interference)
        })
        .unzip()
}

/// The longest response time of a thread's jobs, with the servers that they call.
///
/// # Errors
/// If the core is overloaded, no bound is found, a request may be interrupted by a lack of budget, or the context
/// cannot get its budget in each period.
pub fn thread_response(core: &Core, thread: usize) -> Result<Finding<Guarantee>> {
    let Thread { task, context, .. } = &core.threads()[thread];
    let name = task.name();
    let blocking = blocking(core, thread)?.value.time;
    let (others, interference) = others(core, thread);
    let Some(context) = context.filter(|_| !is_covered(core, thread)) else {
        let demand = core.demand(thread);
        let response = longest(name, demand, task, &interference, blocking, &Processor)?;
        return Ok(IN_CONTEXT.finds(Guarantee {
            response,
            others,
            supply: None,
        }));
    };
    // The context as a task, to know when each budget is used up.
    let budget = Task::periodic(name, context.budget(), context.period())?;
    let cost = budget.cost();
    let used_up = longest(name, cost, &budget, &interference, blocking, &Processor)?.bound;
    let supply = context
        .supply(used_up, core.kernel())
        .map_err(|error| match error {
            Error::Impossible { what, why } => {
                Error::impossible(format!("{what} of task `{name}`"), why)
            }
            other => other,
        })?;
    let demand = core.demand(thread) + core.deferred(thread);
    let response = longest(name, demand, task, &[], Time::ZERO, &supply)?;
    Ok(ON_SUPPLY.finds(Guarantee {
        response,
        others,
        supply: Some(supply),
    }))
}

/// Whether all threads of a core meet their deadlines.
///
/// # Errors
/// If a server or a context cannot be analysed. An overload is [`Verdict::Fails`], and a search without end
/// [`Verdict::Unknown`].
pub fn schedulable(core: &Core) -> Result<Verdict> {
    let mut verdict = Verdict::Holds;
    for (place, thread) in core.threads().iter().enumerate() {
        match thread_response(core, place) {
            Ok(found) if found.value.response.bound <= thread.task.deadline() => {}
            Ok(_) | Err(Error::Overload { .. }) => verdict = Verdict::Fails,
            Err(Error::NotFound { .. }) if verdict.holds() => verdict = Verdict::Unknown,
            Err(Error::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(verdict)
}
