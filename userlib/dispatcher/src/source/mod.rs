//! Sources of time: what tells the scheduler the time, and ends the turn of the task on its own core.

mod alarm;
mod timeout_faults;
mod yield_to_timeout;

use schedulers::{Duration, Instant};
use userlib::cap::{Endpoint, Reply, SchedContext};
use userlib::{Message, Microseconds, Received, Result};

pub use alarm::OwnTimer;
pub use timeout_faults::TimeoutFaults;
pub use yield_to_timeout::YieldToTimeout;

/// The thread on the scheduler's own core.
#[derive(Clone, Copy, Debug)]
pub struct Local {
    /// Its context.
    pub context: SchedContext,
    /// The badge of its faults.
    pub badge: usize,
    /// The reply object that holds its timeout fault, if it has one; otherwise the thread is runnable.
    pub timeout: Option<Reply>,
}

impl Local {
    /// Makes the thread runnable.
    fn proceed(&self) {
        if let Some(timeout) = self.timeout {
            timeout.send(Message::empty(0));
        }
    }
}

/// Where the scheduler gets its messages.
#[derive(Clone, Copy, Debug)]
pub struct Inbox {
    /// Its endpoint.
    pub events: Endpoint,
    /// A reply object without a caller.
    pub spare: Reply,
}

/// What happened while the scheduler waited.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    /// The time of its end.
    pub now: Instant,
    /// What the context of the local thread has consumed.
    pub consumed: Duration,
    /// Whether the local thread was made runnable.
    pub ran: bool,
    /// The message that ended it.
    pub received: Option<Received>,
}

impl Turn {
    /// None at all: its end had come already.
    const fn none(now: Instant) -> Self {
        Self {
            now,
            consumed: Duration(0),
            ran: false,
            received: None,
        }
    }
}

/// A source of time.
pub trait Source {
    /// The time.
    fn now(&mut self) -> Result<Instant>;

    /// Lets the local thread run, and waits for a message, until `until` at the latest.
    fn turn(&mut self, local: &Local, until: Instant, inbox: &Inbox) -> Result<Turn>;
}

fn instant(time: Microseconds) -> Instant {
    Instant(time.0)
}

fn duration(time: Microseconds) -> Duration {
    Duration(time.0)
}
