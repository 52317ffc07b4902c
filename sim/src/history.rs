//! The record of a run: the status of every thread over time.

use trace::record;
use userlib::cap::SchedParameters;

/// The status of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It runs, on the scheduling context of this actor; `None` for a context that belongs to no
    /// actor.
    Runs(Option<usize>),
    /// It is ready, but another thread runs.
    Ready,
    /// It is runnable, but its budget is used up.
    Starved,
    /// It is runnable, but has no scheduling context.
    Timeless,
    /// It waits for another thread or for a signal.
    Blocked,
    /// It is suspended, or has ended.
    Stopped,
}

/// A thread of the record.
#[derive(Clone, Debug)]
pub struct Actor {
    /// Its name.
    pub name: String,
    /// Its initial priority.
    pub priority: u8,
    /// Its initial scheduling parameters; `None` for passive threads.
    pub time: Option<SchedParameters>,
    /// Each change of status, with its time in microseconds.
    pub changes: Vec<(u64, Status)>,
    /// Its jobs, in their order.
    pub jobs: Vec<Job>,
    /// The times at which its time was used up before its job or its request was done, whichever thread ran on it.
    pub used_up: Vec<u64>,
    /// Whether the next change to a status in which it can run begins a job.
    pub(crate) waits: bool,
    /// Whether it has ended a job, or waited, before.
    pub(crate) has_begun: bool,
}

/// A job: from the time at which a thread can run until it yields, or waits for a message or a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// When it could begin, in microseconds.
    pub released: u64,
    /// When it was done, if it was.
    pub done: Option<u64>,
}

/// An event at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The time, in microseconds.
    pub time: u64,
    /// The thread concerned; `None` for a device.
    pub actor: Option<usize>,
    /// A description.
    pub text: String,
}

/// The record of a run.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The threads, in the order in which they were made.
    pub actors: Vec<Actor>,
    /// The events, in order of time.
    pub marks: Vec<Mark>,
    /// The end of the record, in microseconds.
    pub end: u64,
    /// The number of cores.
    pub cores: usize,
    /// Number of kernel entries.
    pub entries: u64,
}

impl History {
    /// The index of the thread with a name.
    ///
    /// # Panics
    /// If there is none.
    pub fn actor(&self, name: &str) -> usize {
        let found = self.actors.iter().position(|actor| actor.name == name);
        found.unwrap_or_else(|| panic!("no thread is named {name}"))
    }

    /// The notes of a thread, with their times.
    pub fn notes(&self, name: &str) -> impl Iterator<Item = (u64, &str)> {
        let actor = Some(self.actor(name));
        (self.marks.iter())
            .filter(move |mark| mark.actor == actor)
            .map(|mark| (mark.time, mark.text.as_str()))
    }

    /// The spans of time of a thread, each with a status.
    pub fn spans(&self, actor: usize) -> impl Iterator<Item = (u64, u64, Status)> {
        let changes = &self.actors[actor].changes;
        let ends = changes.iter().skip(1).map(|(time, _)| *time);
        (changes.iter().zip(ends.chain([self.end])))
            .map(|((start, status), end)| (*start, end, *status))
    }

    /// For how long a thread had a status between two times.
    pub fn total(&self, actor: usize, from: u64, to: u64, is: impl Fn(Status) -> bool) -> u64 {
        (self.spans(actor))
            .filter(|(.., status)| is(*status))
            .map(|(start, end, _)| end.min(to).saturating_sub(start.max(from)))
            .sum()
    }

    /// For how long a thread ran, on any scheduling context.
    pub fn ran(&self, name: &str) -> u64 {
        let runs = |status| matches!(status, Status::Runs(_));
        self.total(self.actor(name), 0, self.end, runs)
    }

    /// How much of the budget of the actor `owner` was used, by any thread.
    pub fn paid(&self, owner: &str) -> u64 {
        let owner = Some(self.actor(owner));
        (0..self.actors.len())
            .map(|actor| self.total(actor, 0, self.end, |status| status == Status::Runs(owner)))
            .sum()
    }
}

impl Actor {
    /// Records its status from a time on.
    pub(crate) fn set(&mut self, now: u64, status: Status) {
        record(&mut self.changes, now, status);
        if self.waits && matches!(status, Status::Runs(_) | Status::Ready) {
            self.waits = false;
            self.begin_job(now);
        }
    }

    /// Its last status.
    pub(crate) fn status(&self) -> Option<Status> {
        self.changes.last().map(|(_, status)| *status)
    }

    /// Begins a job; one that was not done never will be.
    pub(crate) fn begin_job(&mut self, now: u64) {
        self.jobs.push(Job {
            released: now,
            done: None,
        });
    }

    /// Ends its job, because it yields or waits. What a thread does before it waits for its first message or signal is
    /// no job.
    pub(crate) fn end_job(&mut self, now: u64, yields: bool) {
        self.waits = true;
        let has_begun = std::mem::replace(&mut self.has_begun, true);
        if !yields && !has_begun {
            self.jobs.clear();
        } else if let Some(job) = self.jobs.last_mut() {
            job.done = Some(now);
        }
    }
}
