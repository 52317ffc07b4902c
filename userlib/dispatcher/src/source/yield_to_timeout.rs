//! YieldToTimeout: one call lets a thread run and sets a timer, one receive waits and tells the time.

use schedulers::Instant;
use userlib::cap::{SchedContext, YieldTarget};
use userlib::{Fault, Microseconds, Result};

use super::{Hold, Inbox, Local, Source, Turn, duration, instant};

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
        let timeout = match local.hold {
            Hold::Timeout(reply) => Some(reply),
            hold => {
                hold.release()?;
                None
            }
        };
        let yielded = local.context.yield_to_timeout(until, timeout)?;
        let runs = yielded.now < until;
        let mut turn = Turn {
            now: instant(yielded.now),
            consumed: duration(yielded.consumed),
            ran: runs || timeout.is_none(),
            arrived: None,
        };
        if !runs || yielded.target != YieldTarget::Runnable {
            return Ok(turn);
        }
        let arrived = inbox.recv();
        turn.arrived = Some(arrived);
        let (consumed, now) = match (arrived.consumed(local.badge), arrived.fault) {
            (
                Some(consumed),
                Some(Fault::Timeout {
                    more: Some(more), ..
                }),
            ) => (consumed, more.now),
            _ => {
                // Its timer ends, too.
                let read = local.context.yield_to_timeout(Microseconds(0), None)?;
                (duration(read.consumed), read.now)
            }
        };
        turn.now = instant(now);
        turn.consumed = turn.consumed + consumed;
        Ok(turn)
    }
}
