//! What the kernel needs of a timer.

use kernel::time::{Clock, Ticks};

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
}
