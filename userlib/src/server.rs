//! Servers.
//!
//! A *passive* server has no scheduling context of its own: it runs on those of its callers. It nevertheless
//! needs one until its first receive, and again after a reset. [`Passive`] lends it: the context is bound to
//! the server and to a notification that is bound to the server. In the receive in which the server begins to
//! wait, the kernel returns the context to the notification before it accepts a caller that is already
//! waiting; so the caller's context is donated to the server as if it had called later.

use crate::cap::{Endpoint, Notification, Reply, SchedContext, Tcb};
use crate::message::{Message, Received};
use crate::{Environment, Process, Result};

/// The label of the reply that a supervisor gives in place of a server that it stops or starts again. The
/// request may have been carried out in part.
pub const ABORTED: usize = 0xf_ffff;

/// Replies to calls on `endpoint` forever. The reply to a signal or a plain send is discarded.
pub fn serve(endpoint: Endpoint, reply: Reply, mut handler: impl FnMut(Received) -> Message) -> ! {
    let mut received = endpoint.recv(reply);
    loop {
        received = endpoint.reply_recv(handler(received), reply);
    }
}

/// The parent's handle of a passive server.
#[derive(Clone, Copy, Debug)]
pub struct Passive {
    tcb: Tcb,
    lent: SchedContext,
}

impl Passive {
    /// Starts `process` as a passive server on the context `lent`, which must have no other use.
    pub fn start(
        environment: &mut Environment,
        process: &Process,
        lent: SchedContext,
    ) -> Result<Self> {
        let notification: Notification = environment.allocator.create()?;
        let server = Self::bind(process, lent, notification)?;
        server.lend_time()?;
        process.start()?;
        Ok(server)
    }

    /// Makes `process` a passive server on the context `lent`, which the kernel returns to `notification`;
    /// neither must have another use. The server starts when it has been [lent time](Self::lend_time) and
    /// started.
    pub fn bind(process: &Process, lent: SchedContext, notification: Notification) -> Result<Self> {
        lent.bind_notification(notification)?;
        process.tcb.bind_notification(notification)?;
        Ok(Self {
            tcb: process.tcb,
            lent,
        })
    }

    /// Lends the context until the next receive, to a server that was reset and has lost its caller's
    /// context.
    pub fn lend_time(&self) -> Result {
        self.lent.bind(self.tcb)
    }
}
