//! Tests that compare densities.

use num_traits::{One, Zero};

use crate::model::Task;
use crate::{Finding, Method, Ratio, Result, Verdict};

use super::Set;

/// [`gfb`] and its source.
pub const GFB: Method = Method {
    name: "G-EDF density test (GFB)",
    source: "Goossens, Funk and Baruah, RTS 2003; Bertogna, Cirinei and Lipari, ECRTS 2005 (constrained deadlines)",
    assumptions: ASSUMPTIONS,
};

/// [`bak`] and its source.
pub const BAK: Method = Method {
    name: "G-EDF test by Baker (BAK)",
    source: "Baker, RTSS 2003",
    assumptions: ASSUMPTIONS,
};

/// What all tests of this module assume.
pub(super) const ASSUMPTIONS: &[&str] = &[
    "identical cores, preemption and migration at any time, overheads are in the costs",
    "deadlines are not above periods, and there is no jitter",
    "jobs do not wait for anything between release and end",
];

/// The densities, in sum, are at most `m - (m - 1) d`, where `d` is the largest.
///
/// # Errors
/// If the set has jitter or deadlines above periods.
pub fn gfb(tasks: &[Task], cores: usize) -> Result<Finding<Verdict>> {
    let set = Set::new(&GFB, tasks, cores)?;
    let densities = tasks.iter().map(Task::density);
    let sum = densities.fold(Ratio::zero(), |sum, density| sum + density);
    let shown = sum <= set.beside(&set.densest());
    Ok(GFB.finds(Verdict::if_shown(shown)))
}

/// For each task, bounds the load of the longest window before a missed deadline in which the others could keep all
/// cores busy often enough.
///
/// # Errors
/// If the set has jitter or deadlines above periods.
pub fn bak(tasks: &[Task], cores: usize) -> Result<Finding<Verdict>> {
    let set = Set::new(&BAK, tasks, cores)?;
    let fits = |late: &Task| {
        let density = late.density();
        let load = |task: &Task| {
            let rate = task.utilisation();
            let early = (task.period() - task.deadline()).over(late.deadline());
            let mut load = &rate * (Ratio::one() + early);
            if rate > density {
                // A job that began before the window brings work with it.
                let carried = task.cost().ratio() - &density * task.period().ratio();
                load += carried / late.deadline().ratio();
            }
            load.min(Ratio::one())
        };
        let loads = tasks
            .iter()
            .map(load)
            .fold(Ratio::zero(), |sum, load| sum + load);
        loads <= set.beside(&density)
    };
    Ok(BAK.finds(Verdict::if_shown(tasks.iter().all(fits))))
}
