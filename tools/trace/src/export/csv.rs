//! Comma-separated values: one line for each event.

use std::fmt::Write;

use crate::{State, Trace};

/// A field, in quotation marks if it needs them.
fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_string()
    }
}

/// The events as lines `time_ns,core,sequence,kind,subject,name,a,b`.
pub fn csv(trace: &Trace) -> String {
    let mut state = State::default();
    let mut text = String::from("time_ns,core,sequence,kind,subject,name,a,b\n");
    for one in &trace.events {
        let event = &one.event;
        state.apply(event);
        let kind = event.kind();
        let is_context = kind.is_some_and(trace_format::Kind::is_about_context);
        let name = if is_context {
            let key = state.context(event.subject);
            key.map(|key| state.context_name(key, &trace.names))
        } else {
            let key = state.thread(event.subject);
            key.map(|key| state.thread_name(key, &trace.names))
        };
        let _ = writeln!(
            text,
            "{},{},{},{},{:x},{},{},{}",
            trace.nanoseconds(event.time),
            event.core,
            one.number,
            kind.map_or_else(|| event.kind.to_string(), |kind| kind.name().to_string()),
            event.subject.0,
            field(&name.unwrap_or_default()),
            event.a,
            event.b,
        );
    }
    text
}
