//! The test that extends the window to the time before which a core was idle.

use crate::fault::{self, Fault};
use crate::model::Task;
use crate::search::Search;
use crate::{Finding, Method, Result, Time, Verdict};

use super::Set;
use super::density::ASSUMPTIONS;

/// [`bar`] and its source.
pub const BAR: Method = Method {
    name: "G-EDF test by Baruah (BAR)",
    source: "Baruah, RTSS 2007, with time in whole units as its author corrected it",
    assumptions: ASSUMPTIONS,
};

/// The execution of jobs that are released and due in a window.
fn due_in(task: &Task, window: Time) -> Time {
    let jobs = (window - task.deadline()).whole(task.period()) + 1;
    task.cost() * jobs.max(0)
}

/// The same, if a job that was released before brings work into it.
fn due_with_carry(task: &Task, window: Time) -> Time {
    let jobs = window.whole(task.period());
    task.cost() * jobs + (window - task.period() * jobs).min(task.cost())
}

/// For each task and each distance from the last time before its release at which a core was idle: the others cannot
/// keep all cores busy for more than the slack, though as many of them as there are cores less one bring work into the
/// window.
///
/// # Errors
/// If the set has jitter or deadlines above periods, or the search does not end.
pub fn bar(tasks: &[Task], cores: usize) -> Result<Finding<Verdict>> {
    let set = Set::new(&BAR, tasks, cores)?;
    let left = &set.capacity - set.utilisation();
    if left <= Time::ZERO.ratio() {
        return Ok(BAR.finds(Verdict::Unknown));
    }
    let mut search = Search::of("the task set");
    let mut costs: Vec<_> = tasks.iter().map(Task::cost).collect();
    costs.sort_unstable();
    let largest: Time = costs.iter().rev().take(cores - 1).copied().sum();
    let early = largest.ratio() + set.early();
    for (place, late) in tasks.iter().enumerate() {
        let bound = &early + (late.cost() * set.cores).ratio() - late.deadline().ratio() * &left;
        let last = Time::floor(&(bound / &left));
        // Both bounds of work grow at these distances only, or as fast as the window.
        for other in tasks {
            let first = other.deadline() - late.deadline();
            let earliest = (Time::ZERO - first).covered_by(other.period()).max(0);
            for job in earliest.. {
                let distance = first + other.period() * job;
                if distance > last {
                    break;
                }
                search.step(distance)?;
                if !fits(&set, place, distance) {
                    return Ok(BAR.finds(Verdict::Unknown));
                }
            }
        }
    }
    Ok(BAR.finds(Verdict::Holds))
}

/// Whether a job is in time that is released at this distance.
fn fits(set: &Set<'_>, place: usize, distance: Time) -> bool {
    let late = &set.tasks[place];
    let window = distance + late.deadline();
    let limit = |work: Time, task: usize| match task == place {
        true => (work - late.cost()).min(distance),
        false => work.min(window - late.cost() + Time::of(1)),
    };
    let mut sum = Time::ZERO;
    let mut carried = Vec::new();
    for (other, task) in set.tasks.iter().enumerate() {
        let without = limit(due_in(task, window), other);
        carried.push(limit(due_with_carry(task, window), other) - without);
        sum += without;
    }
    carried.sort_unstable();
    let most = carried.iter().rev().take(set.cores as usize - 1);
    sum + fault::unless(Fault::CarryInOfBar, most.copied().sum())
        <= (window - late.cost()) * set.cores
}
