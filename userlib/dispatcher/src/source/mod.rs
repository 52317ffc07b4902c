//! Sources of time: they give the scheduler the time, and end the turn of the task on its own core.

mod own_timer;
mod time_server;
mod timeout_faults;
mod yield_to_timeout;

use schedulers::{Duration, Instant};
use userlib::abi::fault::FaultLabel;
use userlib::abi::registers::MESSAGE_REGISTERS;
use userlib::cap::{Endpoint, Reply, SchedContext, Tcb};
use userlib::time::Clock;
use userlib::{Fault, Message, Microseconds, Received, Result};

use crate::job::label;
use crate::worker::Worker;

pub use own_timer::OwnTimer;
pub use time_server::SharedTimer;
pub use timeout_faults::TimeoutFaults;
pub use yield_to_timeout::YieldToTimeout;

/// A thread on the scheduler's own core.
#[derive(Clone, Copy, Debug)]
pub struct Local<'a>(pub(crate) &'a Worker);

impl Local<'_> {
    /// Its context.
    pub fn context(self) -> SchedContext {
        self.0.thread.sched_context
    }

    /// The badge of its faults.
    pub fn badge(self) -> usize {
        self.0.badge
    }

    /// What keeps it from running, if anything does.
    pub fn hold(self) -> Hold {
        self.0.hold()
    }
}

/// What keeps a thread from running.
#[derive(Clone, Copy, Debug)]
pub enum Hold {
    /// Nothing does.
    None,
    /// It is suspended.
    Suspended(Tcb),
    /// It waits for the reply to its timeout fault.
    Timeout(Reply),
    /// It waits for the reply to another call.
    Call(Reply),
}

impl Hold {
    /// Makes the thread runnable.
    pub(crate) fn release(self) -> Result {
        match self {
            Self::None => {}
            Self::Suspended(thread) => thread.resume()?,
            Self::Timeout(reply) | Self::Call(reply) => reply.send(Message::empty(0)),
        }
        Ok(())
    }
}

/// A message to the scheduler.
#[derive(Clone, Copy, Debug)]
pub struct Arrived {
    /// The message.
    pub received: Received,
    /// The fault that it is, if it does not fit into registers: the next system call may overwrite the other words.
    long: Option<Fault>,
}

impl Arrived {
    #[inline(always)]
    fn new(received: Received) -> Self {
        let message = received.message.as_ref();
        let long = message.filter(|message| message.length() > MESSAGE_REGISTERS);
        Self {
            received,
            long: long.map(Fault::from_message),
        }
    }

    /// The fault that it is; none for signals.
    #[inline(always)]
    pub fn fault(&self) -> Option<Fault> {
        let message = self.received.message.as_ref()?;
        Some(self.long.unwrap_or_else(|| Fault::from_message(message)))
    }

    /// Whether it is a timeout fault.
    pub(crate) fn is_timeout(&self) -> bool {
        let message = self.received.message;
        message.is_some_and(|message| message.label() == FaultLabel::Timeout as usize)
    }

    /// Whether it is the report of the thread with this badge that its job is completed.
    fn completes(&self, badge: usize) -> bool {
        let message = self.received.message.as_ref();
        self.received.badge == badge
            && message.is_some_and(|message| message.label() == label::COMPLETED)
    }

    /// What the context of the thread with this badge had consumed, if this is its timeout fault.
    fn consumed(&self, badge: usize) -> Option<Duration> {
        match self.fault() {
            Some(Fault::Timeout { consumed, .. }) if self.received.badge == badge => {
                Some(duration(consumed))
            }
            _ => None,
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
    /// The message that came last, until it is handled.
    pub arrived: Option<Arrived>,
}

impl Inbox {
    /// Waits for a message.
    fn recv(&mut self) -> &Arrived {
        let received = self.events.recv(self.spare);
        self.arrived.insert(Arrived::new(received))
    }

    /// Replies to the thread of this context, lets it run until `until`, and waits for a message.
    #[inline(always)]
    fn recv_after(&mut self, context: SchedContext, until: Microseconds, reply: Reply) -> &Arrived {
        let received = context.yield_and_receive(until, reply, self.events, self.spare);
        self.arrived.insert(Arrived::new(received))
    }

    /// Takes the next message, if there is one already; whether there is.
    pub(crate) fn nb_recv(&mut self) -> bool {
        self.arrived = self.events.nb_recv(self.spare).map(Arrived::new);
        self.arrived.is_some()
    }
}

/// What happened while the scheduler waited.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    /// The time of its end.
    pub now: Instant,
    /// What the context of the local thread has consumed.
    pub consumed: Duration,
    /// Whether the local thread was released from its hold.
    pub ran: bool,
    /// The same for the idle thread.
    pub idle_ran: bool,
}

impl Turn {
    /// A turn with a clock that user mode reads. `arm` gets its length, and must make a message come at its end.
    fn by_clock(
        clock: &Clock,
        local: Local,
        until: Instant,
        inbox: &mut Inbox,
        arm: impl FnOnce(Microseconds) -> Result,
    ) -> Result<Self> {
        let now = instant(clock.now());
        let mut turn = Self {
            now,
            consumed: Duration(0),
            ran: now < until,
            idle_ran: false,
        };
        if !turn.ran {
            return Ok(turn);
        }
        arm(Microseconds((until - now).0))?;
        local.hold().release()?;
        let arrived = inbox.recv();
        turn.now = instant(clock.now());
        // A timeout fault reports it, and so resets the count.
        turn.consumed = match arrived.consumed(local.badge()) {
            Some(consumed) => consumed,
            None => duration(local.context().consumed()?),
        };
        Ok(turn)
    }
}

/// A source of time.
pub trait Source {
    /// The time.
    fn now(&mut self) -> Result<Instant>;

    /// Lets the local thread run, and waits for a message in the inbox, which is empty, until `until` at the latest. `idle`
    /// is a thread that never waits; it may be the local one.
    fn turn(
        &mut self,
        local: Local,
        idle: Local,
        until: Instant,
        inbox: &mut Inbox,
    ) -> Result<Turn>;

    /// A signal has come; whether it was this source's.
    fn signalled(&mut self) -> Result<bool> {
        Ok(false)
    }

    /// Lets a thread run on its context without an end, until it has waited for something.
    fn lift(&mut self, _: Local) -> Result {
        Ok(())
    }
}

fn instant(time: Microseconds) -> Instant {
    Instant(time.0)
}

fn duration(time: Microseconds) -> Duration {
    Duration(time.0)
}
