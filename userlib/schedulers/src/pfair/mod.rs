//! Proportionate fairness on several cores, by quanta.
//!
//! Time is divided into quanta, numbered from 0. A task of weight `budget / period` gets its share not only in each period but,
//! up to less than one quantum, at any time (S. Baruah and others, Algorithmica, 1996). For that its quanta are *subtasks*,
//! each with a window from a pseudo-release to a pseudo-deadline. PD² runs those with the earliest pseudo-deadlines, and breaks
//! ties so that no set misses any whose weights fit on the cores (J. Anderson and A. Srinivasan, Journal of Computer and
//! System Sciences, 2004; A. Srinivasan and J. Anderson, STOC 2002, for subtasks that are left out, as after completed jobs,
//! and 2005, Journal of Systems and Software, for tasks that come and go).
//!
//! Windows may come later than periodically, but not earlier: then tasks are *sporadic* if their jobs are late, and
//! *intra-sporadic* if subtasks are (A. Srinivasan and J. Anderson, STOC 2002). All windows after a late one are as late.

mod quanta;
mod window;

use core::cmp::Reverse;

use crate::cluster::{Core, Error, Refusal};
use crate::fraction::Fraction;
use crate::queue::Queue;
use crate::task::{Arrivals, TaskId};
use crate::time::Duration;

pub use quanta::Quanta;
pub use window::Weight;

/// The weights of all tasks together would exceed the number of cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overload;

/// Decides which tasks run in each quantum.
///
/// A quantum takes O((r + `CORES`) log `TASKS` + `CORES`²) steps, for r pseudo-releases.
#[derive(Clone, Debug)]
pub struct Pfair<const CORES: usize, const TASKS: usize> {
    tasks: [Option<Entry>; TASKS],
    /// Tasks whose next subtask is not released, by its pseudo-release, and the others.
    waiting: Queue<u64, TASKS>,
    ready: Queue<Priority, TASKS>,
    /// The number of the next quantum, and what runs in the present one.
    now: u64,
    running: [Option<TaskId>; CORES],
    #[cfg(test)]
    pub(crate) fault: crate::tests::PfairFault,
}

/// The order of subtasks: the earliest pseudo-deadline; then the window that overlaps the next one (the b-bit), since that has
/// less room if this one's last quantum is used; then the longest cascade of such windows (the latest group deadline).
type Priority = (u64, Reverse<bool>, Reverse<u64>);

/// A task with its next subtask.
#[derive(Clone, Copy, Debug)]
struct Entry {
    weight: Weight,
    is_sporadic: bool,
    /// Whether the subtask's job has arrived; always if the task is periodic.
    has_job: bool,
    /// The thread waits: the subtask is not released.
    blocked: bool,
    /// The release of the subtask's job, the earliest possible one before it arrives, and its number in that, from 1.
    release: u64,
    subtask: u32,
    /// What the last quantum was for.
    given: Given,
    /// The core of the last quantum.
    last: Option<Core>,
    /// The quantum from which the weight is free if the task has left.
    free: u64,
    has_left: bool,
}

/// What a task's quantum is for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Given {
    /// The release of the job.
    pub(crate) release: u64,
    /// Whether it is the job's last one.
    pub(crate) is_last: bool,
}

impl<const CORES: usize, const TASKS: usize> Default for Pfair<CORES, TASKS> {
    fn default() -> Self {
        Self {
            tasks: [None; TASKS],
            waiting: Queue::default(),
            ready: Queue::default(),
            now: 0,
            running: [None; CORES],
            #[cfg(test)]
            fault: crate::tests::PfairFault::None,
        }
    }
}

impl<const CORES: usize, const TASKS: usize> Pfair<CORES, TASKS> {
    /// Adds a task. An offset counts in quanta from the next one. Weights are added up exactly while the sum fits in a
    /// fraction of 128 bits, and rounded up by less than 2^-60 for each task from then on.
    ///
    /// # Errors
    /// [`Refusal`]; of the weights if their sum would exceed the number of cores.
    pub fn add(&mut self, weight: Weight, arrivals: Arrivals) -> Result<TaskId, Refusal<Overload>> {
        if weight.budget == 0 || weight.budget > weight.period {
            let why = "a job needs at least one quantum, and at most all of its period";
            return Err(Refusal::Parameters(why));
        }
        for task in &mut self.tasks {
            *task = task.filter(|it| !it.has_left || it.free > self.now);
        }
        let weights = self.tasks.iter().flatten().map(|task| task.weight);
        let shares = weights.chain([weight]).map(|Weight { budget, period }| {
            Fraction::of(Duration(budget.into()), Duration(period.into()))
        });
        let free = self.tasks.iter().position(Option::is_none);
        let index = free.ok_or(Refusal::Full)?;
        if !shares
            .fold(Fraction::ZERO, Fraction::plus)
            .is_at_most(CORES)
        {
            return Err(Refusal::Admission(Overload));
        }
        let (is_sporadic, offset) = match arrivals {
            Arrivals::Periodic { offset } => (false, offset.0),
            Arrivals::Sporadic => (true, 0),
        };
        self.tasks[index] = Some(Entry {
            weight,
            is_sporadic,
            has_job: !is_sporadic,
            blocked: false,
            release: self.now.saturating_add(offset),
            subtask: 1,
            given: Given::default(),
            last: None,
            free: self.now,
            has_left: false,
        });
        let id = TaskId(index as u16);
        self.expect(id);
        Ok(id)
    }

    /// Removes a task. Returns the number of the quantum from which its weight is free for another: until then it may have had
    /// more than its share.
    ///
    /// # Errors
    /// [`Error::NoTask`].
    pub fn remove(&mut self, id: TaskId) -> Result<u64, Error> {
        let task = self.task(id)?;
        task.has_left = true;
        let free = task.free;
        self.waiting.remove(id);
        self.ready.remove(id);
        Ok(free)
    }

    /// A job of a sporadic task arrives. It is released with the next quantum, or when the period has passed since the last
    /// release.
    ///
    /// # Errors
    /// [`Error::NoTask`]; [`Error::IsPeriodic`]; [`Error::HasJob`] if the last job has not had its last quantum.
    pub fn arrive(&mut self, id: TaskId) -> Result<(), Error> {
        let now = self.now;
        let task = self.task(id)?;
        if !task.is_sporadic {
            return Err(Error::IsPeriodic);
        }
        if task.has_job {
            return Err(Error::HasJob);
        }
        task.has_job = true;
        task.release = task.release.max(now);
        self.expect(id);
        Ok(())
    }

    /// The job of a task is completed before it has had its whole budget: what is left of it is given up. It has no effect
    /// before the job's first quantum, and after its last.
    ///
    /// # Errors
    /// [`Error::NoTask`].
    pub fn complete(&mut self, id: TaskId) -> Result<(), Error> {
        let task = self.task(id)?;
        if task.subtask > 1 {
            task.end_job();
            self.expect(id);
        }
        Ok(())
    }

    /// The task's thread waits for something: the task gets no quanta from the next one on.
    ///
    /// # Errors
    /// [`Error::NoTask`].
    pub fn block(&mut self, id: TaskId) -> Result<(), Error> {
        self.task(id)?.blocked = true;
        self.expect(id);
        Ok(())
    }

    /// The thread can go on. A window that has begun meanwhile begins with the next quantum instead, and all later ones of the
    /// task are as much later: so the wait costs no other task its share.
    ///
    /// # Errors
    /// [`Error::NoTask`].
    pub fn unblock(&mut self, id: TaskId) -> Result<(), Error> {
        let now = self.now;
        #[cfg(test)]
        let has_shift = self.fault != crate::tests::PfairFault::NoShift;
        #[cfg(not(test))]
        let has_shift = true;
        let task = self.task(id)?;
        if core::mem::take(&mut task.blocked) {
            if task.has_job && has_shift {
                task.release += now.saturating_sub(task.next());
            }
            self.expect(id);
        }
        Ok(())
    }

    /// Whether the task's thread waits.
    pub(crate) fn is_blocked(&self, id: TaskId) -> bool {
        let task = self.tasks.get(id.index()).and_then(Option::as_ref);
        task.is_some_and(|task| task.blocked)
    }

    /// What the task's last quantum was for.
    pub(crate) fn given(&self, id: TaskId) -> Given {
        let task = self.tasks.get(id.index()).and_then(Option::as_ref);
        task.map_or(Given::default(), |task| task.given)
    }

    /// The number of the next quantum.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// A quantum begins: the task of each core. A task that continues keeps its core, one that comes back gets its last one
    /// if it can.
    pub fn quantum(&mut self) -> [Option<TaskId>; CORES] {
        while let Some((release, id)) = self.waiting.first()
            && release <= self.now
        {
            self.waiting.remove(id);
            if let Some(priority) = self.priority(id) {
                self.ready.set(id, priority);
            }
        }
        self.now += 1;
        let mut chosen = [None; CORES];
        for place in &mut chosen {
            let Some((_, id)) = self.ready.first() else {
                break;
            };
            self.ready.remove(id);
            *place = Some(id);
            if let Ok(task) = self.task(id) {
                task.advance();
                self.expect(id);
            }
        }
        self.running = self.place(chosen);
        self.running
    }

    /// The task's next subtask waits for its pseudo-release, if that is known.
    fn expect(&mut self, id: TaskId) {
        self.ready.remove(id);
        self.waiting.remove(id);
        if let Ok(task) = self.task(id)
            && task.has_job
            && !task.blocked
        {
            let next = task.next();
            self.waiting.set(id, next);
        }
    }

    /// Puts the tasks on cores.
    fn place(&mut self, mut chosen: [Option<TaskId>; CORES]) -> [Option<TaskId>; CORES] {
        let mut cores = [None; CORES];
        // First those that go on, then those that come back, then the rest.
        for step in 0..3 {
            for place in &mut chosen {
                let Some(id) = *place else {
                    continue;
                };
                let Some(task) = &mut self.tasks[id.index()] else {
                    continue;
                };
                let goes_on = |core: &Core| self.running[*core] == Some(id);
                let core = match step {
                    0 => task.last.filter(goes_on),
                    1 => task.last,
                    _ => cores.iter().position(Option::is_none),
                };
                if let Some(core) = core.filter(|core| cores[*core].is_none()) {
                    cores[core] = place.take();
                    task.last = Some(core);
                }
            }
        }
        cores
    }

    /// The priority of a task's next subtask.
    fn priority(&self, id: TaskId) -> Option<Priority> {
        let task = self.tasks[id.index()]?;
        let window = task.weight.window(task.subtask);
        let deadline = task.release + window.deadline;
        let group = task.release + window.group;
        #[cfg(test)]
        match self.fault {
            crate::tests::PfairFault::None | crate::tests::PfairFault::NoShift => {}
            crate::tests::PfairFault::NoBit => {
                return Some((deadline, Reverse(false), Reverse(0)));
            }
            crate::tests::PfairFault::NoGroup => {
                return Some((deadline, Reverse(window.overlaps), Reverse(0)));
            }
        }
        Some((deadline, Reverse(window.overlaps), Reverse(group)))
    }

    fn task(&mut self, id: TaskId) -> Result<&mut Entry, Error> {
        let entry = self.tasks.get_mut(id.index()).and_then(Option::as_mut);
        entry.filter(|it| !it.has_left).ok_or(Error::NoTask)
    }
}

impl Entry {
    /// The pseudo-release of the next subtask.
    fn next(&self) -> u64 {
        self.release
            .saturating_add(self.weight.window(self.subtask).release)
    }

    /// The subtask gets its quantum.
    fn advance(&mut self) {
        let window = self.weight.window(self.subtask);
        // Srinivasan and Anderson (2005), condition L.
        self.free = self.release
            + match window.group {
                0 => window.deadline + u64::from(window.overlaps),
                group => group,
            };
        self.given = Given {
            release: self.release,
            is_last: self.subtask == self.weight.budget,
        };
        match self.given.is_last {
            true => self.end_job(),
            false => self.subtask += 1,
        }
    }

    fn end_job(&mut self) {
        self.release += u64::from(self.weight.period);
        self.subtask = 1;
        self.has_job = !self.is_sporadic;
    }
}
