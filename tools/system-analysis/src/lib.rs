//! Will it be in time? From the description of a system to a verdict, with what each bound is made of.
//!
//! [`analyse()`] turns a checked description and the costs of the kernel on a platform ([`Figures`]) into the
//! models of the crate `schedulability`, applies its analyses, and returns a [`Report`]. The report is plain
//! data, which is printed as text, as one HTML page, or as JSON.

mod analyse;
pub mod assignment;
mod changes;
mod figures;
mod global;
mod guest;
mod model;
mod page;
pub mod partitions;
pub mod report;
mod search;
mod waits;

pub use analyse::analyse;
pub use figures::{Figures, Instructions, Overhead, Scheduler};
pub use global::overheads;
pub use report::{
    Configured, Curve, InForce, Kind, Observed, Part, Report, Row, Shown, Source, Verdict,
};
pub use schedulability::Time;

use system_description::Duration;

/// A duration of a description, for the analyses.
fn time(duration: Duration) -> Time {
    Time::from_nanos(duration.as_nanos())
}
