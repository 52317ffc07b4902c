//! The report as text.

use std::fmt::Write;

use super::{Kind, Report, Row, Verdict, shown, words};

pub(super) fn of(report: &Report) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}, on {}", report.title, report.platform);
    let _ = writeln!(text, "{}", verdict(report));
    for row in &report.rows {
        let _ = writeln!(text, "\n{}", headline(row));
        if let (Some(bound), Some(deadline)) = (row.bound, row.deadline) {
            let (name, slack) = match row.slack() {
                Some(slack) if slack.nanos() < 0 => ("late by", -slack.nanos()),
                slack => ("slack", slack.unwrap_or_default().nanos()),
            };
            let slack = shown(schedulability::Time::from_nanos(slack as u64));
            let limit = if row.kind == Kind::Budget {
                "period"
            } else {
                "deadline"
            };
            let _ = writeln!(
                text,
                "  at most {}, {limit} {}, {name} {slack}",
                shown(bound),
                shown(deadline)
            );
        }
        for part in &row.parts {
            let what = format!("{} {}", words(part.source), part.by);
            let _ = writeln!(text, "  {:>12}  {}", shown(part.time), what.trim_end());
        }
        if !row.note.is_empty() {
            let _ = writeln!(text, "  {}", row.note);
        }
    }
    if !report.changes.is_empty() {
        let heading = match report.holds {
            true => "how far each value may grow, alone",
            false => "what to change first; each of these alone suffices",
        };
        let _ = writeln!(text, "\n{heading}");
        for one in &report.changes {
            let _ = writeln!(
                text,
                "  {}: {} -> {}",
                one.what,
                shown(one.from),
                shown(one.to)
            );
        }
    }
    let _ = writeln!(text, "\nassumptions");
    for one in &report.assumptions {
        let _ = writeln!(text, "  {one}");
    }
    for method in report.methods() {
        for line in method.to_string().lines() {
            let _ = writeln!(text, "  {line}");
        }
    }
    text
}

/// The first sentence.
pub(super) fn verdict(report: &Report) -> String {
    let failing: Vec<_> = (report.rows.iter())
        .filter(|row| row.verdict == Verdict::Fails)
        .map(|row| &*row.name)
        .collect();
    if report.holds {
        let promises = report
            .rows
            .iter()
            .filter(|row| row.verdict == Verdict::Holds)
            .count();
        return match promises {
            0 => "Nothing is promised: no component has a budget or a job.".into(),
            1 => "The deadline holds.".into(),
            count => format!("All {count} deadlines hold."),
        };
    }
    let mut names = failing.clone();
    names.dedup();
    let first = match report.culprit() {
        Some(change) => format!(
            " Change first: {} from {} to at most {}.",
            change.what,
            shown(change.from),
            shown(change.to)
        ),
        None => " No single change suffices.".into(),
    };
    format!(
        "{} of {} deadlines can be missed: {}.{first}",
        failing.len(),
        report
            .rows
            .iter()
            .filter(|row| row.verdict != Verdict::NoPromise)
            .count(),
        names.join(", ")
    )
}

/// Name, what it is about, and the verdict.
pub(super) fn headline(row: &Row) -> String {
    let verdict = match row.verdict {
        Verdict::Holds => "holds",
        Verdict::Fails => "FAILS",
        Verdict::NoPromise => "no promise",
    };
    format!("{} ({}): {verdict}", row.name, about(row))
}

/// What a row is about.
pub(super) fn about(row: &Row) -> String {
    let kind = match row.kind {
        Kind::Job => "job",
        Kind::Budget => "budget",
        Kind::Guest => "task of a guest",
        Kind::Scheduled => "job under a user-level scheduler",
        Kind::Rest => "what is left",
    };
    let mut about = format!("{kind}, core {}", row.core);
    if let Some(priority) = row.priority {
        let _ = write!(about, ", priority {priority}");
    }
    if row.level > 0 {
        let _ = write!(about, ", criticality level {}", row.level);
    }
    about
}
