//! Notifications: words of binary semaphores.

use super::capability;
use crate::message::Message;
use crate::syscall;

capability! {
    /// A word of binary semaphores: signals are bits that stay until somebody waits.
    Notification = (Notification, abi::sizes::NOTIFICATION_BITS)
}

impl Notification {
    /// Sets the bits of this capability's badge.
    #[inline(always)]
    pub fn signal(self) {
        syscall::send(self.0, Message::empty(0));
    }

    /// Waits until the word is not empty; takes it.
    #[inline(always)]
    pub fn wait(self) -> usize {
        syscall::wait(self.0).badge
    }

    /// Takes the word as it is; 0 when nothing was signalled.
    #[inline(always)]
    pub fn poll(self) -> usize {
        syscall::nb_wait(self.0).map_or(0, |received| received.badge)
    }
}
