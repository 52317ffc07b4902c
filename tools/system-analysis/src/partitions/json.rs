//! Partitions as JSON; times are in nanoseconds.

use schedulability::guests::{Interface, Proxy};
use serde_json::{Value, json};
use system_description::System;
use system_description::file::GuestPolicy;
use system_description::system::Time as Given;

use super::{Needs, Partitions, text};

pub(super) fn of(all: &Partitions) -> String {
    let system = &all.system;
    let guests: Vec<_> = all.needs.iter().map(|one| guest(system, one)).collect();
    let schedule = match &all.schedule {
        Ok(found) => json!({
            "holds": found.misses.is_empty(),
            "late": found.misses,
            "turns": turns(&found.system),
            "lines": lines(&text::schedule(&found.system)),
        }),
        Err(why) => json!({ "holds": false, "why": why }),
    };
    let contexts = match &all.contexts {
        Ok(found) => json!({
            "holds": true,
            "contexts": contexts(&found.system),
            "lines": lines(&text::contexts(&found.system)),
        }),
        Err(why) => json!({ "holds": false, "why": why }),
    };
    let whole = json!({
        "title": text::title(system),
        "platform": system.platform,
        "holds": all.holds(),
        "switch": nanos(all.switch),
        "guests": guests,
        "schedule": schedule,
        "contexts": contexts,
    });
    format!("{whole:#}\n")
}

fn nanos(time: schedulability::Time) -> i64 {
    i64::try_from(time.nanos()).unwrap_or(i64::MAX)
}

/// What the description must say, a string for each line.
fn lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

fn guest(system: &System, needs: &Needs) -> Value {
    let component = &system[needs.component];
    let policy = component.guest.as_ref().map(|guest| match guest.policy {
        GuestPolicy::RateMonotonic => "rate-monotonic",
        GuestPolicy::Edf => "edf",
        GuestPolicy::TimeTable => "time-table",
    });
    let proxy = |one: &Option<Proxy>| {
        one.as_ref().map(|one| {
            json!({ "budget": nanos(one.budget), "period": nanos(one.period), "price": one.price })
        })
    };
    let interface = |one: &Option<Interface>| {
        one.as_ref()
            .map(|one| json!({ "budget": nanos(one.budget), "period": nanos(one.period) }))
    };
    let [fixed, sliding] = &needs.proxies;
    let [smallest_fixed, smallest_sliding] = &needs.interfaces;
    json!({
        "name": component.name,
        "policy": policy,
        "used-parts-per-million": i64::try_from(needs.used).unwrap_or(i64::MAX),
        "proxy": { "fixed": proxy(fixed), "sliding": proxy(sliding) },
        "smallest": { "fixed": interface(smallest_fixed), "sliding": interface(smallest_sliding) },
    })
}

fn turns(system: &System) -> Value {
    let turns = system.schedule.iter();
    let turns = turns
        .map(|turn| json!({ "domain": system[turn.domain], "duration": turn.duration.as_nanos() }));
    turns.collect()
}

fn contexts(system: &System) -> Value {
    let guests = system.components.iter().filter(|one| one.guest.is_some());
    let contexts = guests.filter_map(|one| match one.time {
        Given::Context(context) => Some(json!({
            "component": one.name,
            "budget": context.budget.as_nanos(),
            "period": context.period.as_nanos(),
            "priority": one.priority,
        })),
        _ => None,
    });
    contexts.collect()
}
