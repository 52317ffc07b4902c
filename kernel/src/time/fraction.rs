//! Multiplication by a fraction without a division.

use abi::WORD_BITS;

/// A fraction by which numbers are multiplied, rounded down.
///
/// A 32-bit processor divides numbers of 64 bits in software, bit by bit. Here the division by the denominator
/// is a multiplication by its reciprocal (Granlund and Montgomery, *Division by invariant integers using
/// multiplication*, PLDI 1994), and a correction by at most one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fraction {
    /// The numerator divided by the denominator, rounded down.
    whole: u64,
    /// The remainder of that division.
    remainder: u64,
    denominator: u64,
    /// `remainder` divided by the denominator, in units of 2^-64, rounded down.
    reciprocal: u64,
}

impl Fraction {
    /// # Panics
    /// If the denominator is 0, or not below 2^63.
    pub(super) const fn new(numerator: u64, denominator: u64) -> Self {
        assert!(denominator > 0 && denominator < 1 << 63);
        let remainder = numerator % denominator;
        let (mut reciprocal, mut left) = (0, remainder);
        let mut bit = 0;
        while bit < u64::BITS {
            left <<= 1;
            let fits = left >= denominator;
            reciprocal = reciprocal << 1 | fits as u64;
            if fits {
                left -= denominator;
            }
            bit += 1;
        }
        Self {
            whole: numerator / denominator,
            remainder,
            denominator,
            reciprocal,
        }
    }

    /// The product, which must be below 2^64.
    #[inline]
    pub(super) const fn of(&self, number: u64) -> u64 {
        // The reciprocal is too small by less than 2^-64, so the product is too small by less than one before it is
        // rounded, and by at most one afterwards.
        let part = high(number, self.reciprocal);
        // The remainder, below twice the denominator: both products wrap around, their difference does not.
        let all = number.wrapping_mul(self.remainder);
        let left = all.wrapping_sub(part.wrapping_mul(self.denominator));
        number * self.whole + part + (left >= self.denominator) as u64
    }
}

/// The upper half of a product.
#[inline]
const fn high(a: u64, b: u64) -> u64 {
    match WORD_BITS {
        64 => ((a as u128 * b as u128) >> 64) as u64,
        _ => high_in_pieces(a, b),
    }
}

/// The same without numbers of 128 bits, which 32-bit processors multiply by a library call.
#[inline]
const fn high_in_pieces(a: u64, b: u64) -> u64 {
    const LOW: u64 = u32::MAX as u64;
    let ([a1, a0], [b1, b0]) = ([a >> 32, a & LOW], [b >> 32, b & LOW]);
    let first = a1 * b0 + ((a0 * b0) >> 32);
    let second = a0 * b1 + (first & LOW);
    a1 * b1 + (first >> 32) + (second >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn divided(number: u64, numerator: u64, denominator: u64) -> Option<u64> {
        let product = u128::from(number) * u128::from(numerator) / u128::from(denominator);
        u64::try_from(product).ok()
    }

    #[track_caller]
    fn check(number: u64, numerator: u64, denominator: u64) {
        if let Some(expected) = divided(number, numerator, denominator) {
            let found = Fraction::new(numerator, denominator).of(number);
            assert_eq!(found, expected, "{number} * {numerator} / {denominator}");
        }
    }

    #[test]
    fn products_at_the_bounds_are_exact() {
        let all = [
            0,
            1,
            2,
            999_999,
            1_000_000,
            1_000_001,
            u64::MAX >> 1,
            u64::MAX,
        ];
        for number in all {
            for numerator in all {
                for denominator in all.into_iter().filter(|one| (1..1 << 63).contains(one)) {
                    check(number, numerator, denominator);
                    // One less than a multiple of the denominator, the multiple, and one more.
                    let multiple = number / denominator * denominator;
                    for number in [
                        multiple.saturating_sub(1),
                        multiple,
                        multiple.saturating_add(1),
                    ] {
                        check(number, numerator, denominator);
                    }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn products_are_exact(number: u64, numerator: u32, denominator in 1u64..1 << 63, shift in 0u32..63) {
            check(number >> shift, numerator.into(), (denominator >> (shift / 2)).max(1));
        }

        /// Both implementations of the upper half.
        #[test]
        fn halves_of_products_are_those_of_wide_ones(a: u64, b: u64) {
            let wide = ((u128::from(a) * u128::from(b)) >> 64) as u64;
            prop_assert_eq!(high_in_pieces(a, b), wide);
            prop_assert_eq!(high(a, b), wide);
        }
    }
}
