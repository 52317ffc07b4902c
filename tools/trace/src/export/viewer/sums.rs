//! The sums over a part of a trace that the page shows in its tables. `whole.js` does the same in a page that is not
//! served.

use serde_json::{Value, json};

use super::{Findings, Shown};
use crate::timeline::{most_in_a_window, total};
use crate::{Span, Status, ThreadLane};

/// The classes of a histogram.
const CLASSES: usize = 24;

/// Of each context, what it received, its longest blackout, and the most that it received in a period; of each thread,
/// the time for which it ran and was ready; how long calls and jobs took, as far as they are known; and how many kernel
/// entries there were for each reason.
pub(crate) fn sums(shown: &Shown, findings: Option<&Findings>, from: u64, to: u64) -> Value {
    let timeline = &shown.timeline;
    let contexts = timeline.contexts.iter().map(|lane| {
        let first = lane.uses.partition_point(|span| span.end <= from);
        let uses = &lane.uses[first..];
        let uses = &uses[..uses.partition_point(|span| span.start < to)];
        let received = uses.iter().map(|span| inside(span, from, to));
        let gaps = uses
            .windows(2)
            .map(|pair| pair[1].start.saturating_sub(pair[0].end));
        let (_, period) = lane.parameters.unwrap_or_default();
        let most = most_in_a_window(uses, period, (from, to));
        [total(received), gaps.max().unwrap_or(0), most]
    });
    let jobs = findings.map_or(&[][..], |findings| &findings.jobs);
    let entries = shown.entries.iter().map(|(_, times)| {
        times.partition_point(|time| *time < to) - times.partition_point(|time| *time < from)
    });
    let threads = timeline.threads.iter();
    let threads = threads.map(|lane| of_thread(lane, timeline.end, from, to));
    json!({
        "contexts": contexts.collect::<Vec<_>>(),
        "threads": threads.collect::<Vec<_>>(),
        "calls": histogram(shown.calls.iter().map(Vec::as_slice), from, to),
        "responses": histogram(jobs.iter().map(|jobs| &*jobs.responses), from, to),
        "entries": entries.collect::<Vec<_>>(),
    })
}

fn inside(span: &Span, from: u64, to: u64) -> u64 {
    span.end.min(to).saturating_sub(span.start.max(from))
}

fn of_thread(lane: &ThreadLane, end: u64, from: u64, to: u64) -> [u64; 2] {
    let changes = &lane.changes;
    let first = changes.partition_point(|(time, _)| *time <= from);
    let mut sums = [0, 0];
    for (i, &(start, status)) in changes.iter().enumerate().skip(first.saturating_sub(1)) {
        if start >= to {
            break;
        }
        let end = changes.get(i + 1).map_or(end, |next| next.0);
        let length = end.min(to).saturating_sub(start.max(from));
        match status {
            Status::Runs(_) => sums[0] += length,
            Status::Ready => sums[1] += length,
            _ => {}
        }
    }
    sums
}

/// Of lists of calls or jobs, by their ends, those in a part of the trace: how many there are, how long they took, and
/// how many of them are in each class of equal ratios.
fn histogram<'s>(
    lists: impl Iterator<Item = &'s [(u64, u64)]>,
    from: u64,
    to: u64,
) -> Option<Value> {
    let spans = lists.flat_map(|list| {
        let first = list.partition_point(|(_, end)| *end < from);
        list[first..].iter().take_while(|(_, end)| *end <= to)
    });
    let spans = spans.filter(|(start, _)| *start >= from);
    let mut taken: Vec<_> = spans.map(|(start, end)| (end - start).max(1)).collect();
    taken.sort_unstable();
    let [least, .., most] = taken[..] else {
        return None;
    };
    let width = (most as f64 / least as f64).ln() / CLASSES as f64;
    let width = if width > 0.0 { width } else { 1.0 };
    let mut counts = [0_u64; CLASSES];
    for one in &taken {
        let class = ((*one as f64 / least as f64).ln() / width) as usize;
        counts[class.min(CLASSES - 1)] += 1;
    }
    Some(json!({
        "count": taken.len(), "least": least, "most": most, "median": taken[taken.len() / 2], "counts": counts,
    }))
}
