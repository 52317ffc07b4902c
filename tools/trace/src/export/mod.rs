//! Traces in the formats of other tools.

mod chrome;
mod csv;
mod ctf;
mod perfetto;
mod svg;
pub(crate) mod viewer;

pub use chrome::chrome;
pub use csv::csv;
pub use ctf::{ctf, write_folder};

pub use perfetto::perfetto;
pub use svg::svg;
pub use viewer::html;

use crate::{Span, Status, Timeline};

/// A word for a status.
const fn word(status: Status) -> &'static str {
    match status {
        Status::Unknown => "unknown",
        Status::Runs(_) => "runs",
        Status::Ready => "ready",
        Status::OutOfBudget(_) => "out of budget",
        Status::Passive => "without context",
        Status::Blocked(_) => "blocked",
        Status::Stopped => "stopped",
    }
}

/// The name of the thread of a span.
fn thread_of<'t>(timeline: &'t Timeline, span: &Span) -> &'t str {
    span.thread.map_or("", |key| &timeline.threads[key.0].name)
}

/// The name of the context of a span.
fn context_of<'t>(timeline: &'t Timeline, span: &Span) -> &'t str {
    span.context
        .map_or("", |key| &timeline.contexts[key.0].name)
}
