//! A timer of the scheduler's own, whose interrupt is a notification bound to the scheduler.

use schedulers::Instant;
use userlib::drivers::Alarm;
use userlib::time::Clock;
use userlib::{Environment, Microseconds, Result};

use super::{Inbox, Local, Source, Turn, duration, instant};

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

    fn turn(&mut self, local: &Local, _: &Local, until: Instant, inbox: &Inbox) -> Result<Turn> {
        let left = Microseconds((until - self.now()?).0);
        if left == Microseconds(0) {
            return Ok(Turn::none(self.now()?));
        }
        // A longer turn ends early, without an event.
        self.alarm.set(left.min(Alarm::longest()))?;
        local.hold.release()?;
        let arrived = inbox.recv();
        let is_alarm = arrived.received.message.is_none();
        if is_alarm {
            self.alarm.acknowledge()?;
        }
        Ok(Turn {
            now: self.now()?,
            consumed: duration(local.context.consumed()?),
            ran: true,
            idle_ran: false,
            arrived: (!is_alarm).then_some(arrived),
        })
    }

    fn signalled(&mut self) -> Result<bool> {
        self.alarm.acknowledge()?;
        Ok(true)
    }
}
