//! An assignment as text, page and JSON.

use std::fmt::Write;

use serde_json::{Value, json};
use system_description::System;
use system_description::system::Time;

use super::{Assignment, Packing};
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
                lines.push(format!("component.{name}.budget = \"{}\"", context.budget));
                lines.push(format!("component.{name}.period = \"{}\"", context.period));
            }
        }
        lines
    }

    /// The ways to assign cores in a sentence, if there was a choice.
    fn ways(&self) -> Option<String> {
        let named = |is_found: bool| {
            let ways = self.tried.iter().filter(|one| one.is_found == is_found);
            let names: Vec<_> = ways.map(|one| one.packing.name()).collect();
            names.join(", ")
        };
        if self
            .tried
            .iter()
            .all(|one| one.packing == Packing::Described)
        {
            return None;
        }
        let (good, bad) = (named(true), named(false));
        Some(match (good.is_empty(), bad.is_empty()) {
            (false, false) => format!("In time: {good}. Not in time: {bad}."),
            (false, true) => format!("In time: {good}."),
            _ => format!("Not in time: {bad}."),
        })
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
        if let Some(ways) = self.ways() {
            let _ = writeln!(text, "{ways}");
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
        if let Some(ways) = self.ways() {
            let _ = write!(page, "<p>{}</p>", sentence(&ways));
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
        let tried = tried.map(|one| json!({ "way": one.packing.name(), "holds": one.is_found }));
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
