//! Notifications: words of binary semaphores.

use super::capability;
use crate::message::Message;
use crate::syscall;

capability! {
    /// A word of binary semaphores: signals set bits, which remain set until a thread waits.
    Notification = (Notification, abi::sizes::NOTIFICATION_BITS)
}

impl Notification {
    /// Sets the bits of this capability's badge.
    #[inline(always)]
    pub fn signal(self) {
        syscall::send(self.0, Message::empty(0));
    }

    /// Waits until the word is not zero, and returns and clears it.
    #[inline(always)]
    pub fn wait(self) -> usize {
        syscall::wait(self.0).badge
    }

    /// Returns and clears the word; 0 if there was no signal.
    #[inline(always)]
    pub fn poll(self) -> usize {
        syscall::nb_wait(self.0).map_or(0, |received| received.badge)
    }
}
