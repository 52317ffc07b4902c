//! Blocking in servers.

use crate::model::{Call, Core, ServerId};
use crate::{Error, Finding, Method, Result, Time};

/// [`blocking`] and its sources.
pub const BLOCKING: Method = Method {
    name: "blocking by servers at ceiling priorities",
    source: "Sha, Rajkumar and Lehoczky, IEEE ToC 1990 (ceilings); Baker, RTS 1991 (stack resource policy); \
             Lyons, McLeod, Almatary and Heiser, EuroSys 2018 (donation)",
    assumptions: &[
        "each server is single-threaded, passive, and runs at its ceiling on its caller's context",
        "a request is never interrupted by a lack of budget: the endpoint has a threshold that covers it, the \
         caller's context covers its jobs, or a timeout handler ends the request",
        "servers do not wait for anything else",
    ],
};

/// By what a thread is blocked: at most one request of a lower-priority thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocking {
    /// For how long.
    pub time: Time,
    /// By which server, and for which thread's request.
    pub by: Option<(ServerId, usize)>,
}

/// The longest that a thread is blocked by requests of threads of lower priority.
///
/// A server runs at its ceiling. So, once a job has begun, no request of a lower-priority thread is in progress at
/// a ceiling of its priority or above, and none can begin: a job is blocked by one at the most, when it is released.
///
/// # Errors
/// If a request may be interrupted by a lack of budget.
pub fn blocking(core: &Core, thread: usize) -> Result<Finding<Blocking>> {
    let priority = core.threads()[thread].priority;
    let mut worst = Blocking {
        time: Time::ZERO,
        by: None,
    };
    for (other, caller) in core.threads().iter().enumerate() {
        for call in core.all_calls(other) {
            must_not_starve(core, other, call)?;
            let time = core.request(call);
            let blocks = caller.priority < priority && core.server(call).ceiling >= priority;
            if blocks && time > worst.time {
                let by = Some((call.server, other));
                worst = Blocking { time, by };
            }
        }
    }
    Ok(BLOCKING.finds(worst))
}

fn must_not_starve(core: &Core, caller: usize, call: &Call) -> Result<()> {
    let needed = core.request(call);
    let server = core.server(call);
    let enough = server.aborts
        || server
            .threshold
            .is_some_and(|threshold| threshold >= needed);
    if enough || super::threads::is_covered(core, caller) {
        return Ok(());
    }
    let has = match server.threshold {
        Some(threshold) => format!("a threshold of {threshold}"),
        None => "no threshold".into(),
    };
    Err(Error::NotApplicable {
        method: BLOCKING.name,
        why: format!(
            "a request of task `{}` to server `{}` takes {needed}, the server's endpoint has {has}, and the task's \
             context can be exhausted in the middle of a job; set a threshold of at least {needed}, or give the task \
             a budget for a whole job",
            core.threads()[caller].task.name(),
            server.name,
        ),
    })
}
