//! YieldToTimeout: one call lets a thread run and sets a timer, one receive waits and tells the time.

use schedulers::Instant;
use userlib::cap::SchedContext;
use userlib::fault::MoreOnTimeout;
use userlib::{Fault, Microseconds, Result};

use super::{Inbox, Local, Source, Turn, duration, instant};

/// The kernel's clock and timers.
#[derive(Debug)]
pub struct YieldToTimeout {
    /// Any context on the scheduler's core: a call with a time in the past only tells the time.
    any: SchedContext,
}

impl YieldToTimeout {
    /// With any context on the scheduler's core whose thread the scheduler may let run.
    pub const fn new(any: SchedContext) -> Self {
        Self { any }
    }
}

impl Source for YieldToTimeout {
    fn now(&mut self) -> Result<Instant> {
        let answer = self.any.yield_to_timeout(Microseconds(0), None)?;
        Ok(instant(answer.now))
    }

    fn turn(&mut self, local: &Local, until: Instant, inbox: &Inbox) -> Result<Turn> {
        let until = Microseconds(until.0);
        let yielded = local.context.yield_to_timeout(until, local.timeout)?;
        let mut turn = Turn {
            now: instant(yielded.now),
            consumed: duration(yielded.consumed),
            ran: yielded.now < until,
            received: None,
        };
        if !turn.ran {
            return Ok(turn);
        }
        let received = inbox.events.recv(inbox.spare);
        turn.received = Some(received);
        let (consumed, now) = match received
            .message
            .map(|message| Fault::from_message(&message))
        {
            Some(Fault::Timeout {
                consumed,
                more: Some(MoreOnTimeout { now, .. }),
                ..
            }) if received.badge == local.badge => (consumed, now),
            _ => {
                // Its timer ends, too.
                let read = local.context.yield_to_timeout(Microseconds(0), None)?;
                (read.consumed, read.now)
            }
        };
        turn.now = instant(now);
        turn.consumed = turn.consumed + duration(consumed);
        Ok(turn)
    }
}
