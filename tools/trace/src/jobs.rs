//! Jobs, as programs mark them.

use std::collections::BTreeMap;

use trace_format::{Event, Kind, Mark};

use crate::gaps::Numbers;
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
    /// Without a mark of its release, or of how long ago that was, a job counts from the time at which its thread could
    /// run again after the job before: it was woken, or its last replenishment was due. So a job that was released while
    /// the one before was late, or whose budget ended before its begin, seems shorter than it was. The first job of a task
    /// counts from its begin.
    pub longest: u64,
    /// The jobs that are done, each from its release to its end.
    pub responses: Vec<(u64, u64)>,
    /// The release of each job that is not done, by its number, and whether it was marked.
    since: BTreeMap<u64, (u64, bool)>,
    /// The completion of the last job.
    last_done: Option<u64>,
    /// The release of the job that begins next, from how long ago its thread has said that it was.
    next: Option<u64>,
}

impl Jobs {
    /// The release of a job that begins at `begun`, while its thread can run since `ready`.
    fn release(&mut self, begun: u64, ready: Option<u64>) -> u64 {
        if let Some(next) = self.next.take() {
            return next;
        }
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
    let mut numbers = Numbers::default();
    for one in &trace.events {
        let event = &one.event;
        if let Some(gap) = numbers.gap_before(one) {
            // When threads could run, and when jobs ended, is known from here on. Numbers of jobs tell them apart.
            state.forget(gap.core, event.time);
            ready.clear();
            for jobs in tasks.values_mut() {
                (jobs.last_done, jobs.next) = (None, None);
            }
        }
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
                jobs.since.insert(event.b, (event.time, true));
            }
            Mark::Begun => {
                let release = jobs.release(event.time, ready.get(&thread).copied());
                // One that was begun before by a component that has started again is another job.
                let since = jobs.since.entry(event.b).or_insert((release, false));
                if !since.1 {
                    since.0 = release;
                }
            }
            Mark::Done => {
                jobs.done += 1;
                jobs.last_done = Some(event.time);
                let since = jobs.since.remove(&event.b);
                if let Some((since, _)) = since {
                    let since = since.min(event.time);
                    jobs.longest = jobs.longest.max(event.time - since);
                    jobs.responses.push((since, event.time));
                }
            }
            Mark::Missed => jobs.missed += 1,
            Mark::Late => jobs.next = Some(event.time.saturating_sub(trace.ticks(event.b))),
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
