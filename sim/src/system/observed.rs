//! What is seen of a simulated system.

use std::fmt;

use system_description::system::{System, Time};
use userlib::Microseconds;

use super::index;
use super::supervisor::Reports;
use crate::history::{Actor, History, Job, Status};
use crate::simulation::Simulation;
use crate::{Window, chart, table};

/// The columns of the chart.
const WIDTH: usize = 100;

/// The run of a system. It is shown as a chart of which component ran when, and a table of sums.
pub struct Run {
    system: System,
    simulation: Simulation,
    reports: Reports,
}

/// A component in a run.
pub struct Observed<'a> {
    run: &'a Run,
    index: usize,
    /// None if it did not run.
    actor: Option<&'a Actor>,
}

impl Run {
    pub(super) fn new(system: System, simulation: Simulation, reports: Reports) -> Self {
        Self {
            system,
            simulation,
            reports,
        }
    }

    /// A component.
    ///
    /// # Panics
    /// If the description has none of this name.
    #[track_caller]
    pub fn of(&self, name: &str) -> Observed<'_> {
        let mut actors = self.history().actors.iter();
        Observed {
            run: self,
            index: index(&self.system, name),
            actor: actors.find(|actor| actor.name == name),
        }
    }

    /// What the supervisor would have printed, with its time.
    pub fn reports(&self) -> Vec<(Microseconds, String)> {
        let reports = self.reports.borrow();
        let reports = reports.iter();
        reports
            .map(|one| (Microseconds(one.time), one.text.clone()))
            .collect()
    }

    /// Which thread ran when, on whose time, and the notes of the components.
    pub fn history(&self) -> &History {
        self.simulation.history()
    }

    /// The chart between two times.
    pub fn chart(&self, from: Microseconds, to: Microseconds) -> String {
        let window = Window {
            from: from.0,
            to: to.0.max(from.0 + 1),
            width: WIDTH,
        };
        chart(self.history(), window)
    }
}

impl fmt::Display for Run {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let history = self.history();
        let chart = self.chart(Microseconds(0), Microseconds(history.end));
        write!(out, "{chart}\n{}", table(history))
    }
}

impl Observed<'_> {
    /// The response time of each job that was done: from its release until the component yields, or waits for a message
    /// or a signal. Of a server, the jobs are its requests.
    pub fn responses(&self) -> impl Iterator<Item = Microseconds> + '_ {
        let jobs = self.actor.into_iter().flat_map(|actor| &actor.jobs);
        jobs.filter_map(|job| Some(Microseconds(job.done? - job.released)))
    }

    /// The longest response time; zero if no job was done.
    pub fn longest_response(&self) -> Microseconds {
        self.responses().max().unwrap_or_default()
    }

    /// How many jobs were not done by their deadline: that of the description, or else the end of the period.
    pub fn misses(&self) -> usize {
        let Some(deadline) = self.deadline() else {
            return 0;
        };
        let end = self.run.history().end;
        let jobs = self.actor.into_iter().flat_map(|actor| &actor.jobs);
        jobs.filter(|job| job.done.unwrap_or(end) - job.released > deadline)
            .count()
    }

    fn deadline(&self) -> Option<u64> {
        let one = &self.run.system.components[self.index];
        let own = one.job.as_ref().and_then(|job| job.deadline);
        let period = match one.time {
            Time::Context(context) => Some(context.period),
            _ => None,
        };
        Some(own.or(period)?.as_micros())
    }

    /// The times at which its budget was used up before its job was done: by itself, or by a server that ran on it.
    pub fn used_up(&self) -> impl Iterator<Item = Microseconds> + '_ {
        let reported = self.run.reports.borrow();
        let reported = reported.iter().filter(|one| one.spent == Some(self.index));
        let mut times: Vec<_> = reported.map(|one| one.time).collect();
        times.extend(self.actor.into_iter().flat_map(|actor| &actor.used_up));
        times.sort_unstable();
        times.into_iter().map(Microseconds)
    }

    /// The longest time during a job in which it could run and did not: others ran, or its budget was used up.
    pub fn blackout(&self) -> Microseconds {
        let (Some(actor), history) = (self.actor, self.run.history()) else {
            return Microseconds(0);
        };
        let place = history.actor(&actor.name);
        let waits = |status| matches!(status, Status::Ready | Status::Starved | Status::Timeless);
        let (mut longest, mut since, mut last) = (0, 0, 0);
        let spans = history.spans(place);
        for (start, end, _) in spans.filter(|(.., status)| waits(*status)) {
            let done = |job: &Job| job.done.unwrap_or(history.end);
            let next = actor.jobs.partition_point(|job| done(job) <= start);
            let Some(job) = actor.jobs.get(next).filter(|job| job.released < end) else {
                continue;
            };
            let from = start.max(job.released);
            if from != last {
                since = from;
            }
            last = end.min(done(job));
            longest = longest.max(last - since);
        }
        Microseconds(longest)
    }

    /// How much of its budgets was used, by it and by servers.
    pub fn used(&self) -> Microseconds {
        let paid = self.actor.map(|actor| self.run.history().paid(&actor.name));
        Microseconds(paid.unwrap_or_default())
    }

    /// How long it ran, on its own time or that of callers.
    pub fn ran(&self) -> Microseconds {
        let ran = self.actor.map(|actor| self.run.history().ran(&actor.name));
        Microseconds(ran.unwrap_or_default())
    }
}
