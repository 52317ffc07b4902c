//! Results as tables.

use std::fmt::Write;

use super::compare::change;
use super::measurement::{Measurement, number};

/// The width of the longest bar.
const BAR: usize = 30;

/// A table for the terminal, one for each suite and unit, with bars.
pub(super) fn terminal(measurements: &[Measurement], before: Option<&[Measurement]>) -> String {
    let mut table = String::new();
    for group in measurements.chunk_by(|a, b| (&a.suite, &a.unit) == (&b.suite, &b.unit)) {
        let _ = writeln!(table, "\n{} ({})", group[0].suite, group[0].unit);
        let names = group
            .iter()
            .map(|one| format!("{} {}", one.operation, one.parameters()));
        let names: Vec<_> = names.collect();
        let width = names.iter().map(String::len).max().unwrap_or(0);
        let longest = group.iter().map(Measurement::typical).fold(0.0, f64::max);
        let _ = writeln!(
            table,
            "  {:width$} {:>11} {:>9} {:>9} {:>8} {}",
            "",
            group[0].median.map_or("mean", |_| "median"),
            "min",
            "max",
            "stddev",
            if before.is_some() { "  change" } else { "" },
        );
        for (one, name) in group.iter().zip(&names) {
            let change = before.map_or(String::new(), |before| changed(before, one));
            let _ = writeln!(
                table,
                "  {name:width$} {:>11} {:>9} {:>9} {:>8} {change} {}",
                number(one.typical()),
                number(one.min),
                number(one.max),
                number(one.stddev),
                bar(one.typical(), longest),
            );
        }
    }
    table
}

/// The change since `before`, in a column of its own.
fn changed(before: &[Measurement], one: &Measurement) -> String {
    match before.iter().find(|old| old.is_about_the_same_as(one)) {
        Some(old) if old.mean == one.mean => format!("{:>8}", "="),
        Some(old) => format!("{:>+7.1}%", 100.0 * change(old.mean, one.mean)),
        None => format!("{:>8}", "new"),
    }
}

/// A bar of eighths of a character.
fn bar(value: f64, longest: f64) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if longest <= 0.0 {
        return String::new();
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a bar has a few hundred eighths"
    )]
    let eighths = (value / longest * (8 * BAR) as f64).round().max(1.0) as usize;
    "█".repeat(eighths / 8) + PARTS[eighths % 8]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::measurement::tests::example;

    #[test]
    fn bars_are_as_long_as_values() {
        assert_eq!(bar(100.0, 100.0).chars().count(), BAR);
        assert_eq!(bar(50.0, 100.0).chars().count(), BAR / 2);
        assert_eq!(bar(0.001, 100.0), "▏");
        assert_eq!(bar(0.0, 0.0), "");
    }

    #[test]
    fn changes_stand_in_the_table() {
        let now = [example("call", &[110.0]), example("send", &[5.0])];
        let table = terminal(&now, Some(&[example("call", &[100.0])]));
        assert!(table.contains("+10.0%") && table.contains("new"), "{table}");
        assert!(!terminal(&now, None).contains('%'));
    }
}
