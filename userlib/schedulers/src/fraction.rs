//! Sums of fractions, for utilisations.

use crate::time::Duration;

/// Rounded fractions are multiples of 2^-60.
const UNIT_BITS: u32 = 60;

/// A share of a processor: exact while numerator and denominator fit in 128 bits, and rounded up by less than
/// 2^-60 for each addition from then on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fraction {
    over: u128,
    under: u128,
}

impl Fraction {
    pub(crate) const ZERO: Self = Self { over: 0, under: 1 };

    pub(crate) fn of(part: Duration, whole: Duration) -> Self {
        Self::reduced(part.0.into(), whole.0.into())
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        let exact = || {
            let over = self.over.checked_mul(other.under)?;
            let over = over.checked_add(other.over.checked_mul(self.under)?)?;
            Some(Self::reduced(over, self.under.checked_mul(other.under)?))
        };
        exact().unwrap_or_else(|| {
            let (one, two) = (self.rounded_up(), other.rounded_up());
            Self::reduced(one.over.saturating_add(two.over), one.under)
        })
    }

    pub(crate) fn times(self, other: Self) -> Self {
        let exact = || {
            let over = self.over.checked_mul(other.over)?;
            Some(Self::reduced(over, self.under.checked_mul(other.under)?))
        };
        exact().unwrap_or_else(|| {
            let (one, two) = (self.rounded_up(), other.rounded_up());
            let over = one.over.saturating_mul(two.over);
            Self::reduced(over.div_ceil(one.under), one.under)
        })
    }

    pub(crate) fn is_at_most_one(self) -> bool {
        self.is_at_most(1)
    }

    /// Whether it is no more than this number of processors.
    pub(crate) fn is_at_most(self, cores: usize) -> bool {
        // A product that does not fit is larger than what fits.
        self.over <= self.under.saturating_mul(cores as u128)
    }

    /// The larger of two.
    pub(crate) fn max(self, other: Self) -> Self {
        let (one, two) = (self.rounded_up(), other.rounded_up());
        if one.over < two.over { other } else { self }
    }

    /// `length * self / (1 - other)`, rounded up; none if that is longer than `length`.
    pub(crate) fn scale(self, other: Self, length: Duration) -> Option<Duration> {
        let (one, two) = (self.rounded_up(), other.rounded_up());
        let left = one.under.checked_sub(two.over)?;
        if one.over > left || left == 0 {
            return None;
        }
        let factor = (one.over << UNIT_BITS).div_ceil(left);
        let scaled = (u128::from(length.0) * factor).div_ceil(1 << UNIT_BITS);
        Some(Duration(scaled as u64))
    }

    /// `length / (1 - self)`, rounded up; none if nothing is left.
    pub(crate) fn stretch(self, length: Duration) -> Option<Duration> {
        let one = self.rounded_up();
        let left = one.under.checked_sub(one.over).filter(|left| *left > 0)?;
        let stretched = (u128::from(length.0) << UNIT_BITS).div_ceil(left);
        Some(Duration(stretched.min(u64::MAX.into()) as u64))
    }

    fn reduced(over: u128, under: u128) -> Self {
        let (mut divisor, mut rest) = (under, over);
        while rest != 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        Self {
            over: over / divisor,
            under: under / divisor,
        }
    }

    /// The next multiple of 2^-60.
    fn rounded_up(self) -> Self {
        const UNDER: u128 = 1 << UNIT_BITS;
        let whole = self.over / self.under;
        let mut rest = self.over % self.under;
        let mut under = self.under;
        // Both lose low bits until the product fits; the fraction only grows.
        while rest.checked_mul(UNDER).is_none() {
            rest = rest.div_ceil(2);
            under /= 2;
        }
        Self {
            // More than 2^68 processors count as so many, which are more than there are.
            over: whole
                .saturating_mul(UNDER)
                .saturating_add((rest * UNDER).div_ceil(under)),
            under: UNDER,
        }
    }
}
