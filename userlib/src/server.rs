//! Servers.
//!
//! A *passive* server has no scheduling context of its own: it runs on those of its callers. It nevertheless
//! needs one until its first receive, and again after a reset. [`Passive`] lends it: the context is bound to
//! the server and to a notification that is bound to the server. In the receive in which the server begins to
//! wait, the kernel returns the context to the notification before it accepts a caller that is already
//! waiting; so the caller's context is donated to the server as if it had called later.

use crate::cap::{Endpoint, Notification, Reply, SchedContext, Tcb};
use crate::message::{Message, Received};
use crate::{Environment, Error, Microseconds, Process, Result};
use abi::ErrorCode;

/// The label of the reply that a supervisor gives in place of a server that it stops or starts again. The
/// request may have been carried out in part.
pub const ABORTED: usize = 0xf_ffff;
/// The threshold that a supervisor sets at the endpoints of a server that has stopped for good: half a year. No
/// caller has such a budget, so the kernel refuses each call at once.
pub const STOPPED: Microseconds = Microseconds(182 * 86_400 * 1_000_000);

/// Why a call has no reply from the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallError {
    /// The server has failed, or was stopped. The request may have been carried out in part.
    Aborted,
    /// The server has stopped for good before it received the request.
    Stopped,
    /// The kernel has refused the call, or ended it at the endpoint's limit.
    Kernel(Error),
}

/// The reply to a call, if it is the server's. Servers do not use the labels of [`ABORTED`] and of the kernel's
/// errors of calls.
///
/// # Errors
/// Why there is no reply.
pub fn reply(reply: Message) -> core::result::Result<Message, CallError> {
    if reply.label() == ABORTED {
        return Err(CallError::Aborted);
    }
    let code = ErrorCode::from_number(reply.label());
    if !matches!(
        code,
        Some(ErrorCode::BudgetTooSmall | ErrorCode::LimitReached)
    ) {
        return Ok(reply);
    }
    // What does not fit into a word is the largest one.
    let stopped = STOPPED.0.min(usize::MAX as u64);
    Err(match Error::from_answer(&reply) {
        Error::BudgetTooSmall { needed, .. } if needed.0 >= stopped => CallError::Stopped,
        error => CallError::Kernel(error),
    })
}

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
        let server = Self::bind(process.tcb, lent, notification)?;
        server.lend_time()?;
        process.start()?;
        Ok(server)
    }

    /// Makes the thread `tcb` a passive server on the context `lent`, which must have no other use. The kernel returns
    /// it to `notification`, by which the server may receive signals and interrupts, too. The server starts when it has
    /// been [lent time](Self::lend_time) and
    /// started.
    pub fn bind(tcb: Tcb, lent: SchedContext, notification: Notification) -> Result<Self> {
        lent.bind_notification(notification)?;
        tcb.bind_notification(notification)?;
        Ok(Self { tcb, lent })
    }

    /// Lends the context until the next receive, to a server that was reset and has no other context. It may
    /// still have the lent one, if it failed before it received.
    pub fn lend_time(&self) -> Result {
        let _ = self.lent.unbind_object(self.tcb);
        self.lent.bind(self.tcb)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_of_others_are_errors() {
        let own = Message::new(3, &[7]);
        assert_eq!(reply(own), Ok(own));
        assert_eq!(reply(Message::empty(ABORTED)), Err(CallError::Aborted));
        let refused = |needed| {
            let label = ErrorCode::BudgetTooSmall as usize;
            reply(Message::new(label, &[needed, 1_000]))
        };
        let stopped = Err(CallError::Stopped);
        assert_eq!(refused(STOPPED.0 as usize + 100), stopped);
        assert_eq!(refused(usize::MAX), stopped);
        let needed = Microseconds(2_000);
        let budget = Microseconds(1_000);
        let error = Error::BudgetTooSmall { needed, budget };
        assert_eq!(refused(2_000), Err(CallError::Kernel(error)));
        let limit = Message::empty(ErrorCode::LimitReached as usize);
        assert_eq!(reply(limit), Err(CallError::Kernel(Error::LimitReached)));
    }
}
