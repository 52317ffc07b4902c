//! Instants and durations in ticks of one clock. Which clock is the caller's choice; with the kernel's
//! interface a tick is a microsecond since boot.

use core::ops::{Add, Sub};

/// A reading of the clock, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(pub u64);

/// A length of time, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(pub u64);

impl Instant {
    /// Later than every event.
    pub const NEVER: Self = Self(u64::MAX);
}

impl Duration {
    /// Longer than every execution.
    pub const UNLIMITED: Self = Self(u64::MAX);
}

impl Add<Duration> for Instant {
    type Output = Self;

    /// Instants after the end of time are [`Instant::NEVER`].
    fn add(self, length: Duration) -> Self {
        Self(self.0.saturating_add(length.0))
    }
}

impl Sub for Instant {
    type Output = Duration;

    /// The length of time since `earlier`; zero if that is later.
    fn sub(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Duration {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Duration {
    type Output = Self;

    /// Zero if `other` is longer.
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}
