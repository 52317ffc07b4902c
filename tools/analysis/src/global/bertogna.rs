//! Tests that bound the interference in the window of one job.

use num_traits::{One, Zero};

use crate::fault::{self, Fault};
use crate::model::Task;
use crate::search::Search;
use crate::{Finding, Method, Ratio, Result, Time, Verdict};

use super::Set;
use super::density::ASSUMPTIONS;

/// [`bcl`] and its source.
pub const BCL: Method = Method {
    name: "G-EDF interference test (BCL)",
    source: "Bertogna, Cirinei and Lipari, ECRTS 2005",
    assumptions: ASSUMPTIONS,
};

/// [`bcl_iterative`] and its source.
pub const BCL_ITERATIVE: Method = Method {
    name: "G-EDF interference test with slacks (BCL iterative)",
    source: "Bertogna, Cirinei and Lipari, IEEE TPDS 2009",
    assumptions: ASSUMPTIONS,
};

/// [`response_times`] and its source.
pub const RESPONSE_TIME: Method = Method {
    name: "G-EDF response times (RTA)",
    source: "Bertogna and Cirinei, RTSS 2007",
    assumptions: ASSUMPTIONS,
};

/// The other tasks of a set.
fn others(tasks: &[Task], place: usize) -> impl Iterator<Item = (usize, &Task)> {
    let all = tasks.iter().enumerate();
    all.filter(move |(other, _)| *other != place)
}

/// A job can miss its deadline only if the others keep all cores busy for more than its slack, and each of them counts
/// for no more than that.
///
/// # Errors
/// If the set has jitter or deadlines above periods.
pub fn bcl(tasks: &[Task], cores: usize) -> Result<Finding<Verdict>> {
    let set = Set::new(&BCL, tasks, cores)?;
    let fits = |place: usize| {
        let late = &tasks[place];
        let free = Ratio::one() - late.density();
        let allowed = &set.capacity * &free;
        let mut sum = Ratio::zero();
        let mut below = false;
        for (_, task) in others(tasks, place) {
            let jobs = (late.deadline() - task.deadline()).whole(task.period()) + 1;
            let carried = late.deadline() - task.period() * jobs;
            let work = task.cost() * jobs + carried.max(Time::ZERO).min(task.cost());
            let share = work.over(late.deadline());
            below |= share > Ratio::zero() && share <= free;
            sum += share.min(free.clone());
        }
        sum < allowed || sum == allowed && below
    };
    let shown = (0..tasks.len()).all(fits);
    Ok(BCL.finds(Verdict::if_shown(shown)))
}

/// The most that a task executes with deadlines in the window of a job that ends with one of its own, if its jobs end
/// `slack` before their deadlines.
fn due_in(task: &Task, window: Time, slack: Time) -> Time {
    let jobs = window.whole(task.period());
    let rest = window - task.period() * jobs - slack;
    task.cost() * jobs + fault::unless(Fault::CarryIn, rest.max(Time::ZERO).min(task.cost()))
}

/// The most that a task executes in any window, if its jobs end `slack` before their deadlines.
fn executed_in(task: &Task, window: Time, slack: Time) -> Time {
    let reach = window + task.deadline() - task.cost() - slack;
    let jobs = reach.whole(task.period());
    task.cost() * jobs + (reach - task.period() * jobs).min(task.cost())
}

/// Rounds of the iterative tests. What has been shown by then holds.
const ROUNDS: u32 = 200;

/// Repeats [`bcl`] with the slack that each round shows for each task.
///
/// # Errors
/// If the set has jitter or deadlines above periods.
pub fn bcl_iterative(tasks: &[Task], cores: usize) -> Result<Finding<Verdict>> {
    let set = Set::new(&BCL_ITERATIVE, tasks, cores)?;
    let mut slacks = vec![Time::ZERO; tasks.len()];
    for _ in 0..ROUNDS {
        let mut shown = true;
        let mut better = false;
        for (place, late) in tasks.iter().enumerate() {
            // One nanosecond more than the slack makes the deadline be missed.
            let most = late.deadline() - late.cost() + Time::of(1);
            let work: Time = others(tasks, place)
                .map(|(other, task)| due_in(task, late.deadline(), slacks[other]).min(most))
                .sum();
            let slack = late.deadline() - late.cost() - work.on_all(set.cores);
            shown &= slack >= Time::ZERO;
            better |= slack > slacks[place];
            slacks[place] = slacks[place].max(slack);
        }
        if shown {
            return Ok(BCL_ITERATIVE.finds(Verdict::Holds));
        }
        if !better {
            break;
        }
    }
    Ok(BCL_ITERATIVE.finds(Verdict::Unknown))
}

/// Bounds of all response times, or none if a bound is above its deadline.
///
/// A bound is a time at which the interference up to then leaves enough for the job. The search for it goes in steps of
/// at least 1/4096 of the deadline, because interference can grow as fast as time; so a bound can be larger than the
/// least by that.
///
/// # Errors
/// If the set has jitter or deadlines above periods, or the search does not end.
pub fn response_times(tasks: &[Task], cores: usize) -> Result<Finding<Option<Vec<Time>>>> {
    let set = Set::new(&RESPONSE_TIME, tasks, cores)?;
    let mut search = Search::of("the task set");
    let mut slacks = vec![Time::ZERO; tasks.len()];
    let mut shown = false;
    for _ in 0..ROUNDS {
        shown = true;
        let mut better = false;
        for (place, late) in tasks.iter().enumerate() {
            let deadline = late.deadline();
            let step = Time::of(deadline.nanos() / 4096);
            let end = search.fixed_point(late.cost(), |end| {
                let most = end - late.cost() + Time::of(1);
                let work: Time = others(tasks, place)
                    .map(|(other, task)| {
                        let slack = slacks[other];
                        let due = due_in(task, deadline, slack);
                        executed_in(task, end, slack).min(due).min(most)
                    })
                    .sum();
                match (late.cost() + work.on_all(set.cores)).min(deadline + Time::of(1)) {
                    later if later > end => later.max((end + step).min(deadline)),
                    enough => enough,
                }
            })?;
            let slack = deadline - end;
            shown &= slack >= Time::ZERO;
            better |= slack > slacks[place];
            slacks[place] = slacks[place].max(slack);
        }
        if !better {
            break;
        }
    }
    let times = tasks.iter().zip(&slacks);
    let times = times
        .map(|(task, slack)| task.deadline() - *slack)
        .collect();
    Ok(RESPONSE_TIME.finds(shown.then_some(times)))
}

/// Whether [`response_times`] bounds all of them by their deadlines.
///
/// # Errors
/// As for that.
pub fn rta(tasks: &[Task], cores: usize) -> Result<Finding<Verdict>> {
    let found = response_times(tasks, cores)?;
    Ok(RESPONSE_TIME.finds(Verdict::if_shown(found.value.is_some())))
}

impl Time {
    /// This much work on all cores at once.
    fn on_all(self, cores: i128) -> Self {
        Self::of(self.nanos().div_euclid(cores))
    }
}
