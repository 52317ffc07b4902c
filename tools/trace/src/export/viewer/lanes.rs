//! The lanes in a part of a trace, as the page gets them: lists of numbers, row by row.

use std::collections::HashMap;

use serde_json::{Value, json};
use trace_format::Mark;

use super::findings::inversion;
use super::{Findings, Shown, Tile, differences, number};
use crate::state::text;
use crate::timeline::total;
use crate::{ContextLane, Marked, Span, Status, ThreadKey, ThreadLane};

/// The part of a second that a tile may be long to have the donations in it; more lines would hide each other.
const DONATIONS: u64 = 10;
/// The most inversions in a tile: the longest ones.
const INVERSIONS: usize = 500;

// The numbers of the statuses in the page.
const RUNS: usize = 1;
const fn of_status(status: Status) -> usize {
    match status {
        Status::Unknown => 0,
        Status::Runs(_) => RUNS,
        Status::Ready => 2,
        Status::OutOfBudget(_) => 3,
        Status::Passive => 4,
        Status::Blocked(_) => 5,
        Status::Stopped => 6,
    }
}

/// The lanes in a tile, and what is found there, as far as it is known.
pub(crate) fn lanes(tile: Tile, shown: &Shown, findings: Option<&Findings>) -> Value {
    let timeline = &shown.timeline;
    let has_donations = tile.is_exact() || tile.length() < shown.frequency / DONATIONS;
    let mut tally = Tally::default();
    let cores: Vec<_> = (timeline.cores.values())
        .map(|spans| core(tile, spans, &mut tally))
        .collect();
    let threads: Vec<_> = (timeline.threads.iter())
        .map(|lane| thread(tile, lane, timeline.end, &mut tally))
        .collect();
    let contexts: Vec<_> = (timeline.contexts.iter().zip(&shown.budgets))
        .map(|(lane, budget)| context(tile, lane, budget, has_donations, &mut tally))
        .collect();
    let complaints = findings.map_or(&[][..], |findings| &findings.complaints);
    let complaints: Vec<_> = (tile.first_in_bins(complaints, |one| one.time).iter())
        .map(|one| json!({ "time": one.time, "text": one.text }))
        .collect();
    json!({
        "cores": cores, "threads": threads, "contexts": contexts,
        "marks": marks(tile, &timeline.marks), "complaints": complaints,
        "inversions": findings.map(|findings| inversions(tile, findings)),
    })
}

/// A core: the thread that ran most, the context that was charged most, and the busy time.
fn core(tile: Tile, spans: &[Span], tally: &mut Tally) -> Vec<i64> {
    let mut rows = Rows::default();
    let first = spans.partition_point(|span| span.end <= tile.start);
    for group in tile.groups(first..spans.len(), |i| (spans[i].start, spans[i].end)) {
        let group = &spans[group];
        let busy = group.iter().filter(|span| span.thread.is_some());
        for span in busy.clone() {
            tally.add(span.thread.map(|key| key.0), length(span));
        }
        let thread = tally.take_most();
        for span in busy.clone() {
            tally.add(span.context.map(|key| key.0), length(span));
        }
        let others = [thread, tally.take_most()];
        rows.push(around(group), others, total(busy.map(length)));
    }
    rows.numbers
}

/// A thread: the status that it had most while it did not run, the context that was charged most, and the time for
/// which it ran.
fn thread(tile: Tile, lane: &ThreadLane, end: u64, tally: &mut Tally) -> Vec<i64> {
    let changes = &lane.changes;
    let span = |i: usize| (changes[i].0, changes.get(i + 1).map_or(end, |next| next.0));
    let length = |i| span(i).1.saturating_sub(span(i).0);
    let mut rows = Rows::default();
    let first = changes.partition_point(|(time, _)| *time <= tile.start);
    for group in tile.groups(first.saturating_sub(1)..changes.len(), span) {
        let mut ran = 0;
        for i in group.clone() {
            if let Status::Runs(context) = changes[i].1 {
                ran += length(i);
                tally.add(context.map(|key| key.0), length(i));
            }
        }
        let context = tally.take_most();
        for i in group.clone() {
            let status = of_status(changes[i].1);
            if status != RUNS {
                tally.add(Some(status), length(i));
            }
        }
        let status = tally.take_most();
        let status = if status < 0 { RUNS as i64 } else { status };
        rows.push(
            (span(group.start).0, span(group.end - 1).1),
            [status, context],
            ran,
        );
    }
    rows.numbers
}

/// A context: the thread that used it most, and for how long it was used; what it had left, when its use ended, and its
/// moves.
fn context(
    tile: Tile,
    lane: &ContextLane,
    budget: &[(u64, u64)],
    has_donations: bool,
    tally: &mut Tally,
) -> Value {
    let mut rows = Rows::default();
    let uses = &lane.uses;
    let first = uses.partition_point(|span| span.end <= tile.start);
    for group in tile.groups(first..uses.len(), |i| (uses[i].start, uses[i].end)) {
        let group = &uses[group];
        for span in group {
            tally.add(span.thread.map(|key| key.0), length(span));
        }
        rows.push(
            around(group),
            [tally.take_most(), 0],
            total(group.iter().map(length)),
        );
    }
    let added = tile.first_in_bins(&lane.added, |one| one.due);
    let points = tile.line(budget);
    let ends = tile.first_in_bins(&lane.ends, |(time, _)| *time);
    let moves = if has_donations {
        tile.first_in_bins(&lane.moves, |(time, ..)| *time)
    } else {
        Vec::new()
    };
    let key = |key: Option<ThreadKey>| number(key.map(|key| key.0));
    json!({
        "uses": rows.numbers,
        "times": differences(points.iter().map(|(time, _)| *time)),
        "left": points.iter().map(|(_, amount)| *amount).collect::<Vec<_>>(),
        "due": differences(added.iter().map(|one| one.due)),
        "pending": added.iter().map(|one| one.due - one.since).collect::<Vec<_>>(),
        "amount": added.iter().map(|one| one.amount).collect::<Vec<_>>(),
        "ends": differences(ends.iter().map(|(time, _)| *time)),
        "moved": differences(moves.iter().map(|(time, ..)| *time)),
        "movedFrom": moves.iter().map(|(_, from, ..)| key(*from)).collect::<Vec<_>>(),
        "movedTo": moves.iter().map(|(_, _, to, _)| key(*to)).collect::<Vec<_>>(),
    })
}

/// A mark of each thread in each bin: a missed deadline, or else the first one.
fn marks(tile: Tile, marks: &[Marked]) -> Vec<Value> {
    let mut chosen: Vec<&Marked> = Vec::new();
    let mut places = HashMap::new();
    for (i, one) in tile.part(marks, |one| one.time).iter().enumerate() {
        // With all details, each mark is alone.
        let bin = if tile.is_exact() {
            i as u64
        } else {
            tile.bin_of(one.time)
        };
        let place = *places.entry((bin, one.thread)).or_insert(chosen.len());
        match chosen.get_mut(place) {
            None => chosen.push(one),
            Some(other) if one.mark == Mark::Missed => *other = one,
            Some(_) => {}
        }
    }
    let marks = chosen.iter().map(|one| {
        let value = match one.mark {
            Mark::Text => json!(text(&one.value.to_le_bytes())),
            // Numbers above 2^53 would be rounded by the page.
            _ => json!(one.value.to_string()),
        };
        json!({
            "time": one.time, "thread": one.thread.0, "what": one.mark.name(), "task": one.task, "value": value,
        })
    });
    marks.collect()
}

fn inversions(tile: Tile, findings: &Findings) -> Vec<Value> {
    let inversions = findings.inversions.iter();
    let mut inside: Vec<_> = inversions
        .filter(|one| one.start < tile.end && one.end > tile.start)
        .collect();
    if !tile.is_exact() {
        inside.sort_by_key(|one| std::cmp::Reverse(one.length()));
        inside.truncate(INVERSIONS);
    }
    inside.into_iter().map(inversion).collect()
}

const fn length(span: &Span) -> u64 {
    span.end - span.start
}

/// From the start of the first span to the end of the last one.
fn around(spans: &[Span]) -> (u64, u64) {
    let first = spans.first().map_or(0, |span| span.start);
    (first, spans.last().map_or(first, |span| span.end))
}

/// Rows of five numbers: the time since the end of the row before, its length, two keys (of a thread, a context or a
/// status), and for how much of its length the lane is not busy. Most numbers are small, and so is their text.
#[derive(Default)]
struct Rows {
    numbers: Vec<i64>,
    end: u64,
}

impl Rows {
    fn push(&mut self, (start, end): (u64, u64), [one, other]: [i64; 2], part: u64) {
        let length = end.saturating_sub(start);
        let gap = start.wrapping_sub(self.end) as i64;
        self.numbers.extend([
            gap,
            length as i64,
            one,
            other,
            length.saturating_sub(part) as i64,
        ]);
        self.end = end;
    }
}

/// The time of each thread or context in a group of spans.
#[derive(Default)]
struct Tally {
    /// By number, from 1; 0 stands for none.
    ticks: Vec<u64>,
    counted: Vec<usize>,
}

impl Tally {
    fn add(&mut self, key: Option<usize>, ticks: u64) {
        let place = key.map_or(0, |key| key + 1);
        if place >= self.ticks.len() {
            self.ticks.resize(place + 1, 0);
        }
        if self.ticks[place] == 0 {
            self.counted.push(place);
        }
        self.ticks[place] = self.ticks[place].saturating_add(ticks);
    }

    /// The one with the longest time, or -1. Forgets all times.
    fn take_most(&mut self) -> i64 {
        let ticks = &mut self.ticks;
        let counted = self.counted.drain(..);
        let most = counted
            .map(|place| (std::mem::take(&mut ticks[place]), place))
            .max();
        most.map_or(-1, |(_, place)| place as i64 - 1)
    }
}
