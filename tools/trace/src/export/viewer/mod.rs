//! A page that shows traces in a browser. It is one file, which needs no network; or it is served, and gets of long
//! traces what is in view.

mod findings;
mod lanes;
mod sums;
mod tile;

use std::collections::BTreeSet;

use serde_json::{Value, json};
use trace_format::{Event, Kind, Reason};

pub(crate) use findings::Findings;
pub(crate) use lanes::lanes;
pub(crate) use sums::sums;
pub(crate) use tile::Tile;

use crate::{Correction, Timeline, Trace, remaining_budget};

/// The page, in which these texts stand for its parts.
const PAGE: &str = include_str!("page.html");
const STYLE: (&str, &str) = ("@STYLE@", include_str!("style.css"));
const SCRIPT: (&str, &str) = (
    "@SCRIPT@",
    concat!(
        "\"use strict\";\n",
        include_str!("trace.js"),
        include_str!("whole.js"),
        include_str!("served.js"),
        include_str!("tables.js"),
        include_str!("lanes.js"),
        include_str!("paint.js"),
        include_str!("pane.js"),
        include_str!("page.js"),
    ),
);
const DATA: &str = "@DATA@";

/// A page of more events has tiles, too: from all details it would paint most of such a trace too slowly.
const DETAILED: usize = 100_000;
/// The tiles in which such a page shows most of a trace: with their bins, enough for a wide screen.
const OVERVIEW: u64 = 8;

/// What the page shows of a trace.
pub(crate) struct Shown {
    name: String,
    platform: String,
    pub(crate) frequency: u64,
    events: usize,
    lost: u64,
    pub(crate) timeline: Timeline,
    /// What each context has left over time.
    pub(crate) budgets: Vec<Vec<(u64, u64)>>,
    /// The calls with which each context was donated.
    pub(crate) calls: Vec<Vec<(u64, u64)>>,
    /// The times of kernel entries by their reasons, in ascending order.
    pub(crate) entries: Vec<(&'static str, Vec<u64>)>,
    correction: Correction,
}

impl Shown {
    pub(crate) fn new(name: &str, trace: &Trace) -> Self {
        let mut timeline = Timeline::of(trace);
        timeline.end = timeline.end.max(timeline.start.saturating_add(1));
        let contexts = timeline.contexts.iter();
        let budgets = contexts
            .clone()
            .map(|lane| remaining_budget(lane, timeline.end));
        Self {
            name: name.to_string(),
            platform: trace.platform.clone(),
            frequency: trace.frequency,
            events: trace.events.len(),
            lost: trace.lost_events(),
            budgets: budgets.collect(),
            calls: contexts.map(|lane| lane.calls()).collect(),
            entries: entries(trace),
            correction: Correction::of(trace),
            timeline,
        }
    }

    /// A span, corrected, or why it is not.
    pub(crate) fn corrected(&self, from: u64, to: u64) -> Value {
        match self.correction.span(from, to) {
            Ok(span) => json!({ "corrected": span.corrected, "error": span.error }),
            Err(why) => json!({ "why": why.to_string() }),
        }
    }

    /// What is known before any part of it is seen. Times are in ticks.
    pub(crate) fn to_json(&self) -> Value {
        let timeline = &self.timeline;
        let mut cores_of_threads = vec![BTreeSet::new(); timeline.threads.len()];
        for span in timeline.cores.values().flatten() {
            if let Some(thread) = span.thread {
                cores_of_threads[thread.0].insert(span.core);
            }
        }
        let threads = timeline.threads.iter();
        let threads = threads
            .zip(&cores_of_threads)
            .map(|(lane, cores)| {
                json!({ "name": lane.name, "isUsed": !lane.changes.is_empty(), "cores": cores })
            })
            .collect::<Vec<_>>();
        let contexts = timeline.contexts.iter().zip(&self.budgets);
        let contexts = contexts
            .map(|(lane, budget)| {
                let (most, period) = lane.parameters.unwrap_or_default();
                let cores: BTreeSet<_> = lane.uses.iter().map(|span| span.core).collect();
                let highest = budget.iter().map(|(_, amount)| *amount).max();
                json!({
                    "name": lane.name, "isUsed": !lane.uses.is_empty(), "budget": most, "period": period,
                    "most": highest.unwrap_or(0).max(most).max(1), "cores": cores,
                })
            })
            .collect::<Vec<_>>();
        json!({
            "name": self.name, "platform": self.platform, "frequency": self.frequency,
            "start": timeline.start, "end": timeline.end,
            "events": self.events, "lost": self.lost,
            "cores": timeline.cores.keys().collect::<Vec<_>>(), "threads": threads, "contexts": contexts,
            "reasons": self.entries.iter().map(|(reason, _)| reason).collect::<Vec<_>>(),
        })
    }
}

/// Traces as a page, which shows them below each other, each with its name.
pub fn html(traces: &[(&str, &Trace)]) -> String {
    let data = traces.iter().map(|(name, trace)| {
        let shown = Shown::new(name, trace);
        let findings = Findings::of(trace, &shown.timeline);
        let spans =
            |list: &[(u64, u64)]| differences(list.iter().flat_map(|&(start, end)| [start, end]));
        let calls = shown.calls.iter().map(|calls| spans(calls));
        let jobs = findings.jobs.iter().map(|jobs| spans(&jobs.responses));
        let entries = shown.entries.iter();
        let entries = entries.map(|(_, times)| differences(times.iter().copied()));
        let mut data = shown.to_json();
        data["lanes"] = lanes(Tile::WHOLE, &shown, Some(&findings));
        if shown.events > DETAILED {
            let tiles = Tile::at_most(&shown.timeline, OVERVIEW);
            let tiles = tiles.into_iter().map(|tile| {
                let lanes = lanes(tile, &shown, Some(&findings));
                json!({ "from": tile.start, "to": tile.end, "bin": tile.bin, "lanes": lanes })
            });
            data["overview"] = tiles.collect();
        }
        data["correction"] = shown.correction.to_json();
        data["calls"] = calls.collect::<Vec<_>>().into();
        data["responses"] = jobs.collect::<Vec<_>>().into();
        data["entries"] = entries.collect::<Vec<_>>().into();
        data["findings"] = findings.to_json();
        data["targets"] = findings.times().into();
        data
    });
    page(&data.collect())
}

/// The page with this data.
pub(crate) fn page(data: &Value) -> String {
    // Nothing in the data may be markup for the element that it is in.
    let data = data.to_string().replace('<', "\\u003c");
    let page = PAGE.replacen(STYLE.0, STYLE.1, 1);
    page.replacen(SCRIPT.0, SCRIPT.1, 1)
        .replacen(DATA, &data, 1)
}

/// The times of kernel entries, by their reasons.
fn entries(trace: &Trace) -> Vec<(&'static str, Vec<u64>)> {
    let reasons = Reason::ALL.iter().map(|reason| (reason.name(), Vec::new()));
    let mut all: Vec<_> = reasons.collect();
    for Event { kind, time, a, .. } in trace.events.iter().map(|one| one.event) {
        // Reasons are numbered from 1 on.
        let place = (kind == Kind::Entry.number()).then(|| (a as usize).checked_sub(1));
        if let Some((_, times)) = place.flatten().and_then(|place| all.get_mut(place)) {
            times.push(time);
        }
    }
    all
}

/// The number of a thread or a context in the page; -1 for none.
fn number(key: Option<usize>) -> i64 {
    key.map_or(-1, |key| key as i64)
}

/// Times as the page gets them: the first one, and from each to the next one. So they are short.
fn differences(times: impl Iterator<Item = u64>) -> Vec<i64> {
    let mut last = 0;
    let differences = times.map(|time| {
        let difference = time.wrapping_sub(last);
        last = time;
        difference as i64
    });
    differences.collect()
}
