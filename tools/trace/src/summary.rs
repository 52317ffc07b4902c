//! What happened, in a table.

use std::collections::BTreeMap;
use std::fmt::Write;

use trace_format::{Clocks, Kind};

use crate::timeline::total;
use crate::{Inversion, ThreadKey, Timeline, Trace, inversions, jobs};

/// A table of cores, threads and contexts, and how many events there are of each kind.
pub fn summary(trace: &Trace) -> String {
    let timeline = Timeline::of(trace);
    let milliseconds = |ticks| trace.microseconds(ticks) / 1000.0;
    let all = (timeline.end - timeline.start).max(1);
    let share = |ticks: u64| 100.0 * ticks as f64 / all as f64;
    let mut text = String::new();
    let out = &mut text;
    let _ = writeln!(
        out,
        "{}: {:.3} ms, {} events of {} bytes",
        trace.platform,
        milliseconds(all),
        trace.events.len(),
        if trace.has_details { 32 } else { 16 },
    );
    if trace.lost.len() > 1 {
        let _ = writeln!(out, "clocks: {}", relation(trace.clocks));
    }
    for (core, lost) in &trace.lost {
        let spans = timeline.cores.get(core).map_or(&[][..], Vec::as_slice);
        let busy = spans.iter().filter(|span| span.thread.is_some());
        let busy = total(busy.map(|span| span.end - span.start));
        let _ = write!(out, "core {core}: busy {:.1} %", share(busy));
        if lost.all() > 0 {
            let _ = write!(
                out,
                "; missing events: {} of the beginning, {} in between, {} of the end, {} cut off",
                lost.at_the_beginning, lost.in_between, lost.at_the_end, lost.cut_off
            );
        }
        let _ = writeln!(out);
    }
    threads(trace, &timeline, &share, out);
    contexts(trace, &timeline, &share, out);
    tasks(trace, out);
    if let Some(worst) = inversions(trace).iter().max_by_key(|one| one.length()) {
        let _ = writeln!(
            out,
            "\nlongest priority inversion: {}",
            sentence(trace, &timeline, worst)
        );
    }
    let mut kinds = BTreeMap::new();
    for one in &trace.events {
        *kinds.entry(one.event.kind).or_insert(0_u64) += 1;
    }
    let kinds = kinds.iter().map(|(kind, count)| {
        let name = Kind::from_number(u64::from(*kind)).map_or("unknown", Kind::name);
        format!("{name} {count}")
    });
    let kinds: Vec<_> = kinds.collect();
    let _ = writeln!(out, "\nevents: {}", kinds.join(", "));
    text
}

/// What times of different cores say of their order.
const fn relation(clocks: Clocks) -> &'static str {
    match clocks {
        Clocks::Unknown => "the trace does not say how those of the cores relate",
        Clocks::Shared => "all cores read one counter",
        Clocks::Synchronous => {
            "each core reads its own counter; all start together, and have one rate"
        }
    }
}

/// What happened in an inversion.
fn sentence(trace: &Trace, timeline: &Timeline, one: &Inversion) -> String {
    let milliseconds = |ticks| trace.microseconds(ticks) / 1000.0;
    let name = |thread: ThreadKey| &timeline.threads[thread.0].name;
    format!(
        "from {:.3} ms on, {} waits {:.3} ms for work on the context of {}",
        milliseconds(one.start),
        name(one.thread),
        milliseconds(one.length()),
        name(one.charged),
    )
}

fn threads(trace: &Trace, timeline: &Timeline, share: &impl Fn(u64) -> f64, out: &mut String) {
    let milliseconds = |ticks| trace.microseconds(ticks) / 1000.0;
    let _ = writeln!(
        out,
        "\n{:>16} {:>10} {:>7} {:>16} {:>9}",
        "thread", "ran ms", "share", "longest ready ms", "timeouts"
    );
    for (key, lane) in timeline.threads.iter().enumerate() {
        let ran = timeline.ran(ThreadKey(key));
        let _ = writeln!(
            out,
            "{:>16} {:10.3} {:6.1}% {:16.3} {:>9}",
            lane.name,
            milliseconds(ran),
            share(ran),
            milliseconds(lane.longest_ready(timeline.end)),
            lane.timeouts,
        );
    }
}

/// The jobs that programs mark, if there are any.
fn tasks(trace: &Trace, out: &mut String) {
    let jobs = jobs(trace);
    if jobs.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "\n{:>16} {:>6} {:>10} {:>10} {:>19}",
        "jobs of", "task", "done", "missed", "longest response ms"
    );
    for one in jobs {
        let longest = trace.microseconds(one.longest) / 1000.0;
        let _ = writeln!(
            out,
            "{:>16} {:>6} {:>10} {:>10} {longest:19.3}",
            one.thread, one.task, one.done, one.missed
        );
    }
}

fn contexts(trace: &Trace, timeline: &Timeline, share: &impl Fn(u64) -> f64, out: &mut String) {
    let milliseconds = |ticks| trace.microseconds(ticks) / 1000.0;
    let _ = writeln!(
        out,
        "\n{:>16} {:>16} {:>11} {:>7} {:>14} {:>19} {:>9} {:>9}",
        "context of",
        "promised ms",
        "received ms",
        "share",
        "most, a period",
        "longest blackout ms",
        "exhausted",
        "donated"
    );
    for lane in &timeline.contexts {
        let promised = match lane.parameters {
            Some((budget, 0)) => format!("slices of {}", milliseconds(budget)),
            Some((budget, period)) => {
                format!("{} / {}", milliseconds(budget), milliseconds(period))
            }
            None => "?".to_string(),
        };
        let most = lane.most_in_a_period();
        let most = most.map_or("-".to_string(), |most| format!("{:.3}", milliseconds(most)));
        let _ = writeln!(
            out,
            "{:>16} {promised:>16} {:11.3} {:6.1}% {most:>14} {:19.3} {:>9} {:>9}",
            lane.name,
            milliseconds(lane.used()),
            share(lane.used()),
            milliseconds(lane.longest_blackout()),
            lane.ends.len(),
            lane.donations(),
        );
    }
}
