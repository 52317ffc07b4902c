//! What the page says of a whole trace: the analyses of all events, which take longer than the lanes.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use trace_format::{Kind, Mark};

use super::differences;
use crate::{Complaint, Inversion, Jobs, Timeline, Trace, check, inversions, jobs};

/// What is found in a trace.
pub(crate) struct Findings {
    pub(crate) complaints: Vec<Complaint>,
    pub(crate) inversions: Vec<Inversion>,
    pub(crate) jobs: Vec<Jobs>,
    /// The times that one can jump to, in ascending order, by what happens there.
    targets: Vec<(String, Vec<u64>)>,
    /// The longest time between two uses of a context with a period.
    blackout: Option<(u64, u64)>,
}

impl Findings {
    pub(crate) fn of(trace: &Trace, timeline: &Timeline) -> Self {
        let complaints = check(trace);
        let inversions = inversions(trace);
        let ends = timeline.contexts.iter().flat_map(|lane| &lane.ends);
        let mut events: BTreeMap<_, Vec<u64>> = BTreeMap::new();
        for event in trace.events.iter().map(|one| &one.event) {
            if let Some(kind) = event.kind().filter(|kind| !is_everywhere(*kind)) {
                events.entry(kind).or_default().push(event.time);
            }
        }
        let times_of = |kind| events.get(&kind).cloned().unwrap_or_default();
        let marks = &timeline.marks;
        let missed = marks.iter().filter(|one| one.mark == Mark::Missed);
        let targets = [
            ("budget ends", ends.map(|(time, _)| *time).collect()),
            ("timeouts", times_of(Kind::Timeout)),
            ("missed deadlines", missed.map(|one| one.time).collect()),
            ("marks", marks.iter().map(|one| one.time).collect()),
            (
                "inversions",
                inversions.iter().map(|one| one.start).collect(),
            ),
            ("stops of other cores", times_of(Kind::Exclusive)),
            (
                "broken rules",
                complaints.iter().map(|one| one.time).collect(),
            ),
        ];
        let targets = targets.map(|(what, mut times): (_, Vec<u64>)| {
            times.sort_unstable();
            (what.to_string(), times)
        });
        let events = events.into_iter();
        let events = events.map(|(kind, times)| (format!("event {}", kind.name()), times));
        Self {
            targets: targets.into_iter().chain(events).collect(),
            blackout: longest_blackout(timeline),
            jobs: jobs(trace),
            complaints,
            inversions,
        }
    }

    /// The next target of a kind after a time, or the last one before it.
    pub(crate) fn next(&self, target: usize, time: u64, is_backwards: bool) -> Option<u64> {
        let (_, times) = self.targets.get(target)?;
        let place = if is_backwards {
            times.partition_point(|one| *one < time).checked_sub(1)?
        } else {
            times.partition_point(|one| *one <= time)
        };
        times.get(place).copied()
    }

    /// For the page, with the number of targets of each kind.
    pub(crate) fn to_json(&self) -> Value {
        let jobs = self.jobs.iter().map(|one| {
            json!({
                "thread": one.thread, "task": one.task, "done": one.done, "missed": one.missed,
                "longest": one.longest,
            })
        });
        let targets = self.targets.iter();
        let targets = targets.map(|(what, times)| json!({ "what": what, "count": times.len() }));
        let longer = |one: Inversion, other: Inversion| {
            if other.length() > one.length() {
                other
            } else {
                one
            }
        };
        let worst = self.inversions.iter().copied().reduce(longer);
        json!({
            "broken": self.complaints.len(),
            "jobs": jobs.collect::<Vec<_>>(),
            "targets": targets.collect::<Vec<_>>(),
            "blackout": self.blackout.map(|(start, end)| [start, end]),
            "inversion": worst.map(|worst| inversion(&worst)),
        })
    }

    /// The times of the targets of each kind.
    pub(crate) fn times(&self) -> Vec<Vec<i64>> {
        let targets = self.targets.iter();
        targets
            .map(|(_, all)| differences(all.iter().copied()))
            .collect()
    }
}

/// Whether events of a kind are in almost every kernel entry, so that the next one is no news.
const fn is_everywhere(kind: Kind) -> bool {
    use Kind::{Added, Charged, Entry, Exit, Head, Invocation, Run, Use};
    matches!(
        kind,
        Run | Use | Entry | Exit | Invocation | Charged | Head | Added
    )
}

/// An inversion for the page.
pub(crate) fn inversion(one: &Inversion) -> Value {
    let (thread, charged) = (one.thread.0, one.charged.0);
    json!({ "start": one.start, "end": one.end, "thread": thread, "charged": charged })
}

fn longest_blackout(timeline: &Timeline) -> Option<(u64, u64)> {
    let lanes = timeline.contexts.iter();
    let periodic = lanes.filter(|lane| lane.parameters.is_some_and(|(_, period)| period > 0));
    let gaps = periodic.flat_map(|lane| {
        let pairs = lane.uses.windows(2);
        pairs.map(|pair| (pair[0].end, pair[1].start))
    });
    let length = |(start, end): (u64, u64)| end.saturating_sub(start);
    gaps.reduce(|one, other| {
        if length(other) > length(one) {
            other
        } else {
            one
        }
    })
}
