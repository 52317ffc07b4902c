//! Waiting for servers that have time of their own.

use schedulability::Time;
use schedulability::fixed::{Interference, response_time};
use schedulability::model::{Parameters, Task};
use schedulability::supply::Processor;
use system_description::System;
use system_description::system::{Call, ComponentId};

use crate::time;

/// How long a request waits at most until its reply. The server takes requests in the order of priorities, one at
/// a time: one of lower priority that has begun, those of the same or a higher priority, and this one. Others can
/// be as late as their deadlines.
///
/// # Errors
/// What is not known, in a sentence.
pub(crate) fn waiting(system: &System, caller: ComponentId, call: &Call) -> Result<Time, String> {
    let endpoint = system.endpoint_name(call.to);
    let server = system[call.to].server;
    let name = &system[caller].name;
    let Some(service) = system[call.to].service else {
        return Err(format!(
            "`{name}` waits for `{endpoint}`, which has time of its own, for an unknown time; add \
             `service = \"...\"` to the endpoint"
        ));
    };
    let mut before = Vec::new();
    let mut blocking = Time::ZERO;
    for other in system.ids().filter(|other| *other != caller) {
        let one = &system[other];
        for call in one
            .calls
            .iter()
            .filter(|call| system[call.to].server == server)
        {
            let service = time(system[call.to].service.unwrap_or(service));
            if one.priority < system[caller].priority {
                blocking = blocking.max(service);
                continue;
            }
            let Some((job, period)) = one.job.as_ref().and_then(|job| Some((job, job.period?)))
            else {
                return Err(format!(
                    "`{name}` waits for `{endpoint}`, which `{}` can call as often as it likes; add a `job` to \
                     `{}`, or lower its priority",
                    one.name, one.name
                ));
            };
            let mut task = Parameters::new(
                &*one.name,
                service * i128::from(call.times.max(1)),
                time(period),
            );
            task.jitter = time(job.deadline.unwrap_or(period));
            task.deadline = Time::LONGEST;
            let task = Task::new(task).map_err(|error| error.to_string())?;
            before.push(Interference::of(&task));
        }
    }
    let own =
        Task::periodic(&**name, time(service), Time::LONGEST).map_err(|error| error.to_string())?;
    let found = response_time(&own, &before, blocking, &Processor);
    let found = found.map_err(|error| format!("the queue of `{endpoint}`: {error}"))?;
    Ok(found.value.bound)
}
