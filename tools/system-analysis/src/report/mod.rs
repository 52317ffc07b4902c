//! The report: plain data, and its forms.

pub(crate) mod html;
mod in_force;
mod picture;
mod text;

use schedulability::{Method, Time};
use serde::{Serialize, Serializer};

pub use in_force::{Configured, InForce};

/// Whether a deadline holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It does.
    Holds,
    /// It can be missed, or the analysis cannot show that it is not.
    Fails,
    /// Nothing is promised.
    NoPromise,
}

/// What a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The jobs of a component.
    Job,
    /// The budget of a component without jobs: all of it can be used before the next one is there.
    Budget,
    /// A task of a guest.
    Guest,
    /// The jobs of a component under a user-level scheduler.
    Scheduled,
    /// A component that takes what is left.
    Rest,
}

/// Where a part of a bound comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Its own execution.
    Own,
    /// Its requests to a server.
    Request,
    /// The kernel on its behalf, and the section that delays it.
    Kernel,
    /// Execution of another component that precedes it.
    Interference,
    /// A request of another component, in a server.
    Blocking,
    /// Waiting for a server that has time of its own.
    Waiting,
    /// Time without budget or turn.
    Blackout,
    /// From the arrival to the release.
    Jitter,
}

/// A part of a bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    /// Where it comes from.
    pub source: Source,
    /// The component, or the server.
    pub by: String,
    /// In nanoseconds.
    #[serde(serialize_with = "nanos")]
    pub time: Time,
}

/// Demand and supply over the length of a window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Curve {
    /// The work that must be done.
    pub demand: Vec<(Time, Time)>,
    /// The work that surely is.
    pub supply: Vec<(Time, Time)>,
}

/// What a trace shows of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shown {
    /// Jobs, from release to completion.
    Jobs,
    /// Budgets that were used up, from when they were there.
    Budgets,
}

impl Shown {
    /// What was promised of it.
    fn fits(self, kind: Kind) -> bool {
        match self {
            Self::Jobs => matches!(kind, Kind::Job | Kind::Scheduled),
            Self::Budgets => kind == Kind::Budget,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Jobs => "jobs",
            Self::Budgets => "whole budgets",
        }
    }
}

/// The response times of a component in a run, as its trace shows them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Observed {
    /// The component.
    pub name: String,
    /// What was observed.
    pub shown: Shown,
    /// The number of jobs or budgets.
    pub count: u64,
    /// The longest response in nanoseconds.
    #[serde(serialize_with = "nanos")]
    pub longest: Time,
}

/// A deadline and its bound.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The component or task.
    pub name: String,
    /// What it is about.
    pub kind: Kind,
    /// The core; of a cluster, the first.
    pub core: u32,
    /// The criticality level for which it holds.
    pub level: u8,
    /// Its priority, if it has one.
    pub priority: Option<u8>,
    /// The bound in nanoseconds, if there is one.
    #[serde(serialize_with = "some_nanos")]
    pub bound: Option<Time>,
    /// The deadline in nanoseconds.
    #[serde(serialize_with = "some_nanos")]
    pub deadline: Option<Time>,
    /// Whether it holds.
    pub verdict: Verdict,
    /// What the bound is made of. Some work is done for earlier jobs, so the sum can be larger.
    pub parts: Vec<Part>,
    /// Why there is no bound, or what else is to be said.
    pub note: String,
    /// What a run has shown, if it was compared.
    pub observed: Option<Observed>,
    /// The method.
    #[serde(serialize_with = "name")]
    pub method: Option<&'static Method>,
    /// The picture.
    #[serde(skip)]
    pub curve: Curve,
}

/// A single change after which all deadlines hold, or up to which they do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// What is changed: the cost of jobs, a budget, a request.
    pub what: String,
    /// The component to which it belongs.
    pub component: String,
    /// The value as described, in nanoseconds.
    #[serde(serialize_with = "nanos")]
    pub from: Time,
    /// The largest value with which all deadlines hold, in nanoseconds.
    #[serde(serialize_with = "nanos")]
    pub to: Time,
}

/// The result of an analysis.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The system's title.
    pub title: String,
    /// The platform.
    pub platform: String,
    /// Whether all deadlines hold.
    pub holds: bool,
    /// All rows.
    pub rows: Vec<Row>,
    /// If deadlines fail, what single change makes them hold, the least one first; else how far each value may
    /// grow, the most critical one first.
    pub changes: Vec<Change>,
    /// What was assumed, beside the assumptions of the methods.
    pub assumptions: Vec<String>,
}

impl Report {
    /// What to change first: the component of the least change, if deadlines fail.
    pub fn culprit(&self) -> Option<&Change> {
        self.changes.first().filter(|_| !self.holds)
    }

    /// The methods that were used, each once.
    pub fn methods(&self) -> Vec<&'static Method> {
        let mut found: Vec<&'static Method> = Vec::new();
        for method in self.rows.iter().filter_map(|row| row.method) {
            if !found.contains(&method) {
                found.push(method);
            }
        }
        found
    }

    /// Puts what a part of a run has shown beside the bounds. A response above its bound is an error: of the description, if
    /// it names too small costs, or else of the analysis.
    pub fn observe(&mut self, observed: &[Observed], part: &InForce) {
        if *part != InForce::WHOLE {
            self.assumptions.push(format!(
                "The run is compared in {part}, while its contexts had the budgets of the description."
            ));
        }
        // Threads of one name are one component, which has started again.
        let mut all: Vec<Observed> = Vec::new();
        for one in observed.iter().filter(|one| one.count > 0) {
            let is_known =
                |other: &&mut Observed| other.name == one.name && other.shown == one.shown;
            match all.iter_mut().find(is_known) {
                Some(other) => {
                    other.count += one.count;
                    other.longest = other.longest.max(one.longest);
                }
                None => all.push(one.clone()),
            }
        }
        for one in &all {
            let is_it = |row: &&mut Row| row.name == one.name && one.shown.fits(row.kind);
            // With several criticality levels, the run may have been at any.
            let rows = self.rows.iter_mut().filter(is_it);
            let Some(row) = rows.max_by_key(|row| (row.bound.is_none(), row.bound)) else {
                continue;
            };
            row.observed = Some(one.clone());
            let (longest, count, what) = (shown(one.longest), one.count, one.shown.words());
            let note = match row.bound {
                Some(bound) if one.longest > bound => {
                    row.verdict = Verdict::Fails;
                    self.holds = false;
                    format!("ABOVE THE BOUND: one of {count} {what} in {part} took {longest}.")
                }
                Some(bound) => {
                    let share = one.longest.nanos() * 100 / bound.nanos().max(1);
                    format!(
                        "In {part}, {count} {what} took at most {longest}, {share} % of the bound."
                    )
                }
                None => format!("In {part}, {count} {what} took at most {longest}."),
            };
            if !row.note.is_empty() {
                row.note.push(' ');
            }
            row.note += &note;
        }
    }

    /// As text.
    pub fn text(&self) -> String {
        text::of(self)
    }

    /// As one HTML page without references to anything else.
    pub fn html(&self) -> String {
        html::of(self)
    }

    /// As JSON; times are in nanoseconds.
    pub fn json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("a report is plain data");
        text.push('\n');
        text
    }
}

impl Row {
    /// The time between bound and deadline; negative if the deadline is missed.
    pub fn slack(&self) -> Option<Time> {
        Some(self.deadline? - self.bound?)
    }
}

/// A time for people: milliseconds or microseconds, with up to three places.
pub fn shown(time: Time) -> String {
    let nanos = time.nanos();
    let (unit, name) = match nanos.abs() {
        0..1_000_000 => (1_000, "us"),
        1_000_000..10_000_000_000 => (1_000_000, "ms"),
        _ => (1_000_000_000, "s"),
    };
    let thousandths = (nanos.abs() * 1_000 + unit / 2) / unit;
    let sign = if nanos < 0 { "-" } else { "" };
    let (whole, part) = (thousandths / 1_000, thousandths % 1_000);
    let part = format!(".{part:03}");
    let part = part.trim_end_matches('0').trim_end_matches('.');
    format!("{sign}{whole}{part} {name}")
}

/// What a part is, in words.
pub(crate) fn words(source: Source) -> &'static str {
    match source {
        Source::Own => "own cost",
        Source::Request => "requests to",
        Source::Kernel => "kernel:",
        Source::Interference => "interference by",
        Source::Blocking => "blocking by",
        Source::Waiting => "waiting for",
        Source::Blackout => "blackout",
        Source::Jitter => "jitter",
    }
}

fn nanos<S: Serializer>(time: &Time, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_i64(i64::try_from(time.nanos()).unwrap_or(i64::MAX))
}

fn some_nanos<S: Serializer>(time: &Option<Time>, to: S) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => nanos(time, to),
        None => to.serialize_none(),
    }
}

fn name<S: Serializer>(method: &Option<&'static Method>, to: S) -> Result<S::Ok, S::Error> {
    match method {
        Some(method) => to.serialize_str(method.name),
        None => to.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_with_three_places() {
        let shown = [0, 1, 1_500, 12_345_678, 10_000_000, 61_000_000_000]
            .map(|nanos| shown(Time::from_nanos(nanos)));
        assert_eq!(
            shown,
            ["0 us", "0.001 us", "1.5 us", "12.346 ms", "10 ms", "61 s"]
        );
    }
}
