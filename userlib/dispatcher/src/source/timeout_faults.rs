//! Timeout faults: the budget of the running thread's context is the time until the next event.
//!
//! The budget is the only clock that ends a turn, and it stands still while threads of higher priority run: no other
//! scheduler can be beside this one on its core.

use schedulers::Instant;
use userlib::cap::{SchedControl, SchedParameters};
use userlib::time::Clock;
use userlib::{Microseconds, Result};

use crate::worker::SLICE;

use super::{Inbox, Local, Source, Turn, instant};

/// The smallest budget of a context (book, "SchedControl").
const SMALLEST: Microseconds = Microseconds(20);
/// What a budget is shorter than its period, so that its end is a timeout: longer than any turn.
const REST: Microseconds = Microseconds::from_millis(10_000);

/// Budgets, and a clock that user mode reads.
pub struct TimeoutFaults {
    clock: Clock,
    control: SchedControl,
}

impl TimeoutFaults {
    /// With the right to configure contexts on the scheduler's core.
    pub const fn new(clock: Clock, control: SchedControl) -> Self {
        Self { clock, control }
    }
}

impl Source for TimeoutFaults {
    fn now(&mut self) -> Result<Instant> {
        Ok(instant(self.clock.now()))
    }

    fn turn(&mut self, local: Local, _: Local, until: Instant, inbox: &mut Inbox) -> Result<Turn> {
        Turn::by_clock(&self.clock, local, until, inbox, |left| {
            let budget = left.max(SMALLEST);
            let time = SchedParameters::new(budget, budget + REST).with_badge(local.badge());
            // The context of a runnable thread would keep the times of its replenishments.
            self.control.configure(local.context(), &time)
        })
    }

    fn lift(&mut self, local: Local) -> Result {
        let time = SLICE.with_badge(local.badge());
        self.control.configure(local.context(), &time)
    }
}
