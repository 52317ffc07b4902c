//! Tests by the demand of a whole set.

use num_traits::{One, ToPrimitive, Zero};

use crate::edf;
use crate::model::{Task, utilisation};
use crate::search::Search;
use crate::{Finding, Method, Ratio, Result, Time, Verdict};

use super::Set;
use super::density::ASSUMPTIONS;

/// [`ff_dbf`] and its source.
pub const FF_DBF: Method = Method {
    name: "G-EDF forced-forward demand test (FF-DBF)",
    source: "Baruah, Bonifaci, Marchetti-Spaccamela and Stiller, RTS 2010",
    assumptions: ASSUMPTIONS,
};

/// [`load`] and its source.
pub const LOAD: Method = Method {
    name: "G-EDF load test",
    source: "Baker and Baruah, RTS 2009, corollary 2",
    assumptions: ASSUMPTIONS,
};

/// The parts of one that speeds of [`ff_dbf`] are tried in.
const PARTS: i128 = 64;

/// The most that a task executes in a window, in parts, if its jobs run at a speed of at least `speed` parts before
/// they are due (forced-forward demand bound function).
fn forced(task: &Task, window: Time, speed: i128) -> i128 {
    let jobs = window.whole(task.period());
    let rest = window - task.period() * jobs;
    let cost = task.cost().nanos() * PARTS;
    let missing = (task.deadline() - rest).nanos().max(0) * speed;
    cost * jobs + (cost - missing).max(0)
}

/// There is a speed of at least the largest density such that all windows hold the demand that is forced forward by
/// jobs of that speed. Speeds are tried in 64ths.
///
/// # Errors
/// If the set has jitter or deadlines above periods, or the search does not end.
pub fn ff_dbf(tasks: &[Task], cores: usize) -> Result<Finding<Verdict>> {
    let set = Set::new(&FF_DBF, tasks, cores)?;
    let densest = set.densest() * Ratio::from_integer(PARTS.into());
    let least = densest.ceil().to_integer().to_i128().unwrap_or(PARTS + 1);
    let mut search = Search::of("the task set");
    for speed in least..=PARTS {
        if speed_suffices(&set, speed, &mut search)? {
            return Ok(FF_DBF.finds(Verdict::Holds));
        }
    }
    Ok(FF_DBF.finds(Verdict::Unknown))
}

fn speed_suffices(set: &Set<'_>, speed: i128, search: &mut Search<'_>) -> Result<bool> {
    // The demand is at most that of a straight line through all costs.
    let growth = set.cores * PARTS - (set.cores - 1) * speed;
    let left = Ratio::new(growth.into(), PARTS.into()) - set.utilisation();
    if left <= Ratio::zero() {
        return Ok(false);
    }
    let costs: Time = set.tasks.iter().map(Task::cost).sum();
    let last = Time::floor(&(costs.ratio() / left));
    // Between deadlines the demand grows faster and faster, so it is checked at deadlines.
    for task in set.tasks {
        for job in 0.. {
            let window = task.deadline() + task.period() * job;
            if window > last {
                break;
            }
            search.step(window)?;
            let demand: i128 = set
                .tasks
                .iter()
                .map(|task| forced(task, window, speed))
                .sum();
            if demand > growth * window.nanos() {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

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
    let shown = bound > Ratio::zero() && load_is_at_most(tasks, &bound)?;
    Ok(LOAD.finds(Verdict::if_shown(shown)))
}

/// Whether no window has more demand than this times its length.
fn load_is_at_most(tasks: &[Task], bound: &Ratio) -> Result<bool> {
    let rate = utilisation(tasks);
    // Demand is at most `rate * window + early`.
    let early = |task: &Task| (task.period() - task.deadline()).ratio() * task.utilisation();
    let early = tasks
        .iter()
        .map(early)
        .fold(Ratio::zero(), |sum, each| sum + each);
    let left = bound - rate;
    if early.is_zero() || left <= Ratio::zero() {
        return Ok(early.is_zero() && left >= Ratio::zero());
    }
    let mut search = Search::of("the task set");
    let mut end = Time::floor(&(early / left)) + Time::of(1);
    while let Some(window) = edf::last_deadline(tasks, end) {
        search.step(window)?;
        let demand = edf::demand(tasks, window);
        if demand.ratio() > bound * window.ratio() {
            return Ok(false);
        }
        // The bound of every window from `end` on suffices.
        end = Time::ceil(&(demand.ratio() / bound)).min(window);
    }
    Ok(true)
}
