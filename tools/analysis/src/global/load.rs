//! The test by the load of a whole set.

use num_traits::{One, Zero};

use crate::edf;
use crate::model::Task;
use crate::search::Search;
use crate::{Finding, Method, Ratio, Result, Time, Verdict};

use super::Set;
use super::density::ASSUMPTIONS;

/// [`load`] and its source.
pub const LOAD: Method = Method {
    name: "G-EDF load test",
    source: "Baker and Baruah, RTS 2009, corollary 2",
    assumptions: ASSUMPTIONS,
};

/// The load, which is the largest ratio of demand to window, is at most the larger of `u - (k - 1) d` and
/// `(k - 1) - (k - 2) d`, where `d` is the largest density, `u = m - (m - 1) d`, and `k` is `u` rounded up.
///
/// # Errors
/// If the set has jitter or deadlines above periods, or the search does not end.
pub fn load(tasks: &[Task], cores: usize) -> Result<Finding<Verdict>> {
    let set = Set::new(&LOAD, tasks, cores)?;
    let densest = set.densest();
    let beside = set.beside(&densest);
    let whole = beside.ceil();
    let one = Ratio::one();
    let bounds = [
        &beside - (&whole - &one) * &densest,
        (&whole - &one) - (&whole - &one - &one) * &densest,
    ];
    let bound = bounds.into_iter().max().unwrap_or_default();
    let shown = bound > Ratio::zero() && load_is_at_most(&set, &bound)?;
    Ok(LOAD.finds(Verdict::if_shown(shown)))
}

/// Whether no window has more demand than this times its length.
fn load_is_at_most(set: &Set<'_>, bound: &Ratio) -> Result<bool> {
    let rate = set.utilisation();
    // Demand is at most `rate * window + early`.
    let early = set.early();
    let left = bound - rate;
    if early.is_zero() || left <= Ratio::zero() {
        return Ok(early.is_zero() && left >= Ratio::zero());
    }
    let mut search = Search::of("the task set");
    let mut end = Time::floor(&(early / left)) + Time::of(1);
    while let Some(window) = edf::last_deadline(set.tasks, end) {
        search.step(window)?;
        let demand = edf::demand(set.tasks, window);
        if demand.ratio() > bound * window.ratio() {
            return Ok(false);
        }
        // The bound of every window from `end` on suffices.
        end = Time::ceil(&(demand.ratio() / bound)).min(window);
    }
    Ok(true)
}
