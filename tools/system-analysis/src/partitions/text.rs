//! Partitions as text.

use std::fmt::Write;

use schedulability::Method;
use schedulability::guests::{INTERFACE, PROXY};
use schedulability::tables::{ENCLOSE, SYNTHESIS};
use system_description::System;
use system_description::file::GuestPolicy;
use system_description::system::Time as Given;

use super::{Needs, Partitions};
use crate::report::shown;

/// The methods that are used.
pub(super) const METHODS: [&Method; 4] = [&PROXY, &INTERFACE, &SYNTHESIS, &ENCLOSE];

pub(super) fn of(all: &Partitions) -> String {
    let mut text = String::new();
    let system = &all.system;
    let _ = writeln!(text, "{}, on {}", title(system), system.platform);
    for one in &all.needs {
        let _ = writeln!(text, "\n{}", headline(system, one));
        for (name, value) in needs(one) {
            let _ = writeln!(text, "  {name:28}{value}");
        }
    }
    let _ = writeln!(text, "\nas a schedule of domains");
    let _ = match &all.schedule {
        Ok(found) if found.misses.is_empty() => writeln!(text, "{}", schedule(&found.system)),
        Ok(found) => writeln!(
            text,
            "  not found: with the turns below, these are late: {}\n{}",
            found.misses.join(", "),
            schedule(&found.system)
        ),
        Err(why) => writeln!(text, "  not found: {why}"),
    };
    let _ = writeln!(text, "\nas contexts");
    let _ = match &all.contexts {
        Ok(found) => writeln!(text, "{}", contexts(&found.system)),
        Err(why) => writeln!(text, "  not found: {why}"),
    };
    let _ = writeln!(text, "\nassumptions\n  {}", assumption(all));
    for method in METHODS {
        for line in method.to_string().lines() {
            let _ = writeln!(text, "  {line}");
        }
    }
    text
}

pub(super) fn title(system: &System) -> &str {
    system.title.as_deref().unwrap_or("A system")
}

/// A guest in a line.
pub(super) fn headline(system: &System, needs: &Needs) -> String {
    let component = &system[needs.component];
    let Some(guest) = &component.guest else {
        return component.name.clone();
    };
    let tasks = match guest.tasks.len() {
        1 => "1 task".to_string(),
        count => format!("{count} tasks"),
    };
    let kind = match guest.policy {
        GuestPolicy::RateMonotonic => "rate-monotonic",
        GuestPolicy::Edf => "EDF",
        GuestPolicy::TimeTable => "time table",
    };
    format!(
        "guest {}: {tasks}, {kind}, {} of the processor",
        component.name,
        percent(needs.used)
    )
}

fn percent(parts: i128) -> String {
    format!("{}.{:02} %", parts / 10_000, parts % 10_000 / 100)
}

/// What a guest needs: names and values.
pub(super) fn needs(needs: &Needs) -> Vec<(String, String)> {
    let slots = || ["fixed slots", "sliding budgets"].into_iter();
    let proxies = slots().zip(&needs.proxies).filter_map(|(name, proxy)| {
        let proxy = proxy.as_ref()?;
        let (budget, period) = (shown(proxy.budget), shown(proxy.period));
        let value = format!("{budget} in each {period}, price {:.3}", proxy.price);
        Some((format!("proxy, {name}"), value))
    });
    let smallest = slots().zip(&needs.interfaces).filter_map(|(name, found)| {
        let found = found.as_ref()?;
        let share = (found.budget * 1_000_000).covered_by(found.period);
        let (budget, period) = (shown(found.budget), shown(found.period));
        let value = format!("{budget} in each {period}, {}", percent(share));
        Some((format!("smallest, {name}"), value))
    });
    proxies.chain(smallest).collect()
}

/// What was assumed, beside the assumptions of the methods.
pub(super) fn assumption(all: &Partitions) -> String {
    format!(
        "a switch to a guest takes {} from its turn: a section of the kernel, and a switch of threads",
        shown(all.switch)
    )
}

/// What the description must say for a schedule.
pub(super) fn schedule(system: &System) -> String {
    let mut text = "schedule = [\n".to_string();
    for turn in &system.schedule {
        let (domain, duration) = (&system[turn.domain], turn.duration);
        let _ = writeln!(
            text,
            "    {{ domain = \"{domain}\", duration = \"{duration}\" }},"
        );
    }
    text += "]";
    if let Some(supervisor) = &system.supervisor {
        let _ = write!(
            text,
            "\nsupervisor.domain = \"{}\"",
            system[supervisor.domain]
        );
    }
    for one in &system.components {
        let _ = write!(
            text,
            "\ncomponent.{}.domain = \"{}\"",
            one.name, system[one.domain]
        );
        let Some(guest) = &one.guest else { continue };
        if let Given::Slice(slice) = one.time {
            let _ = write!(text, "\ncomponent.{}.slice = \"{slice}\"", one.name);
        }
        if guest.policy == GuestPolicy::TimeTable {
            let _ = write!(
                text,
                "\ncomponent.{}.guest.phase = \"{}\"",
                one.name, guest.phase
            );
        }
    }
    text
}

/// What the description must say for contexts.
pub(super) fn contexts(system: &System) -> String {
    let guests = system.components.iter().filter(|one| one.guest.is_some());
    let lines = guests.filter_map(|one| match one.time {
        Given::Context(context) => Some(format!(
            "component.{0}.budget = \"{1}\"\ncomponent.{0}.period = \"{2}\"\ncomponent.{0}.priority = {3}",
            one.name,
            context.budget,
            context.period,
            one.priority.unwrap_or_default()
        )),
        _ => None,
    });
    lines.collect::<Vec<_>>().join("\n")
}
