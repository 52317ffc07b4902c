//! What to change first, and how far each value may grow: by bisection over the whole analysis.

use schedulability::Time;
use system_description::system::{self, ComponentId, EndpointId};
use system_description::{Duration, System};

use crate::analyse::holds;
use crate::report::Change;
use crate::{Figures, time};

/// A value of the description that can be changed.
#[derive(Clone, Copy, Debug)]
enum Value {
    Cost(ComponentId),
    Budget(ComponentId),
    Guest(ComponentId, usize),
    Request(EndpointId),
}

/// Scales are in thousandths.
const WHOLE: u64 = 1_000;
/// Growth beyond ten times is not searched.
const MOST: u64 = 10 * WHOLE;

pub(crate) fn of(system: &System, figures: &Figures, is_good: bool) -> Vec<Change> {
    let mut found = Vec::new();
    for value in values(system) {
        let good = |scale: u64| holds(&scaled(system, value, scale), figures);
        let (mut low, mut high) = if is_good { (WHOLE, MOST) } else { (1, WHOLE) };
        // The largest good scale, if there is one.
        if !is_good && !good(low) || is_good && good(high) {
            continue;
        }
        while high - low > 1 {
            let middle = (low + high) / 2;
            if good(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        found.push((low, value));
    }
    // The largest reduction comes last, and so does the largest growth.
    found.sort_by_key(|(scale, _)| if is_good { *scale } else { WHOLE - scale });
    found
        .into_iter()
        .map(|(scale, value)| describe(system, value, scale))
        .collect()
}

fn values(system: &System) -> Vec<Value> {
    let mut values = Vec::new();
    for id in system.ids() {
        let one = &system[id];
        if one.job.as_ref().is_some_and(|job| !job.costs.is_empty()) {
            values.push(Value::Cost(id));
        } else if matches!(one.time, system::Time::Context(_)) && one.guest.is_none() {
            values.push(Value::Budget(id));
        }
        let tasks = one.guest.as_ref().map_or(0, |guest| guest.tasks.len());
        values.extend((0..tasks).map(|task| Value::Guest(id, task)));
    }
    let endpoints = (0..system.endpoints.len()).map(EndpointId);
    values.extend(
        endpoints
            .filter(|id| system[*id].cost.or(system[*id].service).is_some())
            .map(Value::Request),
    );
    values
}

fn scale(duration: Duration, scale: u64) -> Duration {
    let nanos = u128::from(duration.as_nanos()) * u128::from(scale) / u128::from(WHOLE);
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX).max(1))
}

fn scaled(system: &System, value: Value, by: u64) -> System {
    let mut system = system.clone();
    match value {
        Value::Cost(id) => {
            if let Some(job) = &mut system.components[id.0].job {
                job.costs
                    .iter_mut()
                    .for_each(|cost| *cost = scale(*cost, by));
            }
        }
        Value::Budget(id) => {
            if let system::Time::Context(context) = &mut system.components[id.0].time {
                context.budget = scale(context.budget, by).min(context.period);
            }
        }
        Value::Guest(id, task) => {
            if let Some(guest) = &mut system.components[id.0].guest {
                guest.tasks[task].cost = scale(guest.tasks[task].cost, by);
            }
        }
        Value::Request(id) => {
            let endpoint = &mut system.endpoints[id.0];
            endpoint.cost = endpoint.cost.map(|cost| scale(cost, by));
            endpoint.service = endpoint.service.map(|service| scale(service, by));
            let calls = system.components.iter_mut().flat_map(|one| &mut one.calls);
            for call in calls.filter(|call| call.to == id) {
                call.cost = call.cost.map(|cost| scale(cost, by));
            }
        }
    }
    system
}

fn describe(system: &System, value: Value, by: u64) -> Change {
    let (what, component, from) = match value {
        Value::Cost(id) => {
            let one = &system[id];
            let job = one.job.as_ref();
            let cost = job.and_then(|job| {
                job.costs
                    .get(usize::from(one.criticality))
                    .or(job.costs.last())
            });
            (
                format!("the cost of a job of `{}`", one.name),
                id,
                cost.copied(),
            )
        }
        Value::Budget(id) => {
            let one = &system[id];
            (
                format!("the budget of `{}`", one.name),
                id,
                one.time.budget(),
            )
        }
        Value::Guest(id, task) => {
            let guest = system[id].guest.as_ref().map(|guest| &guest.tasks[task]);
            let name = guest.map_or("", |task| &task.name);
            let what = format!("the cost of `{}/{name}`", system[id].name);
            (what, id, guest.map(|task| task.cost))
        }
        Value::Request(id) => {
            let what = format!("a request to `{}`", system.endpoint_name(id));
            (
                what,
                system[id].server,
                system[id].cost.or(system[id].service),
            )
        }
    };
    let from = from.unwrap_or_default();
    Change {
        what,
        component: system[component].name.clone(),
        from: time(from),
        to: Time::from_nanos(scale(from, by).as_nanos()),
    }
}
