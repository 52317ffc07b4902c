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
    /// The longest time from release to completion, in ticks; from the begin of jobs without a mark of their release.
    pub longest: u64,
    /// The release of each job that is not done, or its begin, by its number.
    since: BTreeMap<u64, u64>,
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
    for one in &trace.events {
        let event = &one.event;
        state.apply(event);
        let marked = mark(event).zip(state.thread(event.subject));
        let Some(((mark, task), thread)) = marked else {
            continue;
        };
        if matches!(mark, Mark::Number | Mark::Text) {
            continue;
        }
        let jobs = tasks.entry((thread, task)).or_default();
        match mark {
            Mark::Released | Mark::Begun => {
                jobs.since.entry(event.b).or_insert(event.time);
            }
            Mark::Done => {
                jobs.done += 1;
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
