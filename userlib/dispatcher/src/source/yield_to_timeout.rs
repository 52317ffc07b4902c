//! YieldToTimeout: one call lets a thread run and sets a timer, one receive waits and tells the time.

use schedulers::Instant;
use userlib::cap::{SchedContext, YieldTarget, Yielded};
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

    fn turn(&mut self, local: &Local, idle: &Local, until: Instant, inbox: &Inbox) -> Result<Turn> {
        let (yielded, ran) = let_run(local, until)?;
        let mut turn = Turn {
            now: instant(yielded.now),
            consumed: duration(yielded.consumed),
            ran,
            idle_ran: false,
            arrived: None,
        };
        if turn.now >= until {
            return Ok(turn);
        }
        // A thread whose turn has ended meanwhile has sent its timeout fault already.
        let can_end = [YieldTarget::Runnable, YieldTarget::TimedOut].contains(&yielded.target);
        let timed = if can_end { local } else { idle };
        if !can_end {
            // It waits for something, and gets no timeout: another thread has the timer.
            let (yielded, ran) = let_run(idle, until)?;
            (turn.now, turn.idle_ran) = (instant(yielded.now), ran);
            if turn.now >= until {
                return Ok(turn);
            }
        }
        let arrived = inbox.recv();
        turn.arrived = Some(arrived);
        let (consumed, now) = match (arrived.consumed(timed.badge), arrived.fault) {
            (
                Some(consumed),
                Some(Fault::Timeout {
                    more: Some(more), ..
                }),
            ) => (consumed, more.now),
            _ => {
                // Its timer ends, too.
                let read = timed.context.yield_to_timeout(Microseconds(0), None)?;
                (duration(read.consumed), read.now)
            }
        };
        turn.now = instant(now);
        if can_end {
            turn.consumed = turn.consumed + consumed;
        }
        Ok(turn)
    }
}

/// Lets a thread run until `until`, if that has not come; returns whether it was released from its hold, too.
fn let_run(thread: &Local, until: Instant) -> Result<(Yielded, bool)> {
    let timeout = match thread.hold {
        Hold::Timeout(reply) => Some(reply),
        hold => {
            hold.release()?;
            None
        }
    };
    let until = Microseconds(until.0);
    let yielded = thread.context.yield_to_timeout(until, timeout)?;
    Ok((yielded, timeout.is_none() || yielded.now < until))
}
