//! The page of the book that shows delays.

use std::fmt::Write;

use super::verdict::{Curve, curves};
use super::{DELAY, INTERRUPTS_OFF, SUITE};
use crate::bench::measurement::number;
use crate::bench::reference::Platform;

/// The two kinds of curves, and the titles of their tables.
const KINDS: [(&str, &str); 2] = [
    (DELAY, "delay"),
    (INTERRUPTS_OFF, "interrupts-disabled section"),
];

/// The worst case of each platform, and then for each its plot and its tables.
pub(in crate::bench) fn page(platforms: &[Platform]) -> String {
    let is_shown = |(_, list): &&Platform| list.iter().any(|one| one.suite == SUITE);
    let platforms: Vec<_> = platforms.iter().filter(is_shown).collect();
    let mut text = String::from("\n## The worst\n\n| platform |");
    for (_, title) in KINDS {
        let _ = write!(text, " longest {title} | where |");
    }
    let _ = writeln!(text, "\n|---|{}", "--:|---|".repeat(KINDS.len()));
    for (name, measured) in &platforms {
        let _ = write!(text, "| {name} |");
        for (kind, _) in KINDS {
            let (value, place) = worst(&curves(measured, kind));
            let _ = write!(text, " {} | {place} |", number(value));
        }
        text.push('\n');
    }
    for (name, measured) in platforms {
        let _ = writeln!(
            text,
            "\n## {name}\n\n![Delays on {name}](../images/delay-{name}.svg)"
        );
        for (kind, title) in KINDS {
            let _ = writeln!(text, "\nThe longest {title}, by number of attackers:\n");
            text.push_str(&table(&curves(measured, kind)));
        }
    }
    text
}

/// The worst value, and its scenario and number of attackers.
fn worst(curves: &[Curve<'_>]) -> (f64, String) {
    let points = curves.iter().flat_map(|curve| {
        let points = curve.points.iter();
        points.map(|(attackers, value)| (*value, format!("{}, {attackers}", curve.name)))
    });
    points.fold((0.0, String::new()), |worst, point| {
        if point.0 > worst.0 { point } else { worst }
    })
}

/// A row for each scenario, a column for each number of attackers.
fn table(curves: &[Curve<'_>]) -> String {
    let points = curves.iter().flat_map(|curve| &curve.points);
    let mut columns: Vec<_> = points.map(|(attackers, _)| *attackers).collect();
    columns.sort_unstable();
    columns.dedup();
    let mut text = String::from("| scenario |");
    for column in &columns {
        let _ = write!(text, " {column} |");
    }
    let _ = writeln!(text, "\n|---|{}", "--:|".repeat(columns.len()));
    for curve in curves {
        let _ = write!(text, "| {} |", curve.name);
        for column in &columns {
            let point = curve
                .points
                .iter()
                .find(|(attackers, _)| attackers == column);
            let value = point.map_or(String::new(), |(_, value)| number(*value));
            let _ = write!(text, " {value} |");
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::delay::verdict::tests::measured;

    #[test]
    fn a_platform_has_its_worst_and_its_tables() {
        let some = ("pc99".to_string(), measured(&[(1, 900.0), (448, 1000.0)]));
        let none = ("abacus".to_string(), Vec::new());
        let text = page(&[none, some]);
        assert!(
            text.contains("| pc99 | 1000 | storm, 448 | 1000 | storm, 448 |\n"),
            "{text}"
        );
        assert!(
            text.contains("| scenario | 1 | 448 |\n|---|--:|--:|\n"),
            "{text}"
        );
        assert_eq!(
            text.matches("| storm | 900 | 1000 |\n").count(),
            2,
            "{text}"
        );
        assert!(!text.contains("abacus"), "{text}");
    }
}
