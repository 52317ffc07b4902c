//! What the kernel needs of a timer.

use kernel::time::{Clock, Ticks};

use crate::user_timer::SavedTimer;

/// A clock of 64 bits with one alarm.
pub trait Timer {
    /// The time since boot. Never goes back.
    fn now(&self) -> Ticks;

    /// How ticks relate to microseconds.
    fn clock(&self) -> Clock;

    /// Arms the alarm; a moment that has passed raises it at once.
    fn set_deadline(&mut self, deadline: Ticks);

    /// Silences an alarm that was raised, and disarms it.
    fn acknowledge(&mut self);

    /// Whether the core has a second timer, which threads can own; see [`crate::user_timer`]. Without, what
    /// follows is not called.
    const FOR_USERS: bool = false;

    /// Lets user mode reach the second timer, or not.
    fn set_open(&mut self, open: bool) {
        let _ = open;
    }

    /// What the second timer's registers hold; it is disarmed.
    fn take(&mut self) -> SavedTimer {
        SavedTimer::OFF
    }

    /// Gives the second timer's registers a content.
    fn put(&mut self, saved: SavedTimer) {
        let _ = saved;
    }
}
