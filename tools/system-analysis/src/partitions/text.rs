//! Partitions as text.

use std::fmt::Write;

use schedulability::guests::{INTERFACE, Interface, PROXY, Proxy};
use schedulability::tables::{ENCLOSE, SYNTHESIS};
use system_description::System;
use system_description::file::GuestPolicy;
use system_description::system::Time as Given;

use super::Partitions;
use crate::report::shown;

pub(super) fn of(all: &Partitions) -> String {
    let mut text = String::new();
    let system = &all.system;
    let title = system.title.as_deref().unwrap_or("A system");
    let _ = writeln!(text, "{title}, on {}", system.platform);
    for one in &all.needs {
        let component = &system[one.component];
        let Some(guest) = &component.guest else {
            continue;
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
        let percent = |parts: i128| format!("{}.{:02} %", parts / 10_000, parts % 10_000 / 100);
        let _ = writeln!(
            text,
            "\nguest {}: {tasks}, {kind}, {} of the processor",
            component.name,
            percent(one.used)
        );
        for (name, proxy) in ["fixed slots", "sliding budgets"]
            .into_iter()
            .zip(&one.proxies)
        {
            let line = |proxy: &Proxy| {
                let (budget, period) = (shown(proxy.budget), shown(proxy.period));
                format!("{budget} in each {period}, price {:.3}", proxy.price)
            };
            if let Some(proxy) = proxy {
                let _ = writeln!(text, "  {:28}{}", format!("proxy, {name}"), line(proxy));
            }
        }
        for (name, found) in ["fixed slots", "sliding budgets"]
            .into_iter()
            .zip(&one.interfaces)
        {
            let line = |found: &Interface| {
                let share = (found.budget * 1_000_000).covered_by(found.period);
                let (budget, period) = (shown(found.budget), shown(found.period));
                format!("{budget} in each {period}, {}", percent(share))
            };
            if let Some(found) = found {
                let _ = writeln!(text, "  {:28}{}", format!("smallest, {name}"), line(found));
            }
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
    let _ = writeln!(text, "\nassumptions");
    let _ = writeln!(
        text,
        "  a switch to a guest takes {} from its turn: a section of the kernel, and a switch of threads",
        shown(all.switch)
    );
    for method in [&PROXY, &INTERFACE, &SYNTHESIS, &ENCLOSE] {
        for line in method.to_string().lines() {
            let _ = writeln!(text, "  {line}");
        }
    }
    text
}

/// What the description must say for a schedule.
fn schedule(system: &System) -> String {
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
fn contexts(system: &System) -> String {
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
