//! Spans without the time that the events in them took.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};

use serde_json::{Value, json};
use trace_format::{Cost, Event, Kind, Reason};

use crate::{Gap, Timeline, Trace, gaps};

/// A span, and what it would have been without events.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Corrected {
    /// How long it was, in ticks.
    pub raw: u64,
    /// The events that were written meanwhile.
    pub events: u64,
    /// How long it would have been, in ticks.
    pub corrected: f64,
    /// How far that may be from the truth, in either direction.
    pub error: f64,
}

/// Why a span cannot be corrected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NotCorrectable {
    /// An earlier version of the format does not say what an event cost.
    NoCalibration,
    /// The trace does not have events of all kinds, so that interrupts are not seen.
    NotAllKinds,
    /// An interrupt came within it, at a time that does not depend on events.
    Interrupt,
    /// More than one core is part of it.
    SeveralCores,
    /// Events in it are missing.
    LostEvents,
}

impl NotCorrectable {
    /// All of them, by their numbers.
    const ALL: [Self; 5] = [
        Self::NoCalibration,
        Self::NotAllKinds,
        Self::Interrupt,
        Self::SeveralCores,
        Self::LostEvents,
    ];
}

impl fmt::Display for NotCorrectable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::NoCalibration => "the trace does not say what an event cost",
            Self::NotAllKinds => "the trace does not have events of all kinds",
            Self::Interrupt => "across an interrupt",
            Self::SeveralCores => "across cores",
            Self::LostEvents => "across lost events",
        })
    }
}

/// What is needed to correct the spans of a trace.
#[derive(Clone, Debug)]
pub struct Correction {
    /// The cores of which it is known what an event costs.
    calibrated: BTreeSet<u8>,
    /// Whether the trace has events of all kinds.
    is_full: bool,
    /// In the order of time; cores with one time follow each other.
    entries: Vec<Entry>,
    gaps: Vec<Gap>,
}

/// The events of a core with one time: a kernel entry, or what is left of a long one after a preemption point.
#[derive(Clone, Copy, Debug)]
struct Entry {
    time: u64,
    core: u8,
    events: u64,
    /// What they cost, and how far that may be from the truth, in parts of a tick.
    cost: [u64; 2],
    /// Why spans that go on from before it cannot be corrected.
    obstacle: Option<NotCorrectable>,
}

impl Correction {
    /// For a trace.
    pub fn of(trace: &Trace) -> Self {
        let mut entries: Vec<Entry> = Vec::new();
        for one in &trace.events {
            let event = &one.event;
            let obstacle = match event.kind() {
                Some(Kind::Entry) => match Reason::from_number(event.a) {
                    Some(Reason::Syscall | Reason::Fault | Reason::Start) => None,
                    Some(Reason::Core | Reason::RemoteAccess) => Some(NotCorrectable::SeveralCores),
                    _ => Some(NotCorrectable::Interrupt),
                },
                Some(Kind::Exclusive | Kind::Waited) => Some(NotCorrectable::SeveralCores),
                _ => None,
            };
            let cost = cost(trace, event);
            match entries.last_mut() {
                Some(last) if (last.time, last.core) == (event.time, event.core) => {
                    last.events += 1;
                    last.cost = sum(last.cost, cost);
                    last.obstacle = last.obstacle.or(obstacle);
                }
                _ => entries.push(Entry {
                    time: event.time,
                    core: event.core,
                    events: 1,
                    cost,
                    obstacle,
                }),
            }
        }
        Self {
            calibrated: trace.costs.keys().copied().collect(),
            is_full: trace.is_full,
            entries,
            gaps: gaps(trace),
        }
    }

    /// For the page, which does the same as [`Correction::span`]: for each entry the time since the one before, its core,
    /// what its events cost, and how far that may be from the truth, in parts of a tick, and the number of its obstacle.
    pub(crate) fn to_json(&self) -> Value {
        let mut last = 0;
        let rows = self.entries.iter().flat_map(|one| {
            let since = one.time.wrapping_sub(last);
            last = one.time;
            let obstacle = one.obstacle.map_or(0, |obstacle| obstacle as u64 + 1);
            let [cost, error] = one.cost;
            [since, one.core.into(), cost, error, obstacle]
        });
        let rows: Vec<_> = rows.collect();
        let gaps = self.gaps.iter();
        // Of the last gap there is no end.
        let gaps = gaps.map(|gap| [gap.before, gap.after].map(|event| event.map(|(_, time)| time)));
        json!({
            "isFull": self.is_full, "parts": Cost::PARTS, "calibrated": self.calibrated, "rows": rows,
            "gaps": gaps.collect::<Vec<_>>(),
            "obstacles": NotCorrectable::ALL.map(|one| one.to_string()),
        })
    }

    /// A span from one time to another, which are those of kernel entries.
    ///
    /// # Errors
    /// If it cannot be corrected.
    pub fn span(&self, from: u64, to: u64) -> Result<Corrected, NotCorrectable> {
        if !self.is_full {
            return Err(NotCorrectable::NotAllKinds);
        }
        if self.gaps.iter().any(|gap| gap.touches(from, to)) {
            return Err(NotCorrectable::LostEvents);
        }
        let first = self.entries.partition_point(|one| one.time < from);
        let entries = self.entries[first..].iter();
        let (mut core, mut events, mut cost) = (None, 0, [0; 2]);
        for one in entries.take_while(|one| one.time <= to) {
            if *core.get_or_insert(one.core) != one.core {
                return Err(NotCorrectable::SeveralCores);
            }
            // Why the span begins has no effect on how long it is.
            if let Some(obstacle) = one.obstacle
                && one.time > from
            {
                return Err(obstacle);
            }
            // The entry that ends the span has read the clock before its events.
            if one.time < to {
                events += one.events;
                cost = sum(cost, one.cost);
            }
        }
        if core.is_some_and(|core| !self.calibrated.contains(&core)) {
            return Err(NotCorrectable::NoCalibration);
        }
        let raw = to.saturating_sub(from);
        let [cost, error] = cost.map(Cost::ticks);
        Ok(Corrected {
            raw,
            events,
            corrected: raw as f64 - cost,
            error,
        })
    }
}

/// What an event cost, and how far that may be from the truth, in parts of a tick.
pub(crate) fn cost(trace: &Trace, event: &Event) -> [u64; 2] {
    let costs = trace.costs.get(&event.core);
    costs.map_or([0; 2], |costs| costs.of(event.kind).parts())
}

pub(crate) const fn sum(one: [u64; 2], other: [u64; 2]) -> [u64; 2] {
    [one[0] + other[0], one[1] + other[1]]
}

/// The calls with which a context was donated.
#[derive(Default)]
struct Calls {
    raw: Vec<u64>,
    corrected: Vec<Corrected>,
    /// Why others were not corrected.
    others: BTreeMap<NotCorrectable, usize>,
}

/// A table of the calls with which each context was donated, from the donation to its return.
pub fn calls(trace: &Trace) -> String {
    let timeline = Timeline::of(trace);
    let correction = Correction::of(trace);
    let microseconds = |ticks: f64| ticks * 1e6 / trace.frequency as f64;
    let mut text = format!(
        "{:>16} {:>7} {:>14} {:>12} {:>14} {:>9}\n",
        "calls on", "count", "median raw us", "corrected", "median us", "error us"
    );
    for lane in &timeline.contexts {
        let mut calls = Calls::default();
        for (from, to) in lane.calls() {
            calls.raw.push(to - from);
            match correction.span(from, to) {
                Ok(one) => calls.corrected.push(one),
                Err(why) => *calls.others.entry(why).or_default() += 1,
            }
        }
        if calls.raw.is_empty() {
            continue;
        }
        calls.raw.sort_unstable();
        let corrected = &mut calls.corrected;
        corrected.sort_by(|one, other| one.corrected.total_cmp(&other.corrected));
        let _ = write!(
            text,
            "{:>16} {:>7} {:14.3} {:>12}",
            lane.name,
            calls.raw.len(),
            microseconds(calls.raw[calls.raw.len() / 2] as f64),
            corrected.len(),
        );
        if let Some(median) = corrected.get(corrected.len() / 2) {
            let (time, error) = (microseconds(median.corrected), microseconds(median.error));
            let _ = write!(text, " {time:14.3} {error:9.3}");
        }
        for (why, count) in &calls.others {
            let _ = write!(text, "  {count} {why}");
        }
        text.push('\n');
    }
    text
}
