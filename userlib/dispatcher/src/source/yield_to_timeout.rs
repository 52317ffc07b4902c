//! YieldToTimeout: one system call lets a thread run, sets a timer, and waits; the timer's message contains the time.

use schedulers::{Duration, Instant};
use userlib::cap::{SchedContext, YieldTarget, Yielded};
use userlib::time::Clock;
use userlib::{Fault, Microseconds, Result};

use super::{Arrived, Hold, Inbox, Local, Source, Turn, duration, instant};

/// The kernel's clock and timers.
#[derive(Debug)]
pub struct YieldToTimeout {
    /// Any context on the scheduler's core: a call with a time in the past only returns the time.
    any: SchedContext,
    clock: Option<Clock>,
}

impl YieldToTimeout {
    /// With any context on the scheduler's core whose thread the scheduler may let run.
    pub const fn new(any: SchedContext) -> Self {
        Self { any, clock: None }
    }

    /// The same with a clock, which saves a system call after each completed job where it tells the kernel's time.
    pub fn with_clock(any: SchedContext, clock: Clock) -> Self {
        let clock = Clock::IS_THE_KERNELS.then_some(clock);
        Self { any, clock }
    }

    /// The time at the end of a turn, and what the context of `timed`, whose timer was set, has consumed since.
    #[inline]
    fn end(&self, timed: Local, arrived: &Arrived) -> Result<(Instant, Duration)> {
        if let Some(Fault::Timeout {
            consumed,
            more: Some(more),
            ..
        }) = arrived.fault()
            && arrived.received.badge == timed.badge()
        {
            return Ok((instant(more.now), duration(consumed)));
        }
        match &self.clock {
            // What a completed job has consumed makes no difference any more.
            Some(clock) if arrived.completes(timed.badge()) => {
                Ok((instant(clock.now()), Duration(0)))
            }
            _ => {
                // Its timer ends, too.
                let read = timed.context().yield_to_timeout(Microseconds(0), None)?;
                Ok((instant(read.now), duration(read.consumed)))
            }
        }
    }
}

impl Source for YieldToTimeout {
    fn now(&mut self) -> Result<Instant> {
        let answer = self.any.yield_to_timeout(Microseconds(0), None)?;
        Ok(instant(answer.now))
    }

    #[inline]
    fn turn(
        &mut self,
        local: Local,
        idle: Local,
        until: Instant,
        inbox: &mut Inbox,
    ) -> Result<Turn> {
        let (Hold::Timeout(reply) | Hold::Call(reply)) = local.hold() else {
            return self.let_run(local, idle, until, inbox);
        };
        let arrived = inbox.recv_after(local.context(), Microseconds(until.0), reply);
        let (now, consumed) = self.end(local, arrived)?;
        Ok(Turn {
            now,
            consumed,
            ran: true,
            idle_ran: false,
        })
    }
}

impl YieldToTimeout {
    /// The turn of a thread of which the scheduler holds no call: in more than one system call.
    #[inline(never)]
    fn let_run(
        &self,
        local: Local,
        idle: Local,
        until: Instant,
        inbox: &mut Inbox,
    ) -> Result<Turn> {
        local.hold().release()?;
        let yielded = let_run(local, until)?;
        let mut turn = Turn {
            now: instant(yielded.now),
            consumed: duration(yielded.consumed),
            ran: true,
            idle_ran: false,
        };
        if turn.now >= until {
            return Ok(turn);
        }
        // A thread whose turn has ended meanwhile has sent its timeout fault already.
        let can_end = [YieldTarget::Runnable, YieldTarget::TimedOut].contains(&yielded.target);
        if can_end {
            let (now, consumed) = self.end(local, inbox.recv())?;
            (turn.now, turn.consumed) = (now, turn.consumed + consumed);
            return Ok(turn);
        }
        // It waits for something, and gets no timeout: the idle thread has the timer.
        turn.idle_ran = true;
        let arrived = match idle.hold() {
            Hold::Timeout(reply) | Hold::Call(reply) => {
                inbox.recv_after(idle.context(), Microseconds(until.0), reply)
            }
            hold => {
                hold.release()?;
                turn.now = instant(let_run(idle, until)?.now);
                if turn.now >= until {
                    return Ok(turn);
                }
                inbox.recv()
            }
        };
        (turn.now, _) = self.end(idle, arrived)?;
        Ok(turn)
    }
}

/// Lets a thread that nothing holds run until `until`, if that has not come.
fn let_run(thread: Local, until: Instant) -> Result<Yielded> {
    let until = Microseconds(until.0);
    thread.context().yield_to_timeout(until, None)
}
