//! The one-shot timer of a component.

use super::{Device, Timer};
use crate::{Microseconds, given};

/// The device `timer` of a component. It interrupts once.
pub struct OneShot {
    timer: Timer,
    interrupt: given::Interrupt,
}

impl OneShot {
    /// The longest time that it counts at once: on PCs 54 ms, on i.MX boards 71 minutes, on others a hundred years.
    pub const LONGEST: Microseconds = Timer::LONGEST;

    /// The timer of a device, which stops.
    pub fn new(device: Device, interrupt: given::Interrupt) -> Self {
        let mut timer = Self {
            timer: Timer::of_device(&device),
            interrupt,
        };
        timer.stop();
        timer
    }

    /// Whether its interrupt is among the signals that have come.
    pub fn is_in(&self, signals: usize) -> bool {
        self.interrupt.is_in(signals)
    }

    /// Lets it interrupt after this time, and not after the time that was set before. A longer time than
    /// [`LONGEST`](Self::LONGEST) is cut: look at the clock when the interrupt comes. That of a time before may still
    /// come, if it has ended already.
    pub fn set(&mut self, time: Microseconds) {
        self.stop();
        done(self.timer.start(time.min(Self::LONGEST)));
    }

    /// Stops it, and acknowledges its interrupt if that has come.
    pub fn stop(&mut self) {
        // In this order: the interrupt of some timers comes as long as they are at their end.
        done(self.timer.stop());
        self.interrupt.acknowledge();
    }
}

fn done(result: crate::Result) {
    result.expect("a component keeps the right to its device");
}
