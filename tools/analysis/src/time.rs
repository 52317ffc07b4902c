//! Lengths of time.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};

use num_rational::BigRational;

/// An exact fraction, such as a utilisation.
pub type Ratio = BigRational;

/// A length of time in whole nanoseconds. Differences may be negative.
///
/// No analysis overflows. A parameter is at most [`Time::LONGEST`], a search ends at [`Time::HORIZON`], and a set
/// has at most [`MOST`](crate::model::MOST) tasks, so no intermediate result exceeds 2^122.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i128);

impl Time {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest parameter: 2^50 ns, 13 days.
    pub const LONGEST: Self = Self(1 << 50);
    /// Where a search for a bound is given up: 2^56 ns, 2.3 years.
    pub const HORIZON: Self = Self(1 << 56);

    /// Whole nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos as i128)
    }

    /// Whole microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros as i128 * 1_000)
    }

    /// Whole milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis as i128 * 1_000_000)
    }

    /// In nanoseconds.
    pub const fn nanos(self) -> i128 {
        self.0
    }

    /// As a fraction of another, which is not zero.
    pub fn over(self, other: Self) -> Ratio {
        Ratio::new(self.0.into(), other.0.into())
    }

    /// How many times another, which is positive, fits into it as a whole; negative for negative times.
    pub const fn whole(self, other: Self) -> i128 {
        self.0.div_euclid(other.0)
    }

    /// How many of another, which is positive, cover it.
    pub const fn covered_by(self, other: Self) -> i128 {
        -(-self.0).div_euclid(other.0)
    }

    /// The smallest whole number of nanoseconds that is not less than `ratio`.
    pub(crate) fn ceil(ratio: &Ratio) -> Self {
        use num_traits::ToPrimitive;
        Self(ratio.ceil().to_integer().to_i128().unwrap_or(i128::MAX))
    }

    /// The largest whole number of nanoseconds that is not more than `ratio`.
    pub(crate) fn floor(ratio: &Ratio) -> Self {
        use num_traits::ToPrimitive;
        Self(ratio.floor().to_integer().to_i128().unwrap_or(i128::MAX))
    }

    /// As an exact fraction of nanoseconds.
    pub(crate) fn ratio(self) -> Ratio {
        Ratio::from_integer(self.0.into())
    }

    pub(crate) const fn of(nanos: i128) -> Self {
        Self(nanos)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
        let unit = units.iter().find(|(unit, _)| self.0 % unit == 0);
        match unit {
            Some((unit, name)) if self.0 != 0 => write!(f, "{} {name}", self.0 / unit),
            _ => write!(f, "{} ns", self.0),
        }
    }
}

impl Add for Time {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for Time {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Mul<i128> for Time {
    type Output = Self;
    fn mul(self, count: i128) -> Self {
        Self(self.0 * count)
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl SubAssign for Time {
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}

impl Sum for Time {
    fn sum<I: Iterator<Item = Self>>(times: I) -> Self {
        times.fold(Self::ZERO, Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_printed_in_the_largest_whole_unit() {
        let printed = [0, 7, 1_500, 2_000, 3_000_000, 60_000_000_000]
            .map(|nanos| Time::from_nanos(nanos).to_string());
        assert_eq!(printed, ["0 ns", "7 ns", "1500 ns", "2 us", "3 ms", "60 s"]);
    }

    #[test]
    fn counts_round_down_and_up_also_below_zero() {
        let [five, two] = [5, 2].map(Time::of);
        assert_eq!((five.whole(two), five.covered_by(two)), (2, 3));
        let below = Time::ZERO - five;
        assert_eq!((below.whole(two), below.covered_by(two)), (-3, -2));
    }
}
