//! The page of the book that shows how the kernel and its locks scale.

use std::fmt::Write;

use serde_json::Value;

use super::lines::{self, LINES};
use super::{KERNEL, LOCKS, SMP, SUITES, series};
use crate::bench::measurement::{Measurement, number};
use crate::bench::reference::{Platform, cell};

/// Plots and tables of each platform.
pub(in crate::bench) fn page(platforms: &[Platform]) -> String {
    let mut text = String::new();
    for (name, measured) in platforms {
        let of = |suite: &str| measured.iter().any(|one| one.suite == suite);
        if !SUITES.into_iter().any(of) {
            continue;
        }
        let _ = writeln!(text, "\n## {name}");
        if of(LOCKS) {
            let _ = writeln!(
                text,
                "\n![Locks on {name}](../images/locks-{name}.svg)\n\n{}",
                locks(measured)
            );
        }
        if of(SMP) {
            for (operation, parameter) in [("pairs", "pause"), ("payload", "bytes")] {
                let _ = writeln!(
                    text,
                    "\n![{operation} on {name}](../images/{operation}-{name}.svg)\n\n{}",
                    rates(measured, operation, parameter)
                );
            }
            text.push_str(&latencies(measured));
            text.push_str(&cache_lines(measured));
        }
    }
    text
}

/// A row for each lock and number of cores.
fn locks(measured: &[Measurement]) -> String {
    let alone = |lock: &Value| {
        let one = measured
            .iter()
            .find(|one| one.operation == "transaction" && one.parameters.get("lock") == Some(lock));
        one.map_or(String::new(), cell)
    };
    let (latencies, throughputs) = (
        series(measured, "latency", "lock"),
        series(measured, "throughput", "lock"),
    );
    let mut text = String::from(
        "| lock | instructions | cores | latency (ns) | throughput (1/s) | slowdown by cores |\n\
         |---|--:|--:|--:|--:|--:|\n",
    );
    for (latency, throughput) in latencies.iter().zip(&throughputs) {
        for (&(cores, time), (_, rate)) in latency.points.iter().zip(&throughput.points) {
            let slowdown = latency.relative(time).map_or(0.0, |times| times / cores);
            let _ = writeln!(
                text,
                "| {} | {} | {cores} | {} | {} | {slowdown:.2} |",
                latency.other.as_str().unwrap_or(""),
                alone(latency.other),
                cell(time),
                cell(rate),
            );
        }
    }
    text
}

/// A row for each kernel and parameter: the rate on one core, and relative rates on more cores.
fn rates(measured: &[Measurement], operation: &str, parameter: &str) -> String {
    let all = series(measured, operation, parameter);
    let most = all.iter().map(|series| series.points.len()).max();
    let mut text = format!("| {parameter} | {KERNEL} | 1 core (1/s) |");
    for cores in 2..=most.unwrap_or(1) {
        let _ = write!(text, " {cores} cores |");
    }
    let _ = writeln!(text, "\n|--:|---|{}", "--:|".repeat(most.unwrap_or(1)));
    for series in &all {
        let _ = write!(text, "| {} | {} |", series.other, series.kernel);
        for &(cores, point) in &series.points {
            let shown = match series.relative(point) {
                Some(times) if cores > 1.0 => format!("{times:.2}"),
                _ => cell(point),
            };
            let _ = write!(text, " {shown} |");
        }
        text.push_str(&" |".repeat(most.unwrap_or(1) - series.points.len()));
        text.push('\n');
    }
    text
}

/// A row for each path from one thread to another.
fn latencies(measured: &[Measurement]) -> String {
    let mut text =
        format!("\n| operation | {KERNEL} | core | instructions | ns |\n|---|---|---|--:|--:|\n");
    let is_time = |one: &&Measurement| {
        one.suite == SMP && one.unit == "ns" && one.parameters.contains_key("core")
    };
    for time in measured.iter().filter(is_time) {
        let count = measured.iter().find(|one| {
            one.unit == "instructions"
                && (&one.suite, &one.operation) == (&time.suite, &time.operation)
                && one.parameters == time.parameters
        });
        let parameter = |name| time.parameters.get(name).and_then(Value::as_str);
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} |",
            time.operation,
            parameter(KERNEL).unwrap_or(""),
            parameter("core").unwrap_or(""),
            count.map_or(String::new(), |one| number(one.mean)),
            cell(time),
        );
    }
    text
}

/// A row for each operation and kernel, a column for each kind of cache lines.
fn cache_lines(measured: &[Measurement]) -> String {
    let mut text = format!("\n| operation | {KERNEL} |");
    for kind in lines::KINDS {
        let _ = write!(text, " {kind} |");
    }
    let _ = writeln!(text, "\n|---|---|{}", "--:|".repeat(lines::KINDS.len()));
    let all: Vec<_> = measured
        .iter()
        .filter(|one| one.operation == LINES)
        .collect();
    for row in all.chunks(lines::KINDS.len()) {
        let parameter = |name| row[0].parameters.get(name).and_then(Value::as_str);
        let _ = write!(
            text,
            "| {} | {} |",
            parameter("operation").unwrap_or(""),
            parameter(KERNEL).unwrap_or(""),
        );
        for one in row {
            let _ = write!(text, " {} |", number(one.mean));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::tests::one;
    use super::super::{BIG, FINE};
    use super::*;
    use serde_json::json;

    #[test]
    fn slowdown_is_normalised_by_cores() {
        let latency = |cores: u32, time| {
            one(
                (LOCKS, "latency", "ns"),
                json!({"lock": "CLH", "cores": cores}),
                time,
            )
        };
        let throughput = |cores: u32| {
            one(
                (LOCKS, "throughput", "1/s"),
                json!({"lock": "CLH", "cores": cores}),
                7.0,
            )
        };
        let alone = one(
            (LOCKS, "transaction", "instructions"),
            json!({"lock": "CLH"}),
            12.0,
        );
        let text = locks(&[
            latency(1, 10.0),
            throughput(1),
            latency(2, 30.0),
            throughput(2),
            alone,
        ]);
        assert!(
            text.contains("| CLH | 12 | 1 | 10 | 7 | 1.00 |\n"),
            "{text}"
        );
        assert!(
            text.contains("| CLH | 12 | 2 | 30 | 7 | 1.50 |\n"),
            "{text}"
        );
    }

    #[test]
    fn rates_are_compared_with_one_core() {
        let pairs = |kernel, cores: u32, rate| {
            one(
                (SMP, "pairs", "1/s"),
                json!({"pause": 250, "cores": cores}),
                rate,
            )
            .of(kernel)
        };
        let measured = [
            pairs(FINE, 1, 100.0),
            pairs(FINE, 2, 195.0),
            pairs(BIG, 1, 90.0),
        ];
        let text = rates(&measured, "pairs", "pause");
        assert!(
            text.contains("| pause | kernel | 1 core (1/s) | 2 cores |\n"),
            "{text}"
        );
        assert!(
            text.contains("| 250 | fine-grained | 100 | 1.95 |\n"),
            "{text}"
        );
        assert!(text.contains("| 250 | big lock | 90 | |\n"), "{text}");
    }

    #[test]
    fn the_kinds_of_cache_lines_stand_side_by_side() {
        let measured = lines::KINDS.map(|kind| {
            let parameters = json!({"operation": "call", LINES: kind});
            one((SMP, LINES, LINES), parameters, 3.0).of(BIG)
        });
        let text = cache_lines(&measured);
        assert!(text.contains("| call | big lock | 3 | 3 | 3 |\n"), "{text}");
    }

    #[test]
    fn instructions_and_time_stand_side_by_side() {
        let call =
            |unit, sample| one((SMP, "call", unit), json!({"core": "other"}), sample).of(FINE);
        let text = latencies(&[call("ns", 2000.0), call("instructions", 1500.0)]);
        assert!(
            text.contains("| call | fine-grained | other | 1500 | 2000 |\n"),
            "{text}"
        );
        assert!(page(&[("abacus".into(), Vec::new())]).is_empty());
    }
}
