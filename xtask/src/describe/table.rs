//! A system as tables for the terminal.

use std::fmt::Write;

use system_description::file::Rights;
use system_description::system::{
    Component, Context, FaultAction, System, Time, TimeoutAction, WHOLE,
};
use system_description::{Platform, Size};

/// All tables.
pub(super) fn of(system: &System, board: &Platform) -> String {
    let mut text = String::new();
    let title = system.title.as_deref().unwrap_or("a system");
    let _ = writeln!(text, "{title}, on {}", system.platform);
    section(&mut text, "components", components(system));
    section(&mut text, "connections", connections(system));
    section(&mut text, "time", time(system));
    section(&mut text, "turns", turns(system));
    section(&mut text, "memory", memory(system, board));
    text
}

type Row = Vec<String>;

fn row(cells: &[&str]) -> Row {
    cells.iter().map(ToString::to_string).collect()
}

/// A table with aligned columns, or nothing if it has only a header.
fn section(text: &mut String, name: &str, rows: Vec<Row>) {
    if rows.len() < 2 {
        return;
    }
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..columns).map(width).collect();
    let _ = writeln!(text, "\n{name}");
    for row in &rows {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:width$}"));
        let line = cells.collect::<Vec<_>>().join("  ");
        let _ = writeln!(text, "  {}", line.trim_end());
    }
}

fn components(system: &System) -> Vec<Row> {
    let mut rows = vec![row(&[
        "name",
        "program",
        "priority",
        "core",
        "time",
        "share",
        "after a fault",
        "without time",
    ])];
    for one in &system.components {
        rows.push(vec![
            one.name.clone(),
            one.program
                .clone()
                .or(system.root.clone())
                .unwrap_or_default(),
            one.priority
                .map_or(String::new(), |priority| priority.to_string()),
            one.core.to_string(),
            time_of(one.time),
            share_of(one.time),
            after_fault(system, one),
            without_time(system, one),
        ]);
    }
    if let Some(supervisor) = system.supervisor {
        rows.push(vec![
            "supervisor".to_string(),
            String::new(),
            supervisor.priority.to_string(),
            supervisor.core.to_string(),
            time_of(Time::Context(supervisor.time)),
            percent(supervisor.time.share()),
        ]);
    }
    rows
}

/// Budget and period, or what is instead of them.
pub(super) fn time_of(time: Time) -> String {
    match time {
        Time::Context(Context { budget, period, .. }) => format!("{budget} in {period}"),
        Time::Slice(slice) => format!("slices of {slice}"),
        Time::Passive(_) => "its callers' time".to_string(),
    }
}

fn share_of(time: Time) -> String {
    match time {
        Time::Context(context) => percent(context.share()),
        Time::Slice(_) | Time::Passive(_) => String::new(),
    }
}

/// A share in billionths, rounded up to tenths of a percent.
pub(super) fn percent(billionths: u64) -> String {
    let tenths = billionths.div_ceil(WHOLE / 1000);
    format!("{}.{} %", tenths / 10, tenths % 10)
}

fn after_fault(system: &System, one: &Component) -> String {
    match one.on_fault {
        FaultAction::Stop => "stops".to_string(),
        FaultAction::Restart => "restarts".to_string(),
        FaultAction::Handler(handler) => system.endpoint_name(handler.endpoint),
    }
}

fn without_time(system: &System, one: &Component) -> String {
    match one.on_timeout {
        TimeoutAction::Wait => "waits".to_string(),
        TimeoutAction::Report => "waits, reported".to_string(),
        TimeoutAction::Stop => "stops".to_string(),
        TimeoutAction::Restart => "restarts".to_string(),
        TimeoutAction::Extend(more) => format!("gets {more} more"),
        TimeoutAction::Emergency(Context { budget, period, .. }) => {
            format!("emergency: {budget} in {period}")
        }
        TimeoutAction::Handler(handler) => system.endpoint_name(handler.endpoint),
    }
}

fn connections(system: &System) -> Vec<Row> {
    let mut rows = vec![row(&["from", "", "to", "badge", "conditions"])];
    for one in &system.components {
        for call in &one.calls {
            let endpoint = &system[call.to];
            let mut conditions = Vec::new();
            if let Some(threshold) = endpoint.threshold {
                let kind = if endpoint.limit { "limit" } else { "threshold" };
                conditions.push(format!("{kind} {threshold}"));
            }
            if endpoint.donation_required {
                conditions.push("lends its time".to_string());
            }
            if call.grant {
                conditions.push("sends capabilities".to_string());
            }
            rows.push(vec![
                one.name.clone(),
                "calls".to_string(),
                system.endpoint_name(call.to),
                call.badge.to_string(),
                conditions.join(", "),
            ]);
        }
        for (_, id) in &one.signals {
            let signal = &system[*id];
            let to = format!("{}.{}", system[signal.receiver].name, signal.name);
            rows.push(vec![
                one.name.clone(),
                "signals".to_string(),
                to,
                format!("bit {}", signal.bit),
            ]);
        }
        for map in &one.maps {
            let verb = match map.rights {
                Rights::Read => "reads",
                Rights::ReadWrite => "writes",
                Rights::ReadExecute => "executes",
            };
            rows.push(vec![
                one.name.clone(),
                verb.to_string(),
                system[map.region].name.clone(),
            ]);
        }
        for interrupt in &one.interrupts {
            rows.push(vec![
                one.name.clone(),
                "waits for".to_string(),
                format!(
                    "interrupt {} of {}",
                    interrupt.interrupt.line, interrupt.device
                ),
                format!("bit {}", interrupt.bit),
            ]);
        }
    }
    rows
}

fn time(system: &System) -> Vec<Row> {
    let mut rows = vec![row(&["core", "promised", "left", "promised to"])];
    for core in system.cores() {
        let contexts = system.contexts(core);
        let sum: u64 = contexts.iter().map(|(_, _, context)| context.share()).sum();
        let users = contexts
            .iter()
            .map(|(name, _, context)| format!("{name} {}", percent(context.share())));
        rows.push(vec![
            core.to_string(),
            percent(sum),
            percent(WHOLE.saturating_sub(sum)),
            users.collect::<Vec<_>>().join(", "),
        ]);
    }
    rows
}

fn turns(system: &System) -> Vec<Row> {
    let mut rows = vec![row(&["domain", "duration"])];
    let turns = system.schedule.iter();
    rows.extend(turns.map(|turn| vec![system[turn.domain].clone(), turn.duration.to_string()]));
    rows
}

/// The memory that is known before the build. Programs, kernel objects and page tables are not.
fn memory(system: &System, board: &Platform) -> Vec<Row> {
    let mut rows = vec![row(&["what", "size", "where", "for"])];
    let mut sum = 0;
    let chosen = "chosen at the start";
    for one in &system.components {
        for (what, size) in [("stack", one.stack), ("heap", one.heap)] {
            // Without a program it is a thread of the root task, which has memory of its own.
            if size != Size::default() && one.program.is_some() {
                sum += size.as_bytes();
                rows.push(row(&[what, &size.to_string(), chosen, &one.name]));
            }
        }
    }
    for (place, region) in system.regions.iter().enumerate() {
        let sees = |one: &&Component| one.maps.iter().any(|map| map.region.0 == place);
        let users = system.components.iter().filter(sees).map(|one| &*one.name);
        let users = users.collect::<Vec<_>>().join(", ");
        let what = format!(
            "memory {}{}",
            region.name,
            if region.cacheable {
                ""
            } else {
                " (not cached)"
            }
        );
        sum += region.size.as_bytes();
        rows.push(row(&[&what, &region.size.to_string(), chosen, &users]));
    }
    for one in &system.components {
        for device in &one.devices {
            let what = format!("device {}", device.device);
            for registers in &device.resources.registers {
                let size = Size::from_bytes(registers.size).to_string();
                rows.push(row(&[
                    &what,
                    &size,
                    &format!("{:#x}", registers.address),
                    &one.name,
                ]));
            }
            for [first, last] in &device.resources.ports {
                rows.push(row(&[
                    &what,
                    "",
                    &format!("ports {first:#x} to {last:#x}"),
                    &one.name,
                ]));
            }
        }
    }
    if rows.len() > 1 {
        let left = board.memory.as_bytes().saturating_sub(sum);
        let left = Size::from_bytes(left & !((1 << 20) - 1));
        rows.push(row(&[
            "everything else",
            &left.to_string(),
            "",
            "programs, kernel, objects, page tables",
        ]));
    }
    rows
}
