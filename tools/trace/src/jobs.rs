//! Jobs, as programs mark them.

use std::collections::BTreeMap;

use trace_format::{Event, Kind, Mark};

use crate::{State, ThreadKey, Trace};

/// The jobs of a task of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Jobs {
    /// The name of the thread.
    pub thread: String,
    /// The number of the task.
    pub task: u32,
    /// The number of jobs that are done.
    pub done: u64,
    /// The number of jobs that missed their deadlines.
    pub missed: u64,
    /// The longest time from release to completion, in ticks.
    ///
    /// Without a mark of its release, a job counts from the time at which its thread could run again after the job
    /// before: it was woken, or its replenishment was due. The first job of a task counts from its begin.
    pub longest: u64,
    /// The release of each job that is not done, by its number.
    since: BTreeMap<u64, u64>,
    /// The completion of the last job.
    last_done: Option<u64>,
}

impl Jobs {
    /// The release of a job that begins at `begun`, while its thread can run since `ready`.
    fn release(&self, begun: u64, ready: Option<u64>) -> u64 {
        let release = self
            .last_done
            .zip(ready)
            .map(|(done, ready)| ready.max(done));
        release.filter(|release| *release <= begun).unwrap_or(begun)
    }
}

/// The mark in a [`Kind::Marked`] event: what, and of which task.
pub(crate) fn mark(event: &Event) -> Option<(Mark, u32)> {
    (event.kind() == Some(Kind::Marked))
        .then(|| Some((Mark::from_number(event.a >> 32)?, event.a as u32)))
        .flatten()
}

/// All tasks of which there are marks.
pub fn jobs(trace: &Trace) -> Vec<Jobs> {
    let mut state = State::default();
    let mut tasks: BTreeMap<(ThreadKey, u32), Jobs> = BTreeMap::new();
    // The time since which each thread can run, or at which it can run again.
    let mut ready: BTreeMap<ThreadKey, u64> = BTreeMap::new();
    for one in &trace.events {
        let event = &one.event;
        state.apply(event);
        let Some(thread) = state.thread(event.subject) else {
            continue;
        };
        match event.kind() {
            Some(Kind::Woken) => _ = ready.insert(thread, event.time),
            Some(Kind::Postponed) => _ = ready.insert(thread, event.a),
            _ => {}
        }
        let Some((mark, task)) = mark(event) else {
            continue;
        };
        if matches!(mark, Mark::Number | Mark::Text) {
            continue;
        }
        let jobs = tasks.entry((thread, task)).or_default();
        match mark {
            Mark::Released => {
                jobs.since.entry(event.b).or_insert(event.time);
            }
            Mark::Begun => {
                let release = jobs.release(event.time, ready.get(&thread).copied());
                jobs.since.entry(event.b).or_insert(release);
            }
            Mark::Done => {
                jobs.done += 1;
                jobs.last_done = Some(event.time);
                let since = jobs.since.remove(&event.b);
                let taken = since.map_or(0, |since| event.time - since);
                jobs.longest = jobs.longest.max(taken);
            }
            Mark::Missed => jobs.missed += 1,
            Mark::Number | Mark::Text => {}
        }
    }
    tasks
        .into_iter()
        .map(|((thread, task), jobs)| Jobs {
            thread: state.thread_name(thread, &trace.names),
            task,
            ..jobs
        })
        .collect()
}
