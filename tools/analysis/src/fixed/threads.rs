//! Threads in their contexts.

use crate::model::{Call, Core, Replenishment, Task, Thread, Waits};
use crate::supply::{Processor, Recurring, Supply};
use crate::{Error, Finding, Method, Result, Time, Verdict};

use super::blocking::blocking;
use super::response::{Interference, Response, longest};

/// [`thread_response`] of a thread whose context covers its jobs.
pub const IN_CONTEXT: Method = Method {
    name: "response time by the busy window, in a context that covers each job",
    source: "Tindell, Burns and Wellings, RTS 1994; Sprunt, Sha and Lehoczky, RTS 1989 (sporadic servers)",
    assumptions: &[
        "between release and end jobs wait only for servers, as long as stated; waiting counts like execution",
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
        "between release and end jobs wait only for servers, as long as stated; after each waiting the budget can be \
         missing again",
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
pub fn is_covered(core: &Core, thread: usize) -> bool {
    let Thread {
        task,
        context,
        waits,
        ..
    } = &core.threads()[thread];
    context.is_none_or(|context| {
        context.is_round_robin()
            // What a job uses after waiting is replenished that much later.
            || (waits.count == 0 || waits.is_charged)
                && context.budget() >= needed(core, thread)
                && context.period() <= task.period() - task.jitter()
                && context.replenishment() == Replenishment::Sporadic
    })
}

/// The budget that a whole job needs. Before a call, which may be the last thing that the job does, as much as the
/// threshold must be left of it.
fn needed(core: &Core, thread: usize) -> Time {
    let waits = core.threads()[thread].waits;
    let demand = core.demand(thread) + charged(waits);
    let calls = core.all_calls(thread);
    let left_over = |call: &Call| Some(core.server(call).threshold? - core.request(call));
    let most = calls.into_iter().filter_map(left_over).max();
    demand + core.kernel() + most.unwrap_or_default().max(Time::ZERO)
}

/// The waiting that is charged to the context.
fn charged(waits: Waits) -> Time {
    match waits.is_charged {
        true => waits.time,
        false => Time::ZERO,
    }
}

/// The threads of a thread's priority or above, and how they interfere.
pub fn interference(core: &Core, thread: usize) -> (Vec<usize>, Vec<Interference>) {
    let priority = core.threads()[thread].priority;
    (core.threads().iter().enumerate())
        .filter(|(place, other)| *place != thread && other.priority >= priority)
        .map(|(place, other)| {
            let interference = match other.context {
                // Jobs that wait for budget may run later in a row, so their demand says nothing.
                Some(context) if !is_covered(core, place) => Interference::of_context(context),
                // Waiting counts like execution, because it makes the rest of a job run later.
                context => Interference::of_jobs(core.occupied(place), &other.task, context),
            };
            (place, interference)
        })
        .unzip()
}

/// By how much a thread is blocked: by a request of a lower-priority thread and by a section of the kernel, when it is
/// released and after each waiting.
///
/// # Errors
/// As for [`blocking`].
pub fn blocked(core: &Core, thread: usize) -> Result<Time> {
    let times = i128::from(core.threads()[thread].waits.count) + 1;
    Ok((blocking(core, thread)?.value.time + core.section()) * times)
}

/// The longest response time of a thread's jobs, with the servers that they call.
///
/// # Errors
/// If the core is overloaded, no bound is found, a request may be interrupted by a lack of budget, or the context
/// cannot get its budget in each period.
pub fn thread_response(core: &Core, thread: usize) -> Result<Finding<Guarantee>> {
    thread_response_on(core, thread, &Processor)
}

/// The same on a supply that all threads of the core share, such as the turns of their domain.
///
/// # Errors
/// As for [`thread_response`].
pub fn thread_response_on(
    core: &Core,
    thread: usize,
    processor: &dyn Supply,
) -> Result<Finding<Guarantee>> {
    let Thread {
        task,
        context,
        waits,
        ..
    } = &core.threads()[thread];
    let name = task.name();
    let (others, interference) = interference(core, thread);
    let Some(context) = context.filter(|_| !is_covered(core, thread)) else {
        let (blocking, cost) = (blocked(core, thread)?, core.occupied(thread));
        let response = longest(name, cost, task, &interference, blocking, processor)?;
        return Ok(IN_CONTEXT.finds(Guarantee {
            response,
            others,
            supply: None,
        }));
    };
    let used_up = budget_response(core, thread, processor)?.value.bound;
    let supply = context
        .supply(used_up, core.kernel())
        .map_err(|error| match error {
            Error::Impossible { what, why } => {
                Error::impossible(format!("{what} of task `{name}`"), why)
            }
            other => other,
        })?;
    let demand = core.demand(thread) + core.deferred(thread) + charged(*waits);
    let mut response = longest(name, demand, task, &[], Time::ZERO, &supply)?;
    if waits.count > 0 {
        // After each waiting, the budget can be missing as long as after the release.
        let again = supply.blackout() * i128::from(waits.count) + (waits.time - charged(*waits));
        response.bound += again;
        response.missing += again;
        if response.bound > task.period() {
            return Err(Error::NotApplicable {
                method: ON_SUPPLY.name,
                why: format!(
                    "a job of task `{name}` waits {} times and can take {}, longer than its period of {}; give the \
                     task a larger budget, or an idling context that covers its jobs",
                    waits.count,
                    response.bound,
                    task.period()
                ),
            });
        }
    }
    Ok(ON_SUPPLY.finds(Guarantee {
        response,
        others,
        supply: Some(supply),
    }))
}

/// [`budget_response`] and its sources.
pub const BUDGET_IN_TIME: Method = Method {
    name: "when a budget is used up, by the busy window",
    source: "Davis and Burns, RTSS 2005 (servers of fixed priority)",
    assumptions: &[
        "the thread is always ready, and its context gets its budget like a sporadic task of its priority",
        "other threads may do whatever their contexts permit",
    ],
};

/// How long after a budget is there it is used up at most, by a thread that is always ready. Up to the period, the
/// budget is a promise that the core can keep.
///
/// # Errors
/// If the thread has no context, the core is overloaded, no bound is found, or a request of another thread may be
/// interrupted by a lack of budget.
pub fn budget_response(
    core: &Core,
    thread: usize,
    processor: &dyn Supply,
) -> Result<Finding<Response>> {
    let Thread { task, context, .. } = &core.threads()[thread];
    let name = task.name();
    let Some(context) = context else {
        return Err(Error::NotApplicable {
            method: BUDGET_IN_TIME.name,
            why: format!("task `{name}` has no context"),
        });
    };
    let (_, interference) = interference(core, thread);
    // The context as a task.
    let budget = Task::periodic(name, context.budget(), context.period())?;
    let (cost, blocking) = (budget.cost(), blocked(core, thread)?);
    let response = longest(name, cost, &budget, &interference, blocking, processor)?;
    Ok(BUDGET_IN_TIME.finds(response))
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
