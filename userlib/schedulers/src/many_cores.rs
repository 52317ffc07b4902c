//! Tests of global EDF on several cores.

use crate::admission::Admission;
use crate::fraction::Fraction;
use crate::task::Task;
use crate::time::Duration;

/// Two sufficient tests of preemptive EDF on any number of identical cores, between which jobs migrate; one of them
/// must succeed. In the first, a deadline after the period counts as the period; the second is for deadlines up to
/// periods. Budgets and deadlines are those of low mode; [`Charged`](crate::Charged) adds overheads.
///
/// By densities (J. Goossens, S. Funk and S. Baruah, Real-Time Systems, 2003; with deadlines before periods M. Bertogna
/// and others, ECRTS 2005): if the largest is d, those of all tasks are at most m - (m - 1) d in sum, on m cores.
///
/// By response times (M. Bertogna and M. Cirinei, RTSS 2007): a job has ended by a time at which the others cannot have kept
/// all cores busy for as long as the job had to wait. How long before their deadlines jobs end at the latest bounds in the
/// next round what they execute in the windows of others. Time is whole ticks.
#[derive(Clone, Copy, Debug)]
pub struct ManyCores;

/// Neither test of [`ManyCores`] succeeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotShown {
    /// The place of the first task, in the order of their numbers, whose jobs may have to wait for too long by the second
    /// test; the new task is the last.
    pub task: usize,
    /// How long they may have to wait; unlimited if their deadline is after the period.
    pub waits: Duration,
    /// How long they can wait.
    pub slack: Duration,
}

/// Rounds of the second test. What has been shown by then holds.
const ROUNDS: usize = 8;
/// Steps in which a response time is searched: interference can grow as fast as time.
const STEPS: u64 = 64;
/// The tasks of which a round remembers what was shown. Of the others it knows that they keep their deadlines.
const REMEMBERED: usize = 128;

impl Admission for ManyCores {
    type Reason = NotShown;

    fn test(
        &self,
        cores: usize,
        tasks: impl Iterator<Item = Task> + Clone,
    ) -> Result<(), NotShown> {
        if densities_fit(cores, tasks.clone()) {
            return Ok(());
        }
        let not_shown = |task, late: Task, waits| NotShown {
            task,
            waits,
            slack: constrained(late) - late.budget,
        };
        let mut all = tasks.clone().enumerate();
        if let Some((place, late)) = all.find(|(_, task)| task.low_deadline() > task.period) {
            return Err(not_shown(place, late, Duration::UNLIMITED));
        }
        // How long before their deadlines the jobs of each task end.
        let mut spare = [Duration(0); REMEMBERED];
        let mut result = Ok(());
        for _ in 0..ROUNDS {
            let mut is_better = false;
            result = Ok(());
            for (place, late) in tasks.clone().enumerate() {
                let others = tasks.clone().enumerate();
                let others = others.filter(|(other, _)| *other != place);
                let work = |window| {
                    let most = window - late.budget + Duration(1);
                    let work = others.clone().map(|(other, task)| {
                        let spare = spare.get(other).copied().unwrap_or_default();
                        let due = due_in(task, late.low_deadline(), spare);
                        executed_in(task, window, spare).min(due).min(most)
                    });
                    work.fold(Duration(0), |sum, work| sum + work)
                };
                match response(late, cores, work) {
                    Ok(response) => {
                        let left = late.low_deadline() - response;
                        if let Some(known) = spare.get_mut(place).filter(|known| **known < left) {
                            *known = left;
                            is_better = true;
                        }
                    }
                    Err(waits) => result = result.and(Err(not_shown(place, late, waits))),
                }
            }
            if result.is_ok() || !is_better {
                break;
            }
        }
        result
    }
}

/// A bound of the time from a job's release to its end, if it keeps its deadline; else how long it may have to wait. `work` is
/// what the others execute in a window from its release on.
fn response(
    late: Task,
    cores: usize,
    work: impl Fn(Duration) -> Duration,
) -> Result<Duration, Duration> {
    let deadline = late.low_deadline();
    let step = Duration(deadline.0 / STEPS);
    let mut end = late.budget;
    loop {
        let waits = Duration(work(end).0 / cores as u64);
        let later = late.budget + waits;
        if later > deadline {
            return Err(waits);
        }
        if later <= end {
            return Ok(end);
        }
        end = later.max((end + step).min(deadline));
    }
}

/// Whether the densities are small enough.
fn densities_fit(cores: usize, tasks: impl Iterator<Item = Task>) -> bool {
    let (mut sum, mut largest) = (Fraction::ZERO, Fraction::ZERO);
    for task in tasks {
        let density = Fraction::of(task.budget, constrained(task));
        sum = sum.plus(density);
        largest = largest.max(density);
    }
    for _ in 1..cores {
        sum = sum.plus(largest);
    }
    let share = Fraction::of(Duration(1), Duration(cores as u64));
    sum.times(share).is_at_most_one()
}

/// The most that a task executes with deadlines in the window of a job that ends with one of its own deadlines, if its jobs
/// end so long before them.
fn due_in(task: Task, window: Duration, spare: Duration) -> Duration {
    let (jobs, rest) = (window.0 / task.period.0, window.0 % task.period.0);
    let carried = (Duration(rest) - spare).min(task.budget);
    Duration(task.budget.0.saturating_mul(jobs)) + carried
}

/// The same in any window, with any deadlines.
fn executed_in(task: Task, window: Duration, spare: Duration) -> Duration {
    let reach = window + (task.low_deadline() - task.budget - spare);
    let (jobs, rest) = (reach.0 / task.period.0, reach.0 % task.period.0);
    Duration(task.budget.0.saturating_mul(jobs)) + Duration(rest).min(task.budget)
}

/// The deadline, if it is not after the period.
fn constrained(task: Task) -> Duration {
    task.low_deadline().min(task.period)
}
