//! A time server, which several schedulers share, whose signal is a notification bound to the scheduler.

use schedulers::Instant;
use userlib::time::{Clock, TimeClient};
use userlib::{Microseconds, Result};

use super::{Inbox, Local, Source, Turn, instant};

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

    fn turn(&mut self, local: Local, _: Local, until: Instant, inbox: &mut Inbox) -> Result<Turn> {
        Turn::by_clock(&self.clock, local, until, inbox, |_| {
            self.server.wake_at(Microseconds(until.0));
            Ok(())
        })
    }

    fn signalled(&mut self) -> Result<bool> {
        Ok(true)
    }
}
