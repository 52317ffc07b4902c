//! Who did what when: the record of a run.

use userlib::cap::SchedParameters;

/// What a thread is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It runs, on the time of this actor's scheduling context; `None` for a context of nobody here.
    Runs(Option<usize>),
    /// It could run, but others do.
    Ready,
    /// It wants to run and its budget is used up.
    Starved,
    /// It wants to run and has no scheduling context.
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
    /// The priority that it was made with.
    pub priority: u8,
    /// The time that it was made with; `None` for passive threads.
    pub time: Option<SchedParameters>,
    /// What it did from when on, in microseconds.
    pub changes: Vec<(u64, Status)>,
}

/// Something that happened at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// When, in microseconds.
    pub time: u64,
    /// To which thread; `None` for a device.
    pub actor: Option<usize>,
    /// What.
    pub text: String,
}

/// The record of a run.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The threads, in the order in which they were made.
    pub actors: Vec<Actor>,
    /// What happened, in order of time.
    pub marks: Vec<Mark>,
    /// The end of the record, in microseconds.
    pub end: u64,
    /// How often the kernel was entered.
    pub entries: u64,
}

impl History {
    /// The number of the thread of a name.
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

    /// What a thread did: spans of time, each with a status.
    pub fn spans(&self, actor: usize) -> impl Iterator<Item = (u64, u64, Status)> {
        let changes = &self.actors[actor].changes;
        let ends = changes.iter().skip(1).map(|(time, _)| *time);
        (changes.iter().zip(ends.chain([self.end])))
            .map(|((start, status), end)| (*start, end, *status))
    }

    /// For how long a thread was in a status, between two moments.
    pub fn total(&self, actor: usize, from: u64, to: u64, is: impl Fn(Status) -> bool) -> u64 {
        (self.spans(actor))
            .filter(|(.., status)| is(*status))
            .map(|(start, end, _)| end.min(to).saturating_sub(start.max(from)))
            .sum()
    }

    /// For how long a thread ran, on whosever time.
    pub fn ran(&self, name: &str) -> u64 {
        let runs = |status| matches!(status, Status::Runs(_));
        self.total(self.actor(name), 0, self.end, runs)
    }

    /// How much of the time that `payer` was made with was used, by whomever.
    pub fn paid(&self, payer: &str) -> u64 {
        let payer = Some(self.actor(payer));
        (0..self.actors.len())
            .map(|actor| self.total(actor, 0, self.end, |status| status == Status::Runs(payer)))
            .sum()
    }
}

impl Actor {
    /// Notes what it does from a moment on.
    pub(crate) fn set(&mut self, now: u64, status: Status) {
        match self.changes.last_mut() {
            Some((_, last)) if *last == status => {}
            // What lasted no time is not worth a line.
            Some((time, last)) if *time == now => {
                *last = status;
                if let [.., (_, before), (_, last)] = &*self.changes
                    && before == last
                {
                    self.changes.pop();
                }
            }
            _ => self.changes.push((now, status)),
        }
    }
}
