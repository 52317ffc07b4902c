//! Endpoints: message passing between threads.

use super::{Capability, Reply, capability};
use crate::message::{Message, Received};
use crate::syscall;

capability! {
    /// An endpoint for message passing.
    Endpoint = (Endpoint, abi::sizes::ENDPOINT_BITS)
}

impl Endpoint {
    /// Sends, and waits until the message has been received.
    #[inline(always)]
    pub fn send(self, message: Message) {
        syscall::send(self.0, message);
    }

    /// Sends if a receiver is waiting.
    #[inline(always)]
    pub fn nb_send(self, message: Message) {
        syscall::nb_send(self.0, message);
    }

    /// Sends and waits for the reply. A passive receiver runs on the caller's scheduling context.
    #[inline(always)]
    pub fn call(self, message: Message) -> Message {
        syscall::call(self.0, message)
    }

    /// Receives; a caller is stored in the reply object `reply`.
    #[inline(always)]
    pub fn recv(self, reply: Reply) -> Received {
        syscall::recv(self.0, reply.cptr())
    }

    /// Receives if a sender, or a signal on the bound notification, is waiting.
    #[inline(always)]
    pub fn nb_recv(self, reply: Reply) -> Option<Received> {
        syscall::nb_recv(self.0, reply.cptr())
    }

    /// Receives without a reply object: no reply to a caller is possible.
    #[inline(always)]
    pub fn wait(self) -> Received {
        syscall::wait(self.0)
    }

    /// [`wait`](Self::wait) if a sender is waiting.
    #[inline(always)]
    pub fn nb_wait(self) -> Option<Received> {
        syscall::nb_wait(self.0)
    }

    /// Replies through `reply` and receives the next message in one system call.
    #[inline(always)]
    pub fn reply_recv(self, message: Message, reply: Reply) -> Received {
        syscall::reply_recv(self.0, message, reply.cptr())
    }
}
