//! Time-driven tasks in turns that are given.

use crate::model::{Task, utilisation};
use crate::supply::parts_per_million;
use crate::{Error, Finding, Method, Ratio, Result, Time};

/// [`in_turns`] and its source.
pub const IN_TURNS: Method = Method {
    name: "time-driven tasks in given turns, by replay",
    source: "Horn, 1974 (EDF meets all deadlines in given turns if any order does)",
    assumptions: &[
        "jobs are released at the same times of every frame, and take their costs",
        "the guest runs its jobs in the order of their deadlines, or by a table with that order",
        "a switch takes its time from the turn that begins",
    ],
};

/// The most jobs of a frame.
const MOST_JOBS: i128 = 1 << 16;

/// Frames after which the replay is given up.
const MOST_FRAMES: i128 = 64;

/// A job that is released and not done.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Job {
    due: Time,
    task: usize,
    release: Time,
    left: Time,
}

/// The longest response time of each task in the turns of a table: how long each is, and whether it is the guest's.
/// The tasks' first period begins `phase` after the table.
///
/// # Errors
/// If the table does not fit the periods, or the guest gets too little in it.
pub fn in_turns(
    tasks: &[Task],
    phase: Time,
    turns: &[(Time, bool)],
    lost: Time,
) -> Result<Finding<Vec<Time>>> {
    let frame: Time = turns.iter().map(|turn| turn.0).sum();
    let complain = |why: String| Err(Error::impossible("time table", why));
    let is_phase = (Time::ZERO..=Time::LONGEST).contains(&phase);
    if frame <= Time::ZERO || frame > Time::LONGEST || !is_phase {
        return complain(format!(
            "a frame of {frame} with a phase of {phase} is impossible"
        ));
    }
    if let Some(task) = (tasks.iter()).find(|task| frame.nanos() % task.period().nanos() != 0) {
        return complain(format!(
            "its frame of {frame} is no multiple of the period of {} of task `{}`; lengthen turns, or choose periods that \
             divide the frame",
            task.period(),
            task.name()
        ));
    }
    let count: i128 = tasks.iter().map(|task| frame.whole(task.period())).sum();
    if count > MOST_JOBS {
        return complain(format!(
            "{count} jobs in a frame of {frame} are above {MOST_JOBS}"
        ));
    }
    let windows = windows(turns, lost);
    let own: Time = windows.iter().map(|(begin, end)| *end - *begin).sum();
    let (needed, supplied): (Ratio, Ratio) = (utilisation(tasks), own.over(frame));
    if needed > supplied {
        return Err(Error::Overload {
            what: "the tasks of the guest".into(),
            needed: parts_per_million(&needed).saturating_add(1),
            supplied: parts_per_million(&supplied),
        });
    }
    let mut longest = vec![Time::ZERO; tasks.len()];
    let mut open: Vec<Job> = Vec::new();
    for count in 0..MOST_FRAMES {
        // Times count from the start of the frame.
        let before = open.clone();
        let coming = releases(tasks, phase - frame * count, frame);
        run(&windows, coming, &mut open, &mut longest);
        for job in &mut open {
            job.due -= frame;
            job.release -= frame;
        }
        open.sort_unstable();
        if before == open && phase <= frame * count {
            return Ok(IN_TURNS.finds(longest));
        }
    }
    Err(Error::NotApplicable {
        method: IN_TURNS.name,
        why: format!(
            "the guest does not come to the same state in {MOST_FRAMES} frames; give it longer turns"
        ),
    })
}

/// Begin and end of what turns leave to the guest.
fn windows(turns: &[(Time, bool)], lost: Time) -> Vec<(Time, Time)> {
    let (mut at, mut before) = (Time::ZERO, false);
    let mut windows = Vec::new();
    for (length, is_own) in turns {
        let begin = if before { at } else { at + lost };
        at += *length;
        if *is_own && begin < at {
            windows.push((begin, at));
        }
        before = *is_own;
    }
    windows
}

/// The jobs of a frame, the last first. The first periods begin at `phase`, which may be long ago.
fn releases(tasks: &[Task], phase: Time, frame: Time) -> Vec<Job> {
    let mut jobs = Vec::new();
    for (place, task) in tasks.iter().enumerate() {
        let first = phase + task.parameters().offset;
        let passed = (Time::ZERO - first).covered_by(task.period()).max(0);
        let mut release = first + task.period() * passed;
        while release < frame {
            jobs.push(Job {
                due: release + task.deadline(),
                task: place,
                release,
                left: task.cost(),
            });
            release += task.period();
        }
    }
    jobs.sort_by_key(|job| std::cmp::Reverse((job.release, job.due)));
    jobs
}

/// Runs one frame.
fn run(windows: &[(Time, Time)], mut coming: Vec<Job>, open: &mut Vec<Job>, longest: &mut [Time]) {
    for (begin, end) in windows {
        let mut now = *begin;
        while now < *end {
            while let Some(job) = coming.pop_if(|job| job.release <= now) {
                open.push(job);
            }
            let next = coming.last().map_or(*end, |job| job.release.min(*end));
            let Some(first) = (0..open.len()).min_by_key(|place| open[*place]) else {
                now = next;
                continue;
            };
            let until = next.min(now + open[first].left);
            open[first].left -= until - now;
            now = until;
            if open[first].left == Time::ZERO {
                let job = open.swap_remove(first);
                longest[job.task] = longest[job.task].max(now - job.release);
            }
        }
    }
    open.extend(coming);
}
