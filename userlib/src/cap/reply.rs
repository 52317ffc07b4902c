//! Reply objects: each stands for one caller, and leads its scheduling context home.

use super::capability;
use crate::message::Message;
use crate::syscall;

capability! {
    /// Stands for one caller.
    Reply = (Reply, abi::sizes::REPLY_BITS)
}

impl Reply {
    /// Answers the caller; nothing happens when there is none.
    #[inline(always)]
    pub fn send(self, message: Message) {
        syscall::send(self.0, message);
    }
}
