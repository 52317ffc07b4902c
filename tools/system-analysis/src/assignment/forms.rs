//! An assignment as text, page and JSON.

use std::fmt::Write;

use serde_json::{Value, json};
use system_description::System;
use system_description::system::Time;

use super::{Assignment, Outcome, Packing, Tried};
use crate::page::{self, escaped, sentence};
use crate::report::html;

impl Assignment {
    /// Whether there is an assignment with which all deadlines hold.
    pub fn holds(&self) -> bool {
        self.system.is_some()
    }

    /// What the description must say, beside what it says: cores, priorities and budgets that are new or others.
    pub fn lines(&self) -> Vec<String> {
        let Some(system) = &self.system else {
            return Vec::new();
        };
        let both = self.before.components.iter().zip(&system.components);
        let mut lines = Vec::new();
        for (before, after) in both {
            let name = &after.name;
            if before.core != after.core {
                lines.push(format!("component.{name}.core = {}", after.core));
            }
            if let Some(priority) = after.priority
                && before.priority != after.priority
            {
                lines.push(format!("component.{name}.priority = {priority}"));
            }
            if let Time::Context(context) = after.time
                && before.time != after.time
            {
                // A component has one or the other.
                let instead = match before.time {
                    Time::Slice(_) => " # instead of its slice",
                    _ => "",
                };
                let budget = context.budget;
                lines.push(format!("component.{name}.budget = \"{budget}\"{instead}"));
                lines.push(format!("component.{name}.period = \"{}\"", context.period));
            }
        }
        lines
    }

    /// What became of the packings with the last number of cores, in a sentence, if there were several.
    fn packings(&self) -> Option<String> {
        let last = self.tried.last()?;
        let of_last = |one: &&Tried| one.cores == last.cores && one.packing != Packing::Described;
        let tried: Vec<_> = self.tried.iter().filter(of_last).collect();
        if tried.len() < 2 {
            return None;
        }
        let named = |outcome: Outcome| {
            let ways = tried.iter().filter(|one| one.outcome == outcome);
            let names: Vec<_> = ways.map(|one| one.packing.name()).collect();
            names.join(", ")
        };
        let sentences = [
            ("in time", Outcome::InTime),
            ("not in time", Outcome::NotInTime),
            ("given up", Outcome::GivenUp),
        ];
        let sentences = sentences.into_iter().filter_map(|(words, outcome)| {
            let names = named(outcome);
            (!names.is_empty()).then(|| format!("{words}: {names}"))
        });
        let sentences: Vec<_> = sentences.collect();
        Some(format!(
            "On {} cores: {}.",
            last.cores,
            sentences.join("; ")
        ))
    }

    /// The first sentence.
    fn verdict(&self) -> String {
        let lines = self.lines();
        match (&self.system, lines.is_empty()) {
            (None, _) => "No assignment was found with which all deadlines hold.".into(),
            (Some(_), true) => "All deadlines hold as described.".into(),
            (Some(system), false) => match system.cores().len() {
                1 => "All deadlines hold with this assignment.".into(),
                cores => format!("All deadlines hold with this assignment, on {cores} cores."),
            },
        }
    }

    /// As text: the lines for the description, and the analysis with them.
    pub fn text(&self) -> String {
        let report = &self.report;
        let mut text = format!(
            "{}, on {}\n{}\n",
            report.title,
            report.platform,
            self.verdict()
        );
        if let Some(packings) = self.packings() {
            let _ = writeln!(text, "{packings}");
        }
        let lines = self.lines();
        if !lines.is_empty() {
            let _ = writeln!(text, "\nfor the description\n{}", lines.join("\n"));
        }
        let with = match lines.is_empty() {
            false => "the analysis with it",
            true => "the analysis as described",
        };
        let report = report.text();
        // Its first line is here, too.
        let rest = report.split_once('\n').map_or("", |(_, rest)| rest);
        let _ = write!(text, "\n{with}\n{rest}");
        text
    }

    /// As one HTML page without references to anything else.
    pub fn html(&self) -> String {
        let report = &self.report;
        let word = if self.holds() {
            "assigned"
        } else {
            "not assigned"
        };
        let verdict = self.verdict();
        let mut page = page::begin(
            &report.title,
            &report.platform,
            self.holds(),
            word,
            &verdict,
        );
        if let Some(packings) = self.packings() {
            let _ = write!(page, "<p>{}</p>", sentence(&packings));
        }
        let lines = self.lines();
        if !lines.is_empty() {
            let lines = escaped(&lines.join("\n"));
            let _ = writeln!(page, "<h2>For the description</h2><pre>{lines}</pre>");
        }
        page += &html::rows(report);
        page + &page::end(&report.assumptions, report.methods())
    }

    /// As JSON; times are in nanoseconds.
    pub fn json(&self) -> String {
        let report: Value = serde_json::from_str(&self.report.json()).expect("a report is JSON");
        let tried = self.tried.iter();
        let tried = tried.map(|one| {
            json!({
                "packing": one.packing.name(),
                "cores": one.cores,
                "outcome": match one.outcome {
                    Outcome::InTime => "in-time",
                    Outcome::NotInTime => "not-in-time",
                    Outcome::GivenUp => "given-up",
                },
            })
        });
        let whole = json!({
            "holds": self.holds(),
            "tried": tried.collect::<Vec<_>>(),
            "lines": self.lines(),
            "components": self.system.as_ref().map(components),
            "report": report,
        });
        format!("{whole:#}\n")
    }
}

fn components(system: &System) -> Vec<Value> {
    let one = |one: &system_description::system::Component| {
        let context = match one.time {
            Time::Context(context) => Some(context),
            _ => None,
        };
        json!({
            "name": one.name,
            "core": one.core,
            "priority": one.priority,
            "budget": context.map(|context| context.budget.as_nanos()),
            "period": context.map(|context| context.period.as_nanos()),
        })
    };
    system.components.iter().map(one).collect()
}
