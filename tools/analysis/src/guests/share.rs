//! Proportional share between guests, simulated: the more often the processor is switched, the more evenly the guests
//! progress, and the more is lost to caches.

use super::{Loss, SwitchCost};
use crate::{Error, Finding, Method, Result, Time};

/// [`lowest_lag_first`] and its source.
pub const LOWEST_LAG: Method = Method {
    name: "lowest lag first, simulated",
    source: "Kaiser, ETFA 2009; HIRES 2018",
    assumptions: &[
        "all guests can always run",
        "at the end of each slice the guest runs next that has got the least in proportion to its weight",
        "a guest that goes on has no switch; at a switch the caches are in the measured state",
    ],
};

/// The most slices of a simulation.
const MOST_SLICES: u32 = 1 << 22;

/// What a simulation has shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Shares {
    /// The processor time of each guest.
    pub received: Vec<Time>,
    /// The number of switches.
    pub switches: u32,
    /// The share of all time that was lost after switches: the overhead.
    pub lost: f64,
    /// The longest time for which a guest waited, in its worst case: the continuity, the shorter the better.
    pub longest_wait: Time,
    /// The furthest that a guest was behind its share, rounded up.
    pub furthest_behind: Time,
}

/// Simulates guests with these weights for a number of slices.
///
/// A guest's lag is what it has got, less its share of the time that has passed. It is counted in parts of the sum of
/// weights, so that it is exact.
///
/// # Errors
/// If there is no guest, a weight is zero, there are no slices or too many, or a slice is not positive.
pub fn lowest_lag_first(
    weights: &[u32],
    slice: Time,
    slices: u32,
    cost: &SwitchCost,
    loss: Loss,
) -> Result<Finding<Shares>> {
    let is_slice = slice > Time::ZERO && slice <= Time::LONGEST;
    let is_run = (1..=MOST_SLICES).contains(&slices);
    if weights.is_empty() || weights.contains(&0) || !is_slice || !is_run {
        let why = format!(
            "{slices} slices of {slice} for {} guests are impossible; there must be a guest, each weight and the \
             slice must be positive, and there are from 1 to {MOST_SLICES} slices",
            weights.len()
        );
        return Err(Error::impossible("simulation", why));
    }
    let all: i128 = weights.iter().map(|weight| i128::from(*weight)).sum();
    let step = slice.nanos();
    let mut received = vec![0; weights.len()];
    let mut last_end = vec![0; weights.len()];
    let (mut behind, mut wait, mut lost, mut switches) = (0, 0, 0.0, 0);
    // The guest that runs, and since when without a switch.
    let mut stretch: Option<(usize, i128)> = None;
    let end_stretch = |begin: i128, end: i128| {
        let length = Time::of(end - begin);
        cost.lost(loss, length) * length.nanos() as f64
    };
    for count in 0..i128::from(slices) {
        let now = count * step;
        let lag = |guest: usize| all * received[guest] - i128::from(weights[guest]) * now;
        let next = (0..weights.len()).min_by_key(|guest| lag(*guest));
        let next = next.expect("there is a guest");
        if stretch.is_none_or(|(guest, _)| guest != next) {
            if let Some((_, begin)) = stretch {
                lost += end_stretch(begin, now);
                switches += 1;
            }
            wait = wait.max(now - last_end[next]);
            stretch = Some((next, now));
        }
        received[next] += step;
        last_end[next] = now + step;
        let furthest = (0..weights.len())
            .map(|guest| i128::from(weights[guest]) * (now + step) - all * received[guest]);
        behind = furthest.max().unwrap_or_default().max(behind);
    }
    let end = i128::from(slices) * step;
    lost += stretch.map_or(0.0, |(_, begin)| end_stretch(begin, end));
    // What has not run again has waited until now.
    let waiting = last_end.iter().map(|at| end - at).max();
    Ok(LOWEST_LAG.finds(Shares {
        received: received.into_iter().map(Time::of).collect(),
        switches,
        lost: lost / end as f64,
        longest_wait: Time::of(wait.max(waiting.unwrap_or_default())),
        furthest_behind: Time::of(Time::of(behind).covered_by(Time::of(all))),
    }))
}
