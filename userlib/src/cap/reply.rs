//! Reply objects: each holds one caller and returns its donated scheduling context.

use super::capability;
use crate::message::Message;
use crate::syscall;

capability! {
    /// A reply object, which holds one caller.
    Reply = (Reply, abi::sizes::REPLY_BITS)
}

impl Reply {
    /// Replies to the caller; without a caller, has no effect.
    #[inline(always)]
    pub fn send(self, message: Message) {
        syscall::send(self.0, message);
    }
}
