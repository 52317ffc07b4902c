//! The interface between the kernel and a timer.

use kernel::time::{Clock, Ticks};

use crate::user_timer::SavedTimer;

/// How fast paths in assembly read a clock.
#[derive(Clone, Copy, Debug)]
pub enum Counter {
    /// They cannot.
    Unknown,
    /// It is the virtual counter (CNTVCT).
    Virtual,
    /// Two words of memory, the lower half first. The timer has their address at this offset.
    Memory(usize),
}

/// A 64-bit clock with one deadline.
pub trait Timer {
    /// The count that is the clock.
    const COUNTER: Counter = Counter::Unknown;

    /// The time since boot. Monotonic.
    fn now(&self) -> Ticks;

    /// The relation of ticks to microseconds.
    fn clock(&self) -> &Clock;

    /// Arms the timer. A deadline that has passed raises the interrupt immediately.
    fn set_deadline(&mut self, deadline: Ticks);

    /// Acknowledges the interrupt and disarms the timer.
    fn acknowledge(&mut self);

    /// Whether the core has a second timer, which threads can own; see [`crate::user_timer`]. If not, the
    /// following methods are not called.
    const FOR_USERS: bool = false;

    /// Allows or forbids user mode to access the second timer.
    fn set_open(&mut self, open: bool) {
        let _ = open;
    }

    /// Saves the second timer's registers and disarms it.
    fn take(&mut self) -> SavedTimer {
        SavedTimer::OFF
    }

    /// Loads the second timer's registers.
    fn put(&mut self, saved: SavedTimer) {
        let _ = saved;
    }
}
