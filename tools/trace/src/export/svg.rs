//! A picture for papers and for the book: lanes of threads in the colours of the contexts that are charged.

use std::fmt::Write;

use crate::{ContextKey, Status, Timeline, Trace};

const WIDTH: f64 = 760.0;
const NAMES: f64 = 120.0;
const LANE: f64 = 22.0;
const TOP: f64 = 30.0;
/// The colours of contexts, in their order.
const COLOURS: [&str; 8] = [
    "#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#d95f02", "#8c564b", "#c2339c", "#0e7c86",
];

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

fn colour(context: Option<ContextKey>) -> &'static str {
    context.map_or("#888888", |context| COLOURS[context.0 % COLOURS.len()])
}

/// The threads that run between two times in ticks, as a picture.
pub fn svg(trace: &Trace, from: u64, to: u64) -> String {
    let timeline = Timeline::of(trace);
    let to = to.max(from + 1);
    let x = |time: u64| {
        let part = (time.clamp(from, to) - from) as f64 / (to - from) as f64;
        NAMES + part * (WIDTH - NAMES - 10.0)
    };
    let is_seen = |start: u64, end: u64| start < to && end > from;
    let lanes = timeline.threads.iter().filter(|lane| {
        let mut spans = lane.spans(timeline.end);
        spans.any(|(start, end, status)| matches!(status, Status::Runs(_)) && is_seen(start, end))
    });
    let lanes: Vec<_> = lanes.collect();
    let mut text = String::new();
    let bottom = TOP + LANE * lanes.len() as f64;
    for step in 0..=5 {
        let time = from + (to - from) / 5 * step;
        let (x, label) = (x(time), trace.microseconds(time) / 1000.0);
        let anchor = if step < 5 { "middle" } else { "end" };
        let _ = writeln!(
            text,
            r##"<path d="M{x:.1} {TOP}V{bottom:.1}" stroke="#dddddd"/><text x="{x:.1}" y="{:.1}" text-anchor="{anchor}">{label:.2} ms</text>"##,
            TOP - 8.0,
        );
    }
    let mut used: Vec<ContextKey> = Vec::new();
    for (index, lane) in lanes.iter().enumerate() {
        let y = TOP + LANE * index as f64;
        let _ = writeln!(
            text,
            r##"<text x="{:.1}" y="{:.1}" text-anchor="end">{}</text>"##,
            NAMES - 8.0,
            y + LANE * 0.7,
            escaped(&lane.name),
        );
        for (start, end, status) in lane.spans(timeline.end) {
            if !is_seen(start, end) {
                continue;
            }
            let (left, width) = (x(start), (x(end) - x(start)).max(0.3));
            let (fill, top, size) = match status {
                Status::Runs(context) => {
                    used.extend(context.filter(|context| !used.contains(context)));
                    (colour(context), y + 3.0, LANE - 6.0)
                }
                Status::Ready => ("#bbbbbb", y + LANE / 2.0 - 2.0, 4.0),
                Status::OutOfBudget(_) => ("#f0a0a0", y + LANE / 2.0 - 2.0, 4.0),
                _ => continue,
            };
            let _ = writeln!(
                text,
                r##"<rect x="{left:.2}" y="{top:.1}" width="{width:.2}" height="{size:.1}" fill="{fill}"/>"##
            );
        }
    }
    let (mut left, mut y) = (NAMES, bottom + LANE);
    let _ = writeln!(
        text,
        r##"<text x="{:.1}" y="{y:.1}" text-anchor="end">contexts of</text>"##,
        NAMES - 8.0,
    );
    for context in used {
        let name = &timeline.contexts[context.0].name;
        let width = 32.0 + 7.0 * name.len() as f64;
        if left > NAMES && left + width > WIDTH {
            (left, y) = (NAMES, y + LANE);
        }
        let (name, fill) = (escaped(name), colour(Some(context)));
        let _ = writeln!(
            text,
            r##"<rect x="{left:.1}" y="{:.1}" width="12" height="12" fill="{fill}"/><text x="{:.1}" y="{y:.1}">{name}</text>"##,
            y - 10.0,
            left + 16.0,
        );
        left += width;
    }
    let height = y + 14.0;
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">
<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>
{text}</svg>
"##
    )
}
