//! Servers.
//!
//! A *passive* server has no time of its own: it runs on that of its callers. To get as far as its
//! first receive it needs some nevertheless, and after a reset again. [`Passive`] lends it: the lent
//! scheduling context is bound to the server and at the same time to a notification that is bound to
//! the server. In the very receive in which the server starts to wait, the kernel then gives the
//! context back to the notification, before it takes a caller that may be waiting already; so that
//! caller's time goes to the server as if it had called later.

use crate::cap::{Endpoint, Notification, Reply, SchedContext, Tcb};
use crate::message::{Message, Received};
use crate::{Environment, Process, Result};

/// Answers calls on `endpoint` for ever. The answer to a signal or to a plain send goes nowhere.
pub fn serve(endpoint: Endpoint, reply: Reply, mut handler: impl FnMut(Received) -> Message) -> ! {
    let mut received = endpoint.recv(reply);
    loop {
        received = endpoint.reply_recv(handler(received), reply);
    }
}

/// A server that runs on its callers' time, seen by its parent.
#[derive(Clone, Copy, Debug)]
pub struct Passive {
    tcb: Tcb,
    lent: SchedContext,
}

impl Passive {
    /// Starts `process` as a passive server on `lent` time, which must be its alone.
    pub fn start(
        environment: &mut Environment,
        process: &Process,
        lent: SchedContext,
    ) -> Result<Self> {
        let notification: Notification = environment.allocator.create()?;
        lent.bind_notification(notification)?;
        process.tcb.bind_notification(notification)?;
        let server = Self {
            tcb: process.tcb,
            lent,
        };
        server.lend_time()?;
        process.start()?;
        Ok(server)
    }

    /// Lends time until the next receive: to a server that was reset and has lost its caller's.
    pub fn lend_time(&self) -> Result {
        self.lent.bind(self.tcb)
    }
}
