//! Random task sets, reproducible from a seed.

mod bounded;

pub use bounded::DRS;

use oorandom::Rand64;

use crate::model::Task;
use crate::{Error, Method, Result, Time};

/// [`Generator::fixed_sum`] and its source.
pub const FIXED_SUM: Method = Method {
    name: "randfixedsum",
    source: "Stafford, 2006; Emberson, Stafford and Davis, WATERS 2010",
    assumptions: &["uniform over all utilisations of at most 1 with the sum"],
};

/// [`Generator::uunifast_discard`] and its source.
pub const UUNIFAST_DISCARD: Method = Method {
    name: "UUniFast-discard",
    source: "Bini and Buttazzo, RTS 2005; Davis and Burns, RTSS 2009",
    assumptions: &[
        "uniform over all utilisations of at most 1 with the sum; slow if they are rare",
    ],
};

/// Tries of [`Generator::uunifast_discard`].
const MOST_TRIES: usize = 100_000;

/// A source of random task sets.
pub struct Generator(Rand64);

impl Generator {
    /// The same seed gives the same sets.
    pub fn new(seed: u64) -> Self {
        Self(Rand64::new(seed.into()))
    }

    /// A number from 0 to 1, but not 1.
    pub fn unit(&mut self) -> f64 {
        self.0.rand_float()
    }

    /// One of `count` numbers from 0 on.
    pub fn below(&mut self, count: u64) -> u64 {
        self.0.rand_range(0..count)
    }

    /// `count` utilisations of at most 1 that sum to `sum`, or none if tries run out.
    ///
    /// # Errors
    /// If `sum` is not between 0 and `count`.
    pub fn uunifast_discard(&mut self, count: usize, sum: f64) -> Result<Option<Vec<f64>>> {
        check(count, sum)?;
        for _ in 0..MOST_TRIES {
            let mut left = sum;
            let mut values = Vec::with_capacity(count);
            for others in (1..count).rev() {
                let rest = left * self.unit().powf(1.0 / others as f64);
                values.push(left - rest);
                left = rest;
            }
            values.push(left);
            if values.iter().all(|value| *value <= 1.0) {
                return Ok(Some(values));
            }
        }
        Ok(None)
    }

    /// `count` utilisations of at most 1 that sum to `sum`.
    ///
    /// The cut of the unit cube at that sum is divided into simplices. `weight` holds, up to a common factor, the volume
    /// of the cut in fewer dimensions; `upper` is the share of those simplices in which the next value begins at 1. So a
    /// walk from all dimensions down to one chooses a simplex by its volume, and a point in it.
    ///
    /// # Errors
    /// If `sum` is not between 0 and `count`.
    pub fn fixed_sum(&mut self, count: usize, sum: f64) -> Result<Vec<f64>> {
        check(count, sum)?;
        let base = (sum.floor() as usize).min(count - 1);
        let n = count as f64;
        // Distances of the sum from the whole numbers below and above it.
        let below = |j: usize| sum - (base as f64 - j as f64);
        let above = |j: usize| (base as f64 + n - j as f64) - sum;
        let mut weight = vec![vec![0.0; count + 1]; count + 1];
        let mut upper = vec![vec![0.0; count]; count];
        weight[1][1] = f64::MAX;
        for size in 2..=count {
            for at in 0..size {
                let [to_below, to_above] = [below(at), above(count - size + at)];
                let stays = weight[size - 1][at + 1] * to_below / size as f64;
                let steps = weight[size - 1][at] * to_above / size as f64;
                let all = stays + steps;
                weight[size][at + 1] = all;
                // The smaller part is divided by the sum, which is more exact.
                let all = all + f64::MIN_POSITIVE;
                upper[size - 1][at] = match to_above > to_below {
                    true => steps / all,
                    false => 1.0 - stays / all,
                };
            }
        }
        let (mut left, mut at) = (sum, base);
        let (mut offset, mut scale) = (0.0, 1.0);
        let mut values = Vec::with_capacity(count);
        for size in (1..count).rev() {
            let steps = self.unit() < upper[size][at];
            let shrink = self.unit().powf(1.0 / size as f64);
            offset += (1.0 - shrink) * scale * left / (size + 1) as f64;
            scale *= shrink;
            values.push(offset + if steps { scale } else { 0.0 });
            if steps {
                left -= 1.0;
                at = at.saturating_sub(1);
            }
        }
        values.push(offset + scale * left);
        // The simplices have an order, so the values are shuffled.
        for last in (1..count).rev() {
            let other = self.below(last as u64 + 1) as usize;
            values.swap(last, other);
        }
        Ok(values)
    }

    /// A task for each utilisation, with an implicit deadline and a period between the two, uniform in its logarithm.
    /// Costs are rounded to whole nanoseconds, at least one.
    ///
    /// # Errors
    /// If a period or utilisation is impossible.
    pub fn tasks(
        &mut self,
        utilisations: &[f64],
        shortest: Time,
        longest: Time,
    ) -> Result<Vec<Task>> {
        let [low, high] = [shortest, longest].map(|time| (time.nanos() as f64).ln());
        self.tasks_of(utilisations, |unit| {
            let period = Time::of((low + (high - low) * unit).exp() as i128);
            period.max(shortest).min(longest)
        })
    }

    /// The same with uniform periods.
    ///
    /// # Errors
    /// If a period or utilisation is impossible.
    pub fn tasks_with_uniform_periods(
        &mut self,
        utilisations: &[f64],
        shortest: Time,
        longest: Time,
    ) -> Result<Vec<Task>> {
        let width = (longest - shortest).nanos() as f64;
        self.tasks_of(utilisations, |unit| {
            shortest + Time::of((width * unit) as i128)
        })
    }

    /// `period` makes a period from a number from 0 to 1.
    fn tasks_of(
        &mut self,
        utilisations: &[f64],
        period: impl Fn(f64) -> Time,
    ) -> Result<Vec<Task>> {
        let mut tasks = Vec::with_capacity(utilisations.len());
        for (place, utilisation) in utilisations.iter().enumerate() {
            let period = period(self.unit());
            let cost = Time::of((utilisation * period.nanos() as f64).round() as i128);
            let cost = cost.max(Time::of(1));
            tasks.push(Task::periodic(format!("{place}"), cost, period)?);
        }
        Ok(tasks)
    }
}

fn check(count: usize, sum: f64) -> Result<()> {
    if count > 0 && (0.0..=count as f64).contains(&sum) {
        return Ok(());
    }
    let why = format!("{count} utilisations of at most 1 cannot sum to {sum}");
    Err(Error::impossible("generator", why))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean of the square of one of three utilisations with the sum 1.5 is the one of the hexagon in which the plane
    /// cuts the cube: 1/4 + 5/72.
    #[test]
    fn both_generators_are_uniform() {
        let mut generator = Generator::new(1);
        let rounds = 40_000;
        let square = |values: Vec<f64>| {
            assert!((values.iter().sum::<f64>() - 1.5).abs() < 1e-9);
            assert!(values.iter().all(|value| (0.0..=1.0).contains(value)));
            values.iter().map(|value| value * value).sum::<f64>() / 3.0
        };
        let (mut fixed, mut discarded) = (0.0, 0.0);
        for _ in 0..rounds {
            fixed += square(generator.fixed_sum(3, 1.5).unwrap());
            discarded += square(generator.uunifast_discard(3, 1.5).unwrap().unwrap());
        }
        for sum in [fixed, discarded] {
            let mean = sum / f64::from(rounds);
            assert!((mean - (0.25 + 5.0 / 72.0)).abs() < 0.002, "{mean}");
        }
    }

    #[test]
    fn many_utilisations_have_their_sum() {
        let mut generator = Generator::new(2);
        for (count, sum) in [
            (1, 0.5),
            (16, 2.2),
            (16, 15.5),
            (100, 4.0),
            (4, 4.0),
            (5, 0.0),
        ] {
            let values = generator.fixed_sum(count, sum).unwrap();
            assert_eq!(values.len(), count);
            assert!(
                (values.iter().sum::<f64>() - sum).abs() < 1e-9,
                "{count} {sum}"
            );
            assert!(
                values
                    .iter()
                    .all(|value| (-1e-9..=1.0 + 1e-9).contains(value))
            );
        }
        generator.fixed_sum(3, 3.5).unwrap_err();
    }
}
