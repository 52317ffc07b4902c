//! What tracing costs: some operations in a kernel without trace events, and in kernels that write more and more; and
//! how exact spans in traces are, of which that cost is taken off.

use std::fmt::Write;
use std::path::Path;

use anyhow::Context;
use serde::Deserialize;
use serde_json::{Map, json};

use super::TIMEOUT;
use super::measurement::{Measurement, number};
use super::reference::Platform;
use super::run::Bench;
use crate::cli::{BenchArguments, Events, Keep, Tracing};
use crate::programs::{self, Collection, Program};
use crate::{Result, temporary};

/// The suite of the results. The operations are those of the book.
const SUITE: &str = "trace";
/// The unit of a number of events.
const COUNT: &str = "events";

/// The parameter that tells the kernels apart.
const EVENTS: &str = "events";
/// Its value for a kernel without trace events.
const ABSENT: &str = "absent";
/// Its value for what a trace says that the events of the operation cost.
const COST: &str = "cost";
/// The other kernels. The second one writes no events, but its memory for them keeps it from all fast paths.
const KERNELS: [Events; 4] = [Events::Off, Events::Nothing, Events::Switches, Events::All];
/// The platforms that are measured unless others are chosen.
pub(super) const PLATFORMS: [&str; 3] = ["pc99", "hikey", "sabre"];

/// An operation: a single kernel entry.
struct Operation {
    /// What selects its benchmark, its variant, and its name there.
    benchmark: (&'static str, usize),
    result: &'static str,
    /// The reason for the entry and its number, as in the trace format.
    reason: (u64, i64),
    /// The label of its message, if it invokes a kernel object; no other thread runs afterwards.
    label: Option<u64>,
    /// Its name in the book.
    name: &'static str,
}

#[rustfmt::skip]
const OPERATIONS: [Operation; 9] = [
    Operation::new(("ipc/call", 3), "call", (1, -1), "Call, passive server"),
    Operation::new(("ipc/call", 3), "replyrecv", (1, -2), "ReplyRecv, passive server"),
    Operation::new(("ipc/call", 15), "call", (1, -1), "Call, active server"),
    Operation::new(("ipc/call", 15), "replyrecv", (1, -2), "ReplyRecv, active server"),
    Operation::new(("signal/signal", 0), "signal", (1, -5), "signal to higher priority"),
    Operation::new(("schedule/yield_to_equal", 0), "yield", (1, -11), "yield"),
    Operation {
        label: Some(6),
        ..Operation::new(("schedule/set_priority", 0), "set_priority", (1, -1), "set a priority")
    },
    Operation::new(("fault/undefined", 0), "fault_to_handler", (2, 3), "fault to handler"),
    Operation::new(("interrupt/interrupt_to_thread", 0), "interrupt_to_thread", (4, 0), "interrupt to user"),
];

impl Operation {
    const fn new(
        benchmark: (&'static str, usize),
        result: &'static str,
        reason: (u64, i64),
        name: &'static str,
    ) -> Self {
        Self {
            benchmark,
            result,
            reason,
            label: None,
            name,
        }
    }

    fn result(&self, events: Option<&str>, unit: &str, values: &[f64]) -> Result<Measurement> {
        let parameters = events.map(|events| (EVENTS.to_string(), json!(events)));
        let parameters = Map::from_iter(parameters);
        Measurement::new(SUITE, self.name, parameters, unit, values)
    }
}

/// What a trace says about kernel entries.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Traced {
    /// Ticks in a second.
    frequency: f64,
    entries: Vec<Entries>,
}

/// Entries of one kind.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entries {
    reason: u64,
    number: i64,
    label: u64,
    switched: bool,
    /// How many events each wrote.
    events: u32,
    count: usize,
    /// What these cost, and how far that may be from the truth, in ticks.
    cost: [f64; 2],
}

impl Traced {
    /// The entries of an operation: most of its entries, as the benchmark repeats it, write as many events. Messages between
    /// the benchmark and the program that runs it have labels, those that are measured have none.
    fn entries_of(&self, operation: &Operation) -> Option<&Entries> {
        let (reason, number) = operation.reason;
        let same = self.entries.iter().filter(|one| {
            // The number of an interrupt line differs.
            let is_reason = one.reason == reason && (one.number == number || number == 0);
            is_reason
                && operation
                    .label
                    .map_or(one.switched && one.label == 0, |label| {
                        !one.switched && one.label == label
                    })
        });
        same.max_by_key(|one| one.count)
    }

    /// So many ticks in instructions.
    fn instructions(&self, ticks: f64) -> f64 {
        const INSTRUCTIONS_IN_SECOND: f64 = 1e9;
        ticks * INSTRUCTIONS_IN_SECOND / self.frequency
    }
}

impl Bench<'_> {
    /// Measures the operations in all kernels.
    pub(super) fn measure_tracing(&self) -> Result<Vec<Measurement>> {
        let mut all = Vec::new();
        for events in [None].into_iter().chain(KERNELS.map(Some)) {
            for operations in OPERATIONS.chunk_by(|a, b| a.benchmark == b.benchmark) {
                all.extend(self.measure_operations(events, operations)?);
            }
        }
        Ok(all)
    }

    /// Measures operations of one benchmark in one kernel, and counts their events if it writes all of them.
    fn measure_operations(
        &self,
        events: Option<Events>,
        operations: &[Operation],
    ) -> Result<Vec<Measurement>> {
        let (suite, variant) = operations[0].benchmark;
        let arguments = BenchArguments {
            suite: Some(suite.into()),
            variant: Some(variant),
            ..BenchArguments::of(self.arguments.timeout.unwrap_or(TIMEOUT))
        };
        let tracing = events.map(Tracing::of);
        let ram = temporary::File::new_in(self.workspace.target());
        let ram = ram.context("cannot make a file for the machine's RAM")?;
        let is_counted = events == Some(Events::All);
        let bench = Bench {
            arguments: &arguments,
            tracing: tracing.as_ref(),
            ram: is_counted.then(|| ram.path()),
            ..*self
        };
        let (measured, _) = bench.run(&bench.build()?, None, None)?;
        let mut all = Vec::new();
        for operation in operations {
            let one = measured
                .iter()
                .find(|one| one.operation == operation.result);
            let one =
                one.with_context(|| format!("{suite} does not measure {}", operation.result))?;
            let name = events.map_or(ABSENT, Events::name);
            all.push(operation.result(Some(name), &one.unit, &[one.mean])?);
        }
        if let Some(ram) = bench.ram {
            let traced: Traced = serde_json::from_slice(&self.entries_in(ram)?)?;
            for operation in operations {
                let entries = traced.entries_of(operation);
                let entries =
                    entries.with_context(|| format!("the trace has no {}", operation.name))?;
                let events = f64::from(entries.events);
                all.push(operation.result(None, COUNT, &[events])?);
                let [cost, error] = entries.cost.map(|ticks| traced.instructions(ticks));
                let bounds = [cost - error, cost + error];
                all.push(operation.result(Some(COST), self.counted.name(), &bounds)?);
            }
        }
        Ok(all)
    }

    /// The kernel entries in a trace, which is in a machine's RAM.
    fn entries_in(&self, ram: &Path) -> Result<Vec<u8>> {
        let trace = temporary::File::new()?;
        let reader = programs::build(self.workspace, Program::Trace)?;
        let board = &self.platform.name;
        let collection =
            Collection::start(&reader, board, ram, trace.path(), Keep::default(), false)?;
        programs::printed(collection.finish()?)?;
        programs::entries(self.workspace, trace.path())
    }
}

/// What an operation costs in each kernel.
struct Row {
    name: &'static str,
    absent: f64,
    off: f64,
    general: f64,
    lite: f64,
    full: f64,
    /// The events of a full trace.
    events: f64,
    /// What they cost, as the trace says: at least and at most.
    cost: [f64; 2],
}

impl Row {
    /// How long the operation takes without its events, as the trace says, and how far that may be from the truth.
    fn corrected(&self) -> (f64, f64) {
        let [least, most] = self.cost;
        (self.full - f64::midpoint(least, most), (most - least) / 2.0)
    }
}

/// The rows of a platform, if its results are complete.
fn rows(list: &[Measurement]) -> Option<Vec<Row>> {
    let find = |name: &str, events: Option<&str>| {
        let is_wanted = |one: &&Measurement| {
            one.operation == name
                && one.parameters.get(EVENTS).and_then(|value| value.as_str()) == events
        };
        list.iter().find(is_wanted)
    };
    let mean = |name, events| find(name, events).map(|one| one.mean);
    let rows = OPERATIONS.iter().map(|operation| {
        let [off, general, lite, full] =
            KERNELS.map(|events| mean(operation.name, Some(events.name())));
        Some(Row {
            name: operation.name,
            absent: mean(operation.name, Some(ABSENT))?,
            off: off?,
            general: general?,
            lite: lite?,
            full: full?,
            events: mean(operation.name, None)?,
            cost: find(operation.name, Some(COST)).map(|one| [one.min, one.max])?,
        })
    });
    rows.collect()
}

/// Two tables for each platform: what the kernels cost, and what is left of that after correction.
pub(super) fn page(platforms: &[Platform]) -> String {
    let mut text = String::new();
    for (platform, list) in platforms {
        let Some(rows) = rows(list) else {
            continue;
        };
        let _ = writeln!(text, "\n## {platform}\n");
        text.push_str(
            "| operation | not built in | off | slow path | lite | full | events | corrected | error |\n\
             |---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
        );
        for row in &rows {
            let (corrected, error) = row.corrected();
            let cells = [
                number(row.absent),
                more(row.off - row.absent),
                more(row.general - row.off),
                more(row.lite - row.general),
                more(row.full - row.general),
                number(row.events),
                format!("{corrected:.0} ± {error:.0}"),
                format!("{:+.1} %", 100.0 * (corrected - row.general) / row.general),
            ];
            let _ = writeln!(text, "| {} | {} |", row.name, cells.join(" | "));
        }
    }
    text
}

/// A difference with its sign.
fn more(difference: f64) -> String {
    let sign = if difference < 0.0 { "−" } else { "+" };
    format!("{sign}{}", number(difference.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Results;
    use crate::bench::reference::all;
    use crate::workspace::Workspace;

    /// The part of a span by which it may be wrong after correction.
    const MOST_ERROR: f64 = 0.035;

    /// The recorded results: a span is as far from what it would be without events as the trace says, and no farther; and
    /// a kernel that could trace takes no longer on its fast paths.
    #[test]
    fn what_is_recorded_keeps_what_is_promised() {
        let workspace = Workspace::find().unwrap();
        let platforms = all(&workspace, &Results::Tracing).unwrap();
        let names: Vec<_> = platforms.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["hikey", "pc99", "sabre"]);
        for (platform, list) in &platforms {
            for row in &rows(list).expect("the results are complete") {
                let (name, truth) = (row.name, row.general);
                let (corrected, error) = row.corrected();
                assert!(
                    (corrected - truth).abs() <= error,
                    "{platform}: {name} would take {corrected} ± {error}, and takes {truth}"
                );
                assert!(
                    (corrected - truth).abs() <= MOST_ERROR * truth,
                    "{platform}: {name} would take {corrected}, and takes {truth}"
                );
                if name.ends_with("passive server") {
                    assert_eq!(row.off, row.absent, "{platform}: {name}");
                }
            }
        }
    }

    #[test]
    fn kernels_are_columns() {
        let value = |name: &str, events: Option<&str>, unit: &str, values: &[f64]| {
            let events = events.map(|events| (EVENTS.to_string(), json!(events)));
            Measurement::new(SUITE, name, Map::from_iter(events), unit, values).unwrap()
        };
        let mut list = Vec::new();
        for Operation { name, .. } in &OPERATIONS {
            for (events, mean) in [
                ("absent", 100.0),
                ("off", 99.0),
                ("nothing", 300.0),
                ("switches", 330.0),
                ("all", 505.0),
            ] {
                list.push(value(name, Some(events), "instructions", &[mean]));
            }
            list.push(value(name, Some(COST), "instructions", &[160.0, 240.0]));
            list.push(value(name, None, COUNT, &[4.0]));
        }
        let text = page(&[("pc".to_string(), list.clone())]);
        assert!(
            text.contains("| yield | 100 | −1 | +201 | +30 | +205 | 4 | 305 ± 40 | +1.7 % |\n"),
            "{text}"
        );
        // Without all results there is no table.
        list.pop();
        assert_eq!(page(&[("pc".to_string(), list)]), "");
    }

    #[test]
    fn the_events_of_an_operation_are_those_of_most_of_its_entries() {
        let traced = r#"{"frequency": 500000000, "entries": [
            {"reason": 1, "number": -1, "label": 0, "switched": true, "events": 7, "count": 40, "cost": [70, 80.5]},
            {"reason": 1, "number": -1, "label": 0, "switched": true, "events": 9, "count": 2, "cost": [0, 0]},
            {"reason": 1, "number": -1, "label": 6, "switched": false, "events": 4, "count": 40, "cost": [0, 0]},
            {"reason": 1, "number": -1, "label": 1, "switched": false, "events": 3, "count": 50, "cost": [0, 0]},
            {"reason": 4, "number": 37, "label": 0, "switched": true, "events": 8, "count": 40, "cost": [0, 0]}]}"#;
        let traced: Traced = serde_json::from_str(traced).unwrap();
        let events = |name: &str| {
            let operation = OPERATIONS.iter().find(|one| one.name == name).unwrap();
            traced.entries_of(operation).map(|one| one.events)
        };
        assert_eq!(events("Call, passive server"), Some(7));
        assert_eq!(events("set a priority"), Some(4));
        assert_eq!(events("interrupt to user"), Some(8));
        assert_eq!(events("yield"), None);
        assert_eq!(traced.instructions(20.5), 41.0);
    }
}
