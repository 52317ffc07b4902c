//! Random values with bounds and a sum.

use super::Generator;
use crate::{Error, Method, Result};

/// [`Generator::drs`] and its source.
pub const DRS: Method = Method {
    name: "Dirichlet-Rescale (DRS)",
    source: "Griffin, Bate and Davis, RTSS 2020",
    assumptions: &[
        "uniform over all values within the bounds if no two of them can be above their upper bounds at once, else \
         only nearly",
    ],
};

/// Rescalings of one draw: rounding errors grow with each.
const MOST_RESCALINGS: u32 = 200;
/// Draws of one set of values.
const MOST_DRAWS: u32 = 10_000;

impl Generator {
    /// Values that sum to `sum`, each from its lower to its upper bound; or none if draws run out.
    ///
    /// Without upper bounds, the values are a point of a simplex, drawn uniformly. The points above an upper bound are a
    /// smaller simplex, which is mapped to the whole one, until the point is within all bounds.
    ///
    /// # Errors
    /// If bounds are impossible, or no values within them have the sum.
    pub fn drs(&mut self, sum: f64, lower: &[f64], upper: &[f64]) -> Result<Option<Vec<f64>>> {
        let [least, most]: [f64; 2] = [lower, upper].map(|bounds| bounds.iter().sum());
        let bounds = || lower.iter().zip(upper);
        let are_bounds = bounds().all(|(low, high)| low <= high) && lower.len() == upper.len();
        let (above, below) = (sum - least, most - sum);
        if lower.is_empty() || !are_bounds || !(above >= 0.0 && below >= 0.0) || most.is_infinite()
        {
            let why = format!("no values between {lower:?} and {upper:?} sum to {sum}");
            return Err(Error::impossible("generator", why));
        }
        let widths: Vec<_> = bounds().map(|(low, high)| high - low).collect();
        // From the bounds that are closer to the sum, because fewer points are beyond the others.
        let found = if above <= below {
            let more = self.within(above, &widths);
            more.map(|more| {
                lower
                    .iter()
                    .zip(more)
                    .map(|(low, more)| low + more)
                    .collect()
            })
        } else {
            let less = self.within(below, &widths);
            less.map(|less| {
                upper
                    .iter()
                    .zip(less)
                    .map(|(high, less)| high - less)
                    .collect()
            })
        };
        Ok(found)
    }

    /// Values from 0 up to these widths, with a sum.
    fn within(&mut self, sum: f64, widths: &[f64]) -> Option<Vec<f64>> {
        if sum <= 0.0 {
            return Some(vec![0.0; widths.len()]);
        }
        for _ in 0..MOST_DRAWS {
            let mut values: Vec<_> = widths.iter().map(|_| -(1.0 - self.unit()).ln()).collect();
            let mut left = sum;
            for _ in 0..MOST_RESCALINGS {
                // What is beyond the bounds is scaled to the whole sum; at first, a draw is.
                let scale = sum / values.iter().sum::<f64>();
                if !(left > 0.0 && scale.is_finite()) {
                    break;
                }
                values.iter_mut().for_each(|value| *value *= scale);
                let is_within = |(value, width): (&f64, &f64)| value <= width;
                if values.iter().zip(widths).all(is_within) {
                    return Some(values);
                }
                left = sum;
                for (value, width) in values.iter_mut().zip(widths) {
                    if *value > *width {
                        *value -= width;
                        left -= width;
                    }
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_within_their_bounds_and_have_their_sum() {
        let mut random = Generator::new(3);
        for round in 0..2_000 {
            let count = 1 + random.below(20) as usize;
            let lower: Vec<_> = (0..count).map(|_| random.unit() / 2.0).collect();
            let upper: Vec<_> = lower.iter().map(|low| low + random.unit()).collect();
            let [least, most]: [f64; 2] = [&lower, &upper].map(|bounds| bounds.iter().sum());
            let sum = least + (most - least) * random.unit();
            let values = random.drs(sum, &lower, &upper).unwrap();
            let values = values.unwrap_or_else(|| panic!("{round}: {sum} of {lower:?} {upper:?}"));
            assert!((values.iter().sum::<f64>() - sum).abs() < 1e-6, "{round}");
            for ((value, low), high) in values.iter().zip(&lower).zip(&upper) {
                assert!((low - 1e-9..=high + 1e-9).contains(value), "{round}");
            }
        }
    }

    /// Where only one value at a time can be above its bound: the means and the means of squares of values that are drawn
    /// without bounds and discarded.
    #[test]
    fn values_are_uniform() {
        let upper = [1.0, 0.8, 0.9];
        for sum in [1.2, 2.7 - 1.2] {
            let (mut drawn, mut discarded) = (Moments::default(), Moments::default());
            let mut random = Generator::new(4);
            while discarded.count < 20_000.0 {
                let values = random.drs(sum, &[0.0; 3], &upper).unwrap().unwrap();
                drawn.add(&values);
                let values = random.uunifast_discard(3, sum).unwrap().unwrap();
                if values.iter().zip(&upper).all(|(value, high)| value <= high) {
                    discarded.add(&values);
                }
            }
            for (one, other) in drawn.all().into_iter().zip(discarded.all()) {
                assert!((one - other).abs() < 0.008, "{one} {other}");
            }
        }
    }

    #[derive(Default)]
    struct Moments {
        count: f64,
        sums: [f64; 6],
    }

    impl Moments {
        fn add(&mut self, values: &[f64]) {
            self.count += 1.0;
            for (place, value) in values.iter().enumerate() {
                self.sums[place] += value;
                self.sums[place + 3] += value * value;
            }
        }

        fn all(&self) -> [f64; 6] {
            self.sums.map(|sum| sum / self.count)
        }
    }

    #[test]
    fn impossible_bounds_are_refused() {
        let mut random = Generator::new(5);
        for (sum, lower, upper) in [
            (3.0, [0.0, 0.0], [1.0, 1.0]),
            (0.5, [0.5, 0.5], [1.0, 1.0]),
            (1.0, [0.5, 0.0], [0.4, 1.0]),
            (f64::NAN, [0.0, 0.0], [1.0, 1.0]),
            (1.0, [0.0, 0.0], [1.0, f64::INFINITY]),
        ] {
            random.drs(sum, &lower, &upper).unwrap_err();
        }
        random.drs(0.0, &[], &[]).unwrap_err();
    }
}
