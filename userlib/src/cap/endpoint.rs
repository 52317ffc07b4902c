//! Endpoints: where threads meet to pass messages.

use super::{Capability, Reply, capability};
use crate::message::{Message, Received};
use crate::syscall;

capability! {
    /// A rendezvous point of messages.
    Endpoint = (Endpoint, abi::sizes::ENDPOINT_BITS)
}

impl Endpoint {
    /// Sends, and waits until the message is taken.
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

    /// Receives; `reply` will stand for the caller.
    #[inline(always)]
    pub fn recv(self, reply: Reply) -> Received {
        syscall::recv(self.0, reply.cptr())
    }

    /// Receives if a sender, or a signal on the bound notification, is waiting.
    #[inline(always)]
    pub fn nb_recv(self, reply: Reply) -> Option<Received> {
        syscall::nb_recv(self.0, reply.cptr())
    }

    /// Receives without a reply object: a caller cannot be answered.
    #[inline(always)]
    pub fn wait(self) -> Received {
        syscall::wait(self.0)
    }

    /// [`wait`](Self::wait) if a sender is waiting.
    #[inline(always)]
    pub fn nb_wait(self) -> Option<Received> {
        syscall::nb_wait(self.0)
    }

    /// Replies by `reply` and receives the next message in one step.
    #[inline(always)]
    pub fn reply_recv(self, message: Message, reply: Reply) -> Received {
        syscall::reply_recv(self.0, message, reply.cptr())
    }
}
