//! A timer of the scheduler's own, whose interrupt is a notification bound to the scheduler.

use schedulers::Instant;
use userlib::drivers::Alarm;
use userlib::time::Clock;
use userlib::{Environment, Result};

use super::{Inbox, Local, Source, Turn, instant};

/// The board's one-shot timer, and a clock that user mode reads.
pub struct OwnTimer {
    clock: Clock,
    alarm: Alarm,
}

impl OwnTimer {
    /// For the calling thread, the scheduler, to which the timer's notification is bound.
    pub fn new(environment: &Environment, alarm: Alarm, clock: Clock) -> Result<Self> {
        environment.tcb.bind_notification(alarm.notification())?;
        Ok(Self { clock, alarm })
    }

    /// Gives the timer back.
    pub fn release(self, environment: &Environment) -> Result<Alarm> {
        environment.tcb.unbind_notification()?;
        let mut alarm = self.alarm;
        alarm.acknowledge()?;
        Ok(alarm)
    }
}

impl Source for OwnTimer {
    fn now(&mut self) -> Result<Instant> {
        Ok(instant(self.clock.now()))
    }

    fn turn(&mut self, local: Local, _: Local, until: Instant, inbox: &mut Inbox) -> Result<Turn> {
        let Self { clock, alarm } = self;
        Turn::by_clock(clock, local, until, inbox, |left| {
            // A longer turn ends early, without an event.
            alarm.set(left.min(Alarm::longest()))
        })
    }

    fn signalled(&mut self) -> Result<bool> {
        self.alarm.acknowledge()?;
        Ok(true)
    }
}
