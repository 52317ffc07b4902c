//! Response times by the busy window.

use crate::fault::{self, Fault};
use crate::model::{Arrivals, Context, Task};
use crate::search::Search;
use crate::supply::Supply;
use crate::{Finding, Method, Ratio, Result, Time};

/// [`response_time`] and its sources.
pub const RESPONSE_TIME: Method = Method {
    name: "response time by the busy window",
    source: "Lehoczky, RTSS 1990; Tindell, Burns and Wellings, RTS 1994; Bozhko and Brandenburg, ECRTS 2020",
    assumptions: &[
        "jobs do not wait for anything between release and end",
        "a job can be preempted at any time, except while it is blocked or counted as blocking",
        "equal priorities interfere like higher ones",
        "arrivals may coincide in the worst way (offsets are not used)",
    ],
};

/// How others interfere: the most that they execute in a window of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interference {
    /// What their jobs demand, if that bounds their execution: cost, arrivals and jitter.
    demand: Option<(Time, Arrivals, Time)>,
    /// Their context.
    context: Option<Context>,
}

impl Interference {
    /// By jobs that begin to run when they are released, or wait for higher-priority threads only.
    pub fn of(task: &Task) -> Self {
        Self::of_jobs(task.cost(), task, None)
    }

    /// The same with another cost, and a context that limits it as well.
    pub(crate) fn of_jobs(cost: Time, task: &Task, context: Option<Context>) -> Self {
        let demand = Some((cost, task.arrivals().clone(), task.jitter()));
        Self { demand, context }
    }

    /// By a thread of which only the context is known.
    pub fn of_context(context: Context) -> Self {
        let (demand, context) = (None, Some(context));
        Self { demand, context }
    }

    /// The most execution in a window of this length (the request bound function of jobs).
    pub fn in_window(&self, window: Time) -> Time {
        let demand = self.demand.as_ref().map(|(cost, arrivals, jitter)| {
            let jitter = fault::unless(Fault::JitterOfOthers, *jitter);
            *cost * arrivals.most_in(window + jitter)
        });
        let allowed = self.context.map(|context| context.most_in(window));
        let least = demand.into_iter().chain(allowed).min();
        least.unwrap_or(window)
    }

    /// The most in the long run.
    pub(crate) fn rate(&self) -> Ratio {
        let demand = self
            .demand
            .as_ref()
            .map(|(cost, arrivals, _)| arrivals.rate(*cost));
        let allowed = self
            .context
            .map(|context| context.budget().over(context.period()));
        let least = demand.into_iter().chain(allowed).min();
        least.unwrap_or_else(|| Time::of(1).over(Time::of(1)))
    }
}

/// The longest response time of a task's jobs, from arrival to end, and what it is made of:
/// `bound = jitter + own + interference + blocking + missing - arrived`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The bound.
    pub bound: Time,
    /// The task's jitter.
    pub jitter: Time,
    /// The task's execution in the busy window, up to the end of the job with the longest response.
    pub own: Time,
    /// The execution of each other thread in the busy window up to then.
    pub interference: Vec<Time>,
    /// The execution of lower-priority threads that block the task.
    pub blocking: Time,
    /// Supply that was missing.
    pub missing: Time,
    /// How long after the first job of the busy window that job arrived.
    pub arrived: Time,
}

/// The longest response time of a task, among `others` of its priority or above.
///
/// # Errors
/// If the utilisation is above the supply, or no bound is found.
pub fn response_time(
    task: &Task,
    others: &[Interference],
    blocking: Time,
    supply: &dyn Supply,
) -> Result<Finding<Response>> {
    let response = longest(task.name(), task.cost(), task, others, blocking, supply)?;
    Ok(RESPONSE_TIME.finds(response))
}

/// The same for another cost than the task's own.
pub(super) fn longest(
    what: &str,
    cost: Time,
    task: &Task,
    others: &[Interference],
    blocking: Time,
    supply: &dyn Supply,
) -> Result<Response> {
    let blocking = fault::unless(Fault::Blocking, blocking);
    let rates = others.iter().map(Interference::rate);
    let rate = rates.fold(task.arrivals().rate(cost), |sum, rate| sum + rate);
    let what = format!("task `{what}`");
    let mut search = Search::of(&what);
    search.must_end(&rate, blocking, supply)?;
    let mut worst: Option<Response> = None;
    let mut end = Time::ZERO;
    for job in 0.. {
        // The first job arrives `jitter` before the window begins; so its response counts from there.
        let own = cost * (job + 1);
        let arrived = task.arrivals().until(job);
        end = search.fixed_point(end.max(own), |end| {
            let interference: Time = others.iter().map(|other| other.in_window(end)).sum();
            supply.window_for(blocking + own + interference)
        })?;
        let bound = fault::unless(Fault::OwnJitter, task.jitter()) + end - arrived;
        if worst.as_ref().is_none_or(|worst| bound > worst.bound) {
            let interference: Vec<_> = others.iter().map(|other| other.in_window(end)).collect();
            let execution = blocking + own + interference.iter().copied().sum::<Time>();
            worst = Some(Response {
                bound,
                jitter: task.jitter(),
                own,
                interference,
                blocking,
                missing: end - execution,
                arrived,
            });
        }
        // The window ends before the next release, which is at most the jitter before the next arrival.
        if end + task.jitter() <= task.arrivals().until(job + 1) || fault::is(Fault::LaterJobs) {
            break;
        }
    }
    Ok(worst.expect("there is a first job"))
}
