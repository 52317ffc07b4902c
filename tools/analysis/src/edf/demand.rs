//! Demand against supply.

use crate::fault::{self, Fault};
use crate::model::{Task, utilisation};
use crate::search::Search;
use crate::supply::Supply;
use crate::{Error, Finding, Method, Result, Time, Verdict};

/// [`schedulable`] and its sources.
pub const DEMAND: Method = Method {
    name: "processor demand, by quick convergence (QPA)",
    source: "Baruah, Rosier and Howell, RTS 1990; Zhang and Burns, IEEE ToC 2009; Spuri, INRIA 1996 (jitter); Baker, \
             RTS 1991 (critical sections); Shin and Lee, RTSS 2003 (supply)",
    assumptions: &[
        "one processor, jobs in order of their absolute deadlines",
        "jobs do not wait for anything between release and end",
        "critical sections follow the stack resource policy",
        "arrivals may coincide in the worst way (offsets are not used); exact for sporadic tasks on a whole processor \
         without critical sections, sufficient otherwise",
    ],
};

/// A critical section, or a request to a server, that a task with a short deadline can have to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// The place of the task that executes it.
    pub by: usize,
    /// For how long.
    pub length: Time,
    /// It blocks tasks whose relative deadline is at least this: the shortest of those that use the resource.
    pub ceiling: Time,
}

/// A window in which the demand is above the supply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// Its length.
    pub window: Time,
    /// The demand of jobs that arrive and have their deadline in it, with blocking.
    pub demand: Time,
    /// The supply.
    pub supply: Time,
}

/// By when a job must be done, counted from its latest release.
fn urgency(task: &Task) -> Time {
    task.deadline() - fault::unless(Fault::ShorterDeadlines, task.jitter())
}

/// The most execution that must be done in a window: that of jobs released and due in it (demand bound function).
pub fn demand(tasks: &[Task], window: Time) -> Time {
    let of = |task: &Task| {
        let jobs = (window - urgency(task)).whole(task.period()) + fault::unless(Fault::LastJob, 1);
        task.cost() * jobs.max(0)
    };
    tasks.iter().map(of).sum()
}

/// The last deadline before `end`, which is the end of a window in which the demand grows.
pub(crate) fn last_deadline(tasks: &[Task], end: Time) -> Option<Time> {
    let of = |task: &Task| {
        let before = end - Time::of(1) - urgency(task);
        let jobs = before.whole(task.period());
        (jobs >= 0).then(|| urgency(task) + task.period() * jobs)
    };
    tasks.iter().filter_map(of).max()
}

/// The longest window in which the processor is busy.
pub(super) fn busy_window(
    tasks: &[Task],
    supply: &dyn Supply,
    search: &mut Search<'_>,
) -> Result<Time> {
    let rate = utilisation(tasks);
    search.must_end(&rate, Time::ZERO, supply)?;
    let released = |window: Time| -> Time {
        let of = |task: &Task| task.cost() * (window + task.jitter()).covered_by(task.period());
        tasks.iter().map(of).sum()
    };
    let start = tasks.iter().map(Task::cost).sum();
    search.fixed_point(start, |window| supply.window_for(released(window)))
}

/// The most that a window of this length is blocked, by a section of a task that is due later.
fn blocked(tasks: &[Task], sections: &[Section], window: Time) -> Time {
    let blocks =
        |section: &&Section| urgency(&tasks[section.by]) > window && section.ceiling <= window;
    let lengths = sections.iter().filter(blocks).map(|section| section.length);
    fault::unless(Fault::Sections, lengths.max().unwrap_or_default())
}

/// The longest window with more demand than supply, or none: the longest first, because that is how the search goes.
///
/// # Errors
/// If the utilisation is above the supply, the search does not end, or a section names no task.
pub fn first_misfit(
    tasks: &[Task],
    sections: &[Section],
    supply: &dyn Supply,
) -> Result<Option<Misfit>> {
    if let Some(section) = sections.iter().find(|section| section.by >= tasks.len()) {
        let why = format!(
            "a critical section names task {}, which does not exist",
            section.by
        );
        return Err(Error::impossible("the task set", why));
    }
    let mut search = Search::of("the task set");
    // Without blocking, a deadline is missed in the longest busy window or not at all. With blocking, a later deadline
    // than the window's exists, so that only shorter windows count.
    let busy = busy_window(tasks, supply, &mut search)?;
    let latest = sections
        .iter()
        .map(|section| urgency(&tasks[section.by]))
        .max();
    let end = busy.max(latest.unwrap_or_default()) + Time::of(1);
    // Blocking changes at these lengths only. Between two of them demand and blocking never decrease with the window,
    // so a window for which the supply of a shorter one suffices can be skipped.
    let changes = sections
        .iter()
        .flat_map(|section| [urgency(&tasks[section.by]), section.ceiling]);
    let mut pieces: Vec<_> = changes.filter(|change| *change < end).collect();
    pieces.extend([Time::ZERO, end]);
    pieces.sort_unstable();
    pieces.dedup();
    for piece in pieces.windows(2).rev() {
        let [from, to] = [piece[0], piece[1]];
        let blocking = blocked(tasks, sections, from);
        let mut at = last_deadline(tasks, to).filter(|at| *at >= from);
        while let Some(window) = at {
            search.step(window)?;
            let needed = demand(tasks, window) + blocking;
            let supplied = supply.in_window(window);
            if needed > supplied {
                return Ok(Some(Misfit {
                    window,
                    demand: needed,
                    supply: supplied,
                }));
            }
            // The supply of every window from `enough` on suffices; it is not known to in shorter ones.
            let enough = supply.window_for(needed);
            at = last_deadline(tasks, enough).filter(|at| *at >= from);
        }
    }
    Ok(None)
}

/// Whether all deadlines hold.
///
/// # Errors
/// If a section names no task. An overload is [`Verdict::Fails`], and a search without end [`Verdict::Unknown`].
pub fn schedulable(
    tasks: &[Task],
    sections: &[Section],
    supply: &dyn Supply,
) -> Result<Finding<Verdict>> {
    let verdict = match first_misfit(tasks, sections, supply) {
        Ok(None) => Verdict::Holds,
        Ok(Some(_)) | Err(Error::Overload { .. }) => Verdict::Fails,
        Err(Error::NotFound { .. }) => Verdict::Unknown,
        Err(error) => return Err(error),
    };
    Ok(DEMAND.finds(verdict))
}
