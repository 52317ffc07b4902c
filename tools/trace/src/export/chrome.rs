//! Chrome's trace event format, which `chrome://tracing` and Perfetto's viewer open.

use serde_json::{Value, json};

use super::{context_of, thread_of, word};
use crate::{Status, Timeline, Trace, remaining_budget};

// The processes: cores, threads, contexts.
const CORES: u32 = 1;
const THREADS: u32 = 2;
const CONTEXTS: u32 = 3;

/// The trace as JSON.
pub fn chrome(trace: &Trace) -> String {
    let timeline = Timeline::of(trace);
    let at = |ticks| json!(trace.microseconds(ticks));
    let mut events = vec![
        process(CORES, "cores"),
        process(THREADS, "threads"),
        process(CONTEXTS, "contexts"),
    ];
    for (core, spans) in &timeline.cores {
        events.push(track(CORES, u64::from(*core), &format!("core {core}")));
        for span in spans.iter().filter(|span| span.thread.is_some()) {
            events.push(json!({
                "ph": "X", "pid": CORES, "tid": core, "ts": at(span.start), "dur": at(span.end - span.start),
                "name": thread_of(&timeline, span), "args": { "context of": context_of(&timeline, span) },
            }));
        }
    }
    for (key, lane) in timeline.threads.iter().enumerate() {
        events.push(track(THREADS, key as u64, &lane.name));
        for (start, end, status) in lane.spans(timeline.end) {
            if matches!(status, Status::Unknown | Status::Stopped) {
                continue;
            }
            let context = match status {
                Status::Runs(Some(context)) => &timeline.contexts[context.0].name,
                _ => "",
            };
            events.push(json!({
                "ph": "X", "pid": THREADS, "tid": key, "ts": at(start), "dur": at(end - start),
                "name": word(status), "args": { "context of": context },
            }));
        }
    }
    let mut flow = 0;
    for (key, lane) in timeline.contexts.iter().enumerate() {
        events.push(track(CONTEXTS, key as u64, &lane.name));
        for span in &lane.uses {
            events.push(json!({
                "ph": "X", "pid": CONTEXTS, "tid": key, "ts": at(span.start), "dur": at(span.end - span.start),
                "name": thread_of(&timeline, span), "args": { "core": span.core },
            }));
        }
        for (time, amount) in &remaining_budget(lane, timeline.end) {
            events.push(json!({
                "ph": "C", "pid": CONTEXTS, "ts": at(*time), "name": format!("budget of {}", lane.name),
                "args": { "us": at(*amount) },
            }));
        }
        for (time, from, to, why) in &lane.moves {
            let (Some(from), Some(to)) = (from, to) else {
                continue;
            };
            flow += 1;
            for (phase, thread) in [("s", from), ("f", to)] {
                events.push(json!({
                    "ph": phase, "bp": "e", "pid": THREADS, "tid": thread.0, "ts": at(*time), "id": flow,
                    "cat": "donation", "name": why.map_or("moves", trace_format::Move::name),
                }));
            }
        }
    }
    format!("{}\n", json!({ "traceEvents": events }))
}

fn process(pid: u32, name: &str) -> Value {
    json!({ "ph": "M", "name": "process_name", "pid": pid, "args": { "name": name } })
}

fn track(pid: u32, tid: u64, name: &str) -> Value {
    json!({ "ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": { "name": name } })
}
