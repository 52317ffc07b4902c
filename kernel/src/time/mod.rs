//! Units of time. Ticks and microseconds are different types, because most budget bugs are unit bugs.

mod fraction;

use core::ops::{Add, AddAssign, Sub};

use abi::WORD_BITS;

use fraction::Fraction;

/// Ticks of the platform's clock: a time since boot, or a duration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Ticks(pub u64);

impl Ticks {
    /// No time, or the time of boot.
    pub const ZERO: Self = Self(0);
    /// A time that never comes.
    pub const NEVER: Self = Self(u64::MAX);

    /// The sum, or [`Ticks::NEVER`] on overflow.
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, or zero where it would be negative.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add for Ticks {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for Ticks {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl AddAssign for Ticks {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// Microseconds: the unit of the user interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Microseconds(pub u64);

impl Microseconds {
    /// As one word, or the greatest one.
    pub(crate) fn word(self) -> usize {
        self.0.try_into().unwrap_or(usize::MAX)
    }

    /// As message words: one on 64-bit machines, low and high on 32-bit ones.
    pub(crate) const fn words(self) -> ([usize; 2], usize) {
        if WORD_BITS == 64 {
            ([self.0 as usize, 0], 1)
        } else {
            ([self.0 as usize, (self.0 >> 32) as usize], 2)
        }
    }
}

/// The relation of ticks to microseconds on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    ticks_per_second: u64,
    /// Stored because every kernel entry needs it.
    min_budget: Ticks,
    max_period: Microseconds,
    ticks_per_microsecond: Fraction,
    microseconds_per_tick: Fraction,
}

/// The kernel's worst-case execution time, an upper bound on one kernel entry, from which the smallest budget
/// follows (seL4 reference manual, section "Scheduling Contexts": a budget must suffice to enter and to leave
/// the kernel, so it is at least twice this). In instructions the bound is 3,000, which the benchmark suite
/// `delay` checks; the book (`docs/src/reference/delay.md`) relates both.
pub const KERNEL_WCET: Microseconds = Microseconds(10);

/// The smallest budget and the smallest period.
pub const MIN_BUDGET: Microseconds = Microseconds(2 * KERNEL_WCET.0);

impl Clock {
    /// A clock of this frequency.
    ///
    /// # Panics
    /// Below 1 MHz: the interface's unit would be finer than the clock.
    pub const fn new(ticks_per_second: u64) -> Self {
        assert!(ticks_per_second >= 1_000_000);
        let ticks_per_microsecond = Fraction::new(ticks_per_second, 1_000_000);
        Self {
            ticks_per_second,
            min_budget: Ticks(ticks_per_microsecond.of(MIN_BUDGET.0)),
            max_period: Microseconds(u64::MAX / ticks_per_second / 8 * 1_000_000),
            ticks_per_microsecond,
            microseconds_per_tick: Fraction::new(1_000_000, ticks_per_second),
        }
    }

    /// Ticks in a second.
    pub const fn frequency(&self) -> u64 {
        self.ticks_per_second
    }

    /// The ticks of a duration, rounded down.
    pub const fn ticks(&self, time: Microseconds) -> Ticks {
        Ticks(self.ticks_per_microsecond.of(time.0))
    }

    /// The first tick at which the clock shows this time since boot, or a later one.
    pub const fn first_tick(&self, time: Microseconds) -> Ticks {
        let ticks = self.ticks(time);
        let is_before = self.microseconds(ticks).0 < time.0;
        Ticks(ticks.0 + is_before as u64)
    }

    /// The microseconds of a duration, rounded down.
    pub const fn microseconds(&self, ticks: Ticks) -> Microseconds {
        Microseconds(self.microseconds_per_tick.of(ticks.0))
    }

    /// The smallest budget in ticks.
    pub const fn min_budget(&self) -> Ticks {
        self.min_budget
    }

    /// The longest period: an eighth of the range that can be converted, so that sums of a few periods and a
    /// time since boot never overflow.
    pub const fn max_period(&self) -> Microseconds {
        self.max_period
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn microseconds_survive_the_round_trip() {
        for frequency in [
            1_000_000,
            39_000_000,
            62_500_000,
            498_000_000,
            2_611_000_000,
        ] {
            let clock = Clock::new(frequency);
            for time in [0, 1, 20, 999_999, 1_000_000, 123_456_789_012] {
                let there = clock.ticks(Microseconds(time));
                let back = clock.microseconds(there).0;
                assert!(back == time || back + 1 == time, "{time} at {frequency}");
                let first = clock.first_tick(Microseconds(time));
                assert!(clock.microseconds(first).0 >= time, "{time} at {frequency}");
                let before = Ticks(first.0.saturating_sub(1));
                assert!(time == 0 || clock.microseconds(before).0 < time);
            }
            assert!(clock.ticks(clock.max_period()).0 <= u64::MAX / 8);
        }
    }

    proptest! {
        /// At the frequencies of the boards, and others.
        #[test]
        fn conversion_is_a_division(
            frequency in prop_oneof![
                Just(1_000_000u64), Just(32_500_000), Just(62_500_000), Just(65_833_333), Just(100_000_000),
                1_000_000u64..4_000_000_000
            ],
            time in 0u64..1 << 50,
        ) {
            let clock = Clock::new(frequency);
            let product = |by: u64, to: u64| u128::from(time) * u128::from(by) / u128::from(to);
            prop_assert_eq!(u128::from(clock.microseconds(Ticks(time)).0), product(1_000_000, frequency));
            prop_assert_eq!(u128::from(clock.ticks(Microseconds(time >> 12)).0),
                u128::from(time >> 12) * u128::from(frequency) / 1_000_000);
        }

        #[test]
        fn conversion_is_monotonic(frequency in 1_000_000u64..4_000_000_000, a: u32, b: u32) {
            let clock = Clock::new(frequency);
            let (low, high) = (a.min(b), a.max(b));
            prop_assert!(clock.ticks(Microseconds(low.into())) <= clock.ticks(Microseconds(high.into())));
            prop_assert!(clock.microseconds(Ticks(low.into())) <= clock.microseconds(Ticks(high.into())));
        }
    }
}
