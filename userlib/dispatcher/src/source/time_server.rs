//! A time server, which several schedulers share, whose signal is a notification bound to the scheduler.

use schedulers::Instant;
use userlib::time::{Clock, TimeClient};
use userlib::{Microseconds, Result};

use super::{Inbox, Local, Source, Turn, duration, instant};

/// A client of a time server, and a clock that user mode reads.
pub struct SharedTimer {
    clock: Clock,
    server: TimeClient,
}

impl SharedTimer {
    /// With the server's clock. The notification that the server signals for this client must be bound to the calling
    /// thread, the scheduler.
    pub const fn new(clock: Clock, server: TimeClient) -> Self {
        Self { clock, server }
    }
}

impl Source for SharedTimer {
    fn now(&mut self) -> Result<Instant> {
        Ok(instant(self.clock.now()))
    }

    fn turn(&mut self, local: &Local, _: &Local, until: Instant, inbox: &Inbox) -> Result<Turn> {
        if self.now()? >= until {
            return Ok(Turn::none(self.now()?));
        }
        self.server.wake_at(Microseconds(until.0));
        local.hold.release()?;
        let arrived = inbox.recv();
        Ok(Turn {
            now: self.now()?,
            consumed: duration(local.context.consumed()?),
            ran: true,
            idle_ran: false,
            // A signal ends the turn, and is no event.
            arrived: Some(arrived).filter(|arrived| arrived.received.message.is_some()),
        })
    }

    fn signalled(&mut self) -> Result<bool> {
        Ok(true)
    }
}
