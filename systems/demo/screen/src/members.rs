//! The components, with their promised and received shares.

use crate::Given;
use core::cell::Cell;
use demo_protocol::Report;
use userlib::startup::Watched;
use userlib::time::Clock;
use userlib::{Microseconds, Result};

/// The number of components that call the server.
pub const COUNT: usize = 3;

/// A component that calls the server.
pub struct Member {
    pub name: &'static str,
    pub report: Report,
    pub time: Watched,
    /// Time that it has used since the start.
    used: Cell<Microseconds>,
}

impl Member {
    /// Its promised share, in thousandths of the processor.
    pub fn promised(&self) -> u64 {
        1000 * self.time.budget.0 / self.time.period.0
    }

    /// Its received share until now, in thousandths of the processor.
    pub fn received(&self, time: Microseconds) -> u64 {
        1000 * self.used.get().0 / time.0.max(1)
    }

    /// How often its budget ran out in the server.
    pub fn overruns(&self) -> usize {
        self.report.out_of_time()
    }
}

/// All components.
pub struct Members {
    list: [Member; COUNT],
    start: Microseconds,
    now: Microseconds,
}

impl Members {
    /// Those that the description lets the screen watch.
    pub fn of(given: &Given) -> Self {
        let member = |name, report, time| Member {
            name,
            report: Report(report),
            time,
            used: Cell::new(Microseconds(0)),
        };
        Self {
            list: [
                member("client-a", given.report_a, given.client_a.clone()),
                member("client-b", given.report_b, given.client_b.clone()),
                member("hog", given.report_hog, given.hog.clone()),
            ],
            start: Microseconds(0),
            now: Microseconds(0),
        }
    }

    /// Starts to count. Here as in each later [`look`](Self::look), the caller runs when the others have used
    /// up their budgets; so the counted time has as many budgets as periods.
    pub fn count_from_now(&mut self, clock: &Clock) -> Result {
        self.look(clock)?;
        for member in &self.list {
            member.used.set(Microseconds(0));
        }
        self.start = self.now;
        Ok(())
    }

    /// Reads the time that each component has used; returns how long they have been running.
    pub fn look(&mut self, clock: &Clock) -> Result<Microseconds> {
        for member in &self.list {
            let used = member.time.take()?;
            member.used.set(member.used.get() + used);
        }
        self.now = clock.now();
        Ok(self.time())
    }

    /// How long they had been running at the last reading.
    pub fn time(&self) -> Microseconds {
        self.now - self.start
    }

    /// All components.
    pub fn iter(&self) -> impl Iterator<Item = &Member> {
        self.list.iter()
    }

    /// Those that ask the server only for what it can do.
    pub fn clients(&self) -> &[Member] {
        &self.list[..COUNT - 1]
    }

    /// The hog.
    pub fn hog(&self) -> &Member {
        &self.list[COUNT - 1]
    }
}
