//! What servers take for requests, in a table.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::{Correction, ThreadKey, Timeline, Trace};

/// The requests of a server on one context: how long each took in nanoseconds, without the cost of the events, and how
/// many cannot be told.
#[derive(Default)]
struct Requests {
    times: Vec<u64>,
    left_out: usize,
}

/// A table of the requests of each server that runs on callers' contexts: from the call that donates a context until its
/// return, in nanoseconds without the cost of the events, which are instructions where these count as time.
pub fn requests(trace: &Trace) -> String {
    let timeline = Timeline::of(trace);
    let correction = Correction::of(trace);
    let mut all: BTreeMap<(&str, &str), Requests> = BTreeMap::new();
    for lane in &timeline.contexts {
        for call in lane.donations_and_returns() {
            let server = call
                .server
                .map_or("?", |ThreadKey(key)| &timeline.threads[key].name);
            let requests = all.entry((server, &lane.name)).or_default();
            match correction.span(call.start, call.end) {
                Ok(span) => {
                    let time = span.corrected.max(0.0) * 1e9 / trace.frequency as f64;
                    requests.times.push(time.round() as u64);
                }
                Err(_) => requests.left_out += 1,
            }
        }
    }
    let mut text = format!(
        "{:>16} {:>16} {:>7} {:>10} {:>10} {:>10}\n",
        "requests to", "on the time of", "count", "least", "median", "most"
    );
    for ((server, caller), mut requests) in all {
        let times = &mut requests.times;
        times.sort_unstable();
        let count = times.len() + requests.left_out;
        let _ = write!(text, "{server:>16} {caller:>16} {count:>7}");
        if let (Some(least), Some(most)) = (times.first(), times.last()) {
            let median = times[times.len() / 2];
            let _ = write!(text, " {least:>10} {median:>10} {most:>10}");
        }
        if requests.left_out > 0 {
            let _ = write!(
                text,
                "  {} interrupted or on several cores: left out",
                requests.left_out
            );
        }
        text.push('\n');
    }
    text
}
