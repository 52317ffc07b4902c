//! A page that shows a trace in a browser: one file, which needs no network.

use serde_json::{Value, json};
use trace_format::Kind;

use crate::jobs::mark;
use crate::state::text;
use crate::{ContextKey, State, Status, ThreadKey, Timeline, Trace, check, inversions, jobs};

/// The page, in which these texts stand for its parts.
const PAGE: &str = include_str!("viewer/page.html");
const STYLE: (&str, &str) = ("@STYLE@", include_str!("viewer/style.css"));
const SCRIPT: (&str, &str) = (
    "@SCRIPT@",
    concat!(
        "\"use strict\";\n",
        include_str!("viewer/trace.js"),
        include_str!("viewer/tables.js"),
        include_str!("viewer/paint.js"),
        include_str!("viewer/pane.js"),
        include_str!("viewer/page.js"),
    ),
);
const DATA: &str = "@DATA@";

/// The number of a thread or a context; -1 for none.
fn number(key: Option<usize>) -> i64 {
    key.map_or(-1, |key| key as i64)
}

fn of_thread(key: Option<ThreadKey>) -> i64 {
    number(key.map(|key| key.0))
}

fn of_context(key: Option<ContextKey>) -> i64 {
    number(key.map(|key| key.0))
}

/// The number of a status in the page, and the context of a thread that runs.
fn of_status(status: Status) -> (i64, i64) {
    match status {
        Status::Unknown => (0, -1),
        Status::Runs(context) => (1, of_context(context)),
        Status::Ready => (2, -1),
        Status::OutOfBudget(_) => (3, -1),
        Status::Passive => (4, -1),
        Status::Blocked(_) => (5, -1),
        Status::Stopped => (6, -1),
    }
}

/// Traces as a page, which shows them below each other, each with its name.
pub fn html(traces: &[(&str, &Trace)]) -> String {
    let data: Value = traces
        .iter()
        .map(|(name, trace)| data(name, trace))
        .collect();
    // Nothing in the data may be markup for the element that it is in.
    let data = data.to_string().replace('<', "\\u003c");
    let page = PAGE.replacen(STYLE.0, STYLE.1, 1);
    page.replacen(SCRIPT.0, SCRIPT.1, 1)
        .replacen(DATA, &data, 1)
}

/// What the page shows of a trace. Times are in ticks.
fn data(name: &str, trace: &Trace) -> Value {
    let timeline = Timeline::of(trace);
    let cores = timeline.cores.iter().map(|(core, spans)| {
        let spans = spans.iter().flat_map(|span| {
            let (start, end) = (span.start as i64, span.end as i64);
            [start, end, of_thread(span.thread), of_context(span.context)]
        });
        json!({ "core": core, "spans": spans.collect::<Vec<_>>() })
    });
    let threads = timeline.threads.iter().map(|lane| {
        let changes = lane.changes.iter().flat_map(|&(time, status)| {
            let (status, context) = of_status(status);
            [time as i64, status, context]
        });
        json!({ "name": lane.name, "changes": changes.collect::<Vec<_>>() })
    });
    let contexts = timeline.contexts.iter().map(|lane| {
        let (budget, period) = lane.parameters.unwrap_or_default();
        let uses = lane.uses.iter();
        let uses =
            uses.flat_map(|span| [span.start as i64, span.end as i64, of_thread(span.thread)]);
        let levels = lane.levels.iter();
        let levels = levels.flat_map(|&(time, amount)| [time, amount]);
        let moves = lane.moves.iter();
        let moves = moves
            .flat_map(|&(time, one, other, _)| [time as i64, of_thread(one), of_thread(other)]);
        let kinds = lane.moves.iter();
        let kinds = kinds.map(|&(.., why)| why.map_or(0, trace_format::Move::number));
        let ends = lane.ends.iter();
        let ends =
            ends.flat_map(|&(time, end)| [time, end.map_or(0, |end| u64::from(end.number()))]);
        json!({
            "name": lane.name, "budget": budget, "period": period,
            "uses": uses.collect::<Vec<_>>(), "levels": levels.collect::<Vec<_>>(),
            "moves": moves.collect::<Vec<_>>(), "kinds": kinds.collect::<Vec<_>>(),
            "ends": ends.collect::<Vec<_>>(),
        })
    });
    let timeouts = trace
        .events
        .iter()
        .filter(|one| one.event.kind() == Some(Kind::Timeout));
    let complaints = check(trace);
    let complaints = complaints
        .iter()
        .map(|one| json!({ "time": one.time, "text": one.text }));
    let jobs = jobs(trace);
    let jobs = jobs.iter().map(|one| {
        json!({
            "thread": one.thread, "task": one.task, "done": one.done, "missed": one.missed,
            "longest": one.longest,
        })
    });
    let inversions = inversions(trace);
    let inversions = inversions.iter().map(|one| {
        let (thread, charged) = (one.thread.0, one.charged.0);
        json!({ "start": one.start, "end": one.end, "thread": thread, "charged": charged })
    });
    json!({
        "name": name,
        "platform": trace.platform,
        "frequency": trace.frequency,
        "start": timeline.start,
        "end": timeline.end.max(timeline.start + 1),
        "events": trace.events.len(),
        "lost": trace.lost.values().map(|lost| lost.all()).sum::<u64>(),
        "cores": cores.collect::<Vec<_>>(),
        "threads": threads.collect::<Vec<_>>(),
        "contexts": contexts.collect::<Vec<_>>(),
        "timeouts": timeouts.map(|one| one.event.time).collect::<Vec<_>>(),
        "marks": marks(trace),
        "complaints": complaints.collect::<Vec<_>>(),
        "jobs": jobs.collect::<Vec<_>>(),
        "inversions": inversions.collect::<Vec<_>>(),
    })
}

/// The marks of programs, each with the number of its thread.
fn marks(trace: &Trace) -> Vec<Value> {
    let mut state = State::default();
    let mut marks = Vec::new();
    for one in &trace.events {
        let event = &one.event;
        state.apply(event);
        let marked = mark(event).filter(|(what, _)| *what != trace_format::Mark::Late);
        if let Some((what, task)) = marked {
            let value = match what {
                trace_format::Mark::Text => json!(text(&event.b.to_le_bytes())),
                // Numbers above 2^53 would be rounded by the page.
                _ => json!(event.b.to_string()),
            };
            marks.push(json!({
                "time": event.time, "thread": of_thread(state.thread(event.subject)),
                "what": what.name(), "task": task, "value": value,
            }));
        }
    }
    marks
}
