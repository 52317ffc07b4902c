//! Devices, which raise interrupt lines at times that the scenario chooses.

use std::collections::BTreeSet;

use userlib::cap::{IrqHandler, Notification};
use userlib::{Microseconds, Result};

use crate::stage::stage;

/// The time of a device's next interrupt, given that of the last one.
pub(crate) type Arrivals = Box<dyn FnMut(Microseconds) -> Option<Microseconds>>;

/// All devices, by interrupt line.
#[derive(Default)]
pub(crate) struct Devices {
    arrivals: Vec<Option<Arrivals>>,
    /// Time and line of each scheduled interrupt.
    agenda: BTreeSet<(u64, usize)>,
}

impl Devices {
    /// Adds a device at a line.
    pub fn add(&mut self, line: usize, mut arrivals: Arrivals) {
        if let Some(first) = arrivals(Microseconds(0)) {
            self.agenda.insert((first.0, line));
        }
        if self.arrivals.len() <= line {
            self.arrivals.resize_with(line + 1, || None);
        }
        self.arrivals[line] = Some(arrivals);
    }

    /// The time of the next interrupt.
    pub fn next(&self) -> u64 {
        self.agenda.first().map_or(u64::MAX, |(time, _)| *time)
    }

    /// The line of an interrupt that is due.
    pub fn take_due(&mut self, now: u64) -> Option<usize> {
        let (time, line) = *self.agenda.first()?;
        if time > now {
            return None;
        }
        self.agenda.pop_first();
        if let Some(Some(arrivals)) = self.arrivals.get_mut(line)
            && let Some(next) = arrivals(Microseconds(time))
        {
            self.agenda.insert((next.0.max(time + 1), line));
        }
        Some(line)
    }

    fn set_timeout(&mut self, line: usize, time: Option<u64>) {
        self.agenda.retain(|(_, other)| *other != line);
        self.agenda.extend(time.map(|time| (time, line)));
    }
}

/// An interrupt line, as used by a thread.
#[derive(Clone, Copy, Debug)]
pub struct Interrupt {
    /// The notification that the interrupt signals.
    pub notification: Notification,
    /// The handler capability of the line.
    pub handler: IrqHandler,
}

impl Interrupt {
    /// Waits for the next interrupt.
    ///
    /// # Errors
    /// If the handler was deleted.
    pub fn wait(self) -> Result<usize> {
        self.handler.ack()?;
        Ok(self.notification.wait())
    }
}

/// A timer for threads: a device with one timeout.
#[derive(Clone, Copy, Debug)]
pub struct Timer {
    /// Its interrupt.
    pub interrupt: Interrupt,
    pub(crate) line: usize,
}

impl Timer {
    /// Sets or cancels the timeout. A time in the past fires at once.
    pub fn set(self, time: Option<Microseconds>) {
        let timeout = time.map(|time| time.0);
        stage().devices.borrow_mut().set_timeout(self.line, timeout);
    }

    /// Waits until a time.
    ///
    /// # Errors
    /// As [`Interrupt::wait`].
    pub fn wait_until(self, time: Microseconds) -> Result {
        self.set(Some(time));
        self.interrupt.wait().map(drop)
    }
}
