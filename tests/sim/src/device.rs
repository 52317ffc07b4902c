//! Devices: things that raise interrupt lines at moments that the scenario chooses.

use std::collections::BTreeSet;

use userlib::cap::{IrqHandler, Notification};
use userlib::{Microseconds, Result};

use crate::stage::stage;

/// When a device wants attention next, given when it did last.
pub(crate) type Arrivals = Box<dyn FnMut(Microseconds) -> Option<Microseconds>>;

/// All devices, by interrupt line.
#[derive(Default)]
pub(crate) struct Devices {
    arrivals: Vec<Option<Arrivals>>,
    /// Moment and line of what is coming.
    agenda: BTreeSet<(u64, usize)>,
}

impl Devices {
    /// A device at a line.
    pub fn add(&mut self, line: usize, mut arrivals: Arrivals) {
        if let Some(first) = arrivals(Microseconds(0)) {
            self.agenda.insert((first.0, line));
        }
        if self.arrivals.len() <= line {
            self.arrivals.resize_with(line + 1, || None);
        }
        self.arrivals[line] = Some(arrivals);
    }

    /// When the next device wants attention.
    pub fn next(&self) -> u64 {
        self.agenda.first().map_or(u64::MAX, |(time, _)| *time)
    }

    /// The line of a device that wants attention by now.
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

    fn set_alarm(&mut self, line: usize, time: Option<u64>) {
        self.agenda.retain(|(_, other)| *other != line);
        self.agenda.extend(time.map(|time| (time, line)));
    }
}

/// A thread's end of an interrupt line.
#[derive(Clone, Copy, Debug)]
pub struct Interrupt {
    /// What the interrupt signals.
    pub notification: Notification,
    /// The right to the line.
    pub handler: IrqHandler,
}

impl Interrupt {
    /// Waits for the next interrupt.
    ///
    /// # Errors
    /// Where the handler is gone.
    pub fn wait(self) -> Result<usize> {
        self.handler.ack()?;
        Ok(self.notification.wait())
    }
}

/// A timer for threads: a device with one alarm.
#[derive(Clone, Copy, Debug)]
pub struct Timer {
    /// Its interrupt.
    pub interrupt: Interrupt,
    pub(crate) line: usize,
}

impl Timer {
    /// Sets the alarm, or takes it away. An alarm in the past rings at once.
    pub fn set(self, time: Option<Microseconds>) {
        let alarm = time.map(|time| time.0);
        stage().devices.borrow_mut().set_alarm(self.line, alarm);
    }

    /// Waits until a moment.
    ///
    /// # Errors
    /// As [`Interrupt::wait`].
    pub fn wait_until(self, time: Microseconds) -> Result {
        self.set(Some(time));
        self.interrupt.wait().map(drop)
    }
}
