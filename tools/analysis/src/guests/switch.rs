//! What a switch between guests costs, as progress that is lost while caches fill.

use std::fmt;

use crate::{Error, Finding, Method, Result, Time};

/// [`SwitchCost::lost`], [`fit`] and their source.
pub const SWITCH: Method = Method {
    name: "cost of a switch as lost progress",
    source: "Kaiser, ETFA 2009; HIRES 2018",
    assumptions: &[
        "after a switch the guest progresses at a share `f` of its speed, and at full speed after `t_s`",
        "each slice begins with a switch, with the caches in the measured state",
    ],
};

/// How progress recovers after a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// All at once at the end; the safe assumption for hard deadlines.
    Flood,
    /// In a straight line.
    Linear,
    /// Exponentially, to within 5 % of the loss at the end.
    Exponential,
}

impl Loss {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Flood, Self::Linear, Self::Exponential];
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Flood => "flood",
            Self::Linear => "linear",
            Self::Exponential => "exponential",
        })
    }
}

/// The cost of switches for a working set in a state of the caches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SwitchCost {
    /// The share of progress right after a switch, from 0 to 1.
    pub progress: f64,
    /// How long recovery takes.
    pub recovery: Time,
}

impl SwitchCost {
    /// The share of a slice that is lost.
    pub fn lost(&self, loss: Loss, slice: Time) -> f64 {
        let [slice, recovery] = [slice, self.recovery].map(|time| time.nanos() as f64);
        if slice <= 0.0 || recovery <= 0.0 {
            return 0.0;
        }
        (1.0 - self.progress) * lost_time(loss, slice, recovery) / slice
    }
}

/// The time that is lost up to `time`, if there is no progress at first.
fn lost_time(loss: Loss, time: f64, recovery: f64) -> f64 {
    let within = time.min(recovery);
    match loss {
        Loss::Flood => within,
        Loss::Linear => within - within * within / (2.0 * recovery),
        Loss::Exponential => {
            let rate = 3.0 / recovery;
            -(-rate * time).exp_m1() / rate
        }
    }
}

/// A measurement: after a switch, the work of `work` at full speed took `time`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The time since the switch.
    pub time: Time,
    /// The time that the same work takes at full speed.
    pub work: Time,
}

/// The function and the cost that explain measurements best, by least squares.
///
/// # Errors
/// Those of [`fit`].
pub fn best_fit(samples: &[Sample]) -> Result<Finding<(Loss, SwitchCost)>> {
    let mut best: Option<(f64, Loss, SwitchCost)> = None;
    for loss in Loss::ALL {
        let (unexplained, cost) = search(loss, samples)?;
        if best.is_none_or(|(least, ..)| unexplained < least) {
            best = Some((unexplained, loss, cost));
        }
    }
    let (_, loss, cost) = best.expect("there is a function");
    Ok(SWITCH.finds((loss, cost)))
}

/// The cost that explains measurements best, by least squares.
///
/// For each time of recovery the best share follows directly, so only the time is searched, with ever finer steps.
///
/// # Errors
/// If there are fewer than three measurements at different times, or one has more work than time.
pub fn fit(loss: Loss, samples: &[Sample]) -> Result<Finding<SwitchCost>> {
    Ok(SWITCH.finds(search(loss, samples)?.1))
}

/// The squares of what the best cost leaves unexplained, and that cost.
fn search(loss: Loss, samples: &[Sample]) -> Result<(f64, SwitchCost)> {
    let mut times: Vec<_> = samples.iter().map(|sample| sample.time).collect();
    times.sort_unstable();
    times.dedup();
    let possible = |sample: &Sample| {
        sample.work >= Time::ZERO && sample.work <= sample.time && sample.time <= Time::LONGEST
    };
    let Some(longest) = times
        .last()
        .filter(|_| times.len() >= 3 && samples.iter().all(possible))
    else {
        let why = "a fit needs measurements at three different times or more, none with more work than time";
        return Err(Error::impossible("calibration", why));
    };
    let longest = longest.nanos() as f64;
    // The best share of lost progress for a time of recovery, and the squares of what it leaves unexplained.
    let explain = |recovery: f64| {
        let (mut both, mut squares) = (0.0, 0.0);
        for sample in samples {
            let shape = lost_time(loss, sample.time.nanos() as f64, recovery);
            both += shape * (sample.time - sample.work).nanos() as f64;
            squares += shape * shape;
        }
        let share = (both / squares).clamp(0.0, 1.0);
        let left = samples.iter().map(|sample| {
            let shape = lost_time(loss, sample.time.nanos() as f64, recovery);
            ((sample.time - sample.work).nanos() as f64 - share * shape).powi(2)
        });
        (left.sum::<f64>(), share)
    };
    let steps = 1_000;
    let (mut low, mut high) = (longest / 1e6, longest);
    let mut best = (f64::INFINITY, 0.0, high);
    while high - low > 0.5 {
        let width = (high - low) / f64::from(steps);
        for step in 0..=steps {
            let recovery = low + width * f64::from(step);
            let (left, share) = explain(recovery);
            if left < best.0 {
                best = (left, share, recovery);
            }
        }
        low = (best.2 - width * 2.0).max(low);
        high = (best.2 + width * 2.0).min(high);
    }
    let cost = SwitchCost {
        progress: 1.0 - best.1,
        recovery: Time::of(best.2.round() as i128),
    };
    Ok((best.0, cost))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// i.MX6, 64 KiB of dirty cache.
    const IMX6: SwitchCost = SwitchCost {
        progress: 0.131,
        recovery: Time::from_micros(210),
    };

    #[test]
    fn losses_are_the_published_ones() {
        let published = [[18, 36, 55, 87], [9, 18, 27, 45], [6, 12, 18, 29]];
        for (loss, expected) in Loss::ALL.into_iter().zip(published) {
            for (rate, percent) in [1u64, 2, 3, 5].into_iter().zip(expected) {
                let lost = IMX6.lost(loss, Time::from_nanos(1_000_000 / rate)) * 100.0;
                assert!(
                    (lost - f64::from(percent)).abs() <= 0.6,
                    "{loss:?} {rate} {lost}"
                );
            }
        }
    }

    #[test]
    fn the_fit_finds_what_made_the_measurements() {
        for loss in Loss::ALL {
            let samples: Vec<_> = (1..=40)
                .map(|step| {
                    let time = Time::from_micros(step * 10);
                    let lost = IMX6.lost(loss, time) * time.nanos() as f64;
                    let work = time - Time::of(lost.round() as i128);
                    Sample { time, work }
                })
                .collect();
            let found = fit(loss, &samples).unwrap().value;
            assert_eq!(best_fit(&samples).unwrap().value, (loss, found));
            assert!((found.progress - 0.131).abs() < 0.002, "{loss:?} {found:?}");
            let off = (found.recovery - IMX6.recovery).nanos().abs();
            assert!(off < 1_000, "{loss:?} {found:?}");
        }
    }

    #[test]
    fn too_few_measurements_are_refused() {
        let sample = Sample {
            time: Time::from_micros(1),
            work: Time::ZERO,
        };
        fit(Loss::Flood, &[sample; 5]).unwrap_err();
    }
}
