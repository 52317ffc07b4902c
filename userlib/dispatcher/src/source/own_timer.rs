//! A timer of the scheduler's own, whose interrupt is a notification bound to the scheduler.

use schedulers::Instant;
use userlib::drivers::BoardTimer;
use userlib::time::Clock;
use userlib::{Environment, Result};

use super::{Inbox, Local, Source, Turn, instant};

/// The board's one-shot timer, and a clock that user mode reads.
pub struct OwnTimer {
    clock: Clock,
    timer: BoardTimer,
}

impl OwnTimer {
    /// For the calling thread, the scheduler, to which the timer's notification is bound.
    pub fn new(environment: &Environment, timer: BoardTimer, clock: Clock) -> Result<Self> {
        environment.tcb.bind_notification(timer.notification())?;
        Ok(Self { clock, timer })
    }

    /// Gives the timer back.
    pub fn release(self, environment: &Environment) -> Result<BoardTimer> {
        environment.tcb.unbind_notification()?;
        let mut timer = self.timer;
        timer.acknowledge()?;
        Ok(timer)
    }
}

impl Source for OwnTimer {
    fn now(&mut self) -> Result<Instant> {
        Ok(instant(self.clock.now()))
    }

    fn turn(&mut self, local: Local, _: Local, until: Instant, inbox: &mut Inbox) -> Result<Turn> {
        let Self { clock, timer } = self;
        Turn::by_clock(clock, local, until, inbox, |left| {
            // A longer turn ends early, without an event.
            timer.set(left.min(BoardTimer::longest()))
        })
    }

    fn signalled(&mut self) -> Result<bool> {
        self.timer.acknowledge()?;
        Ok(true)
    }
}
