//! Link-based scheduling of a cluster of cores (B. Brandenburg, PhD thesis, UNC 2011; S. Holzapfel, BE
//! thesis, UNSW 2018).
//!
//! A job is *linked* to the core on which it should run, and *scheduled* on the core on which it runs. Events
//! change links and queues only. [`Cluster::decide`] then links the jobs with the earliest deadlines, and
//! returns an action for each core where link and schedule differ: so several events at one instant cost each
//! core at most one action, and a core whose next job is known is never made idle in between.

#[cfg(test)]
mod faults;
mod links;
mod modes;

use crate::admission::Admission;
use crate::queue::Queue;
use crate::task::{Arrivals, Overrun, Task, TaskId};
use crate::time::{Duration, Instant};

pub use modes::{LowTasks, Mode};

/// The number of a core in its cluster. The scheduler's own is 0.
pub type Core = usize;

/// What the program around the cluster carries out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The core runs the task's job from now on, instead of what it ran. The job runs on no other core.
    Dispatch {
        /// The core.
        core: Core,
        /// The task.
        task: TaskId,
    },
    /// The core stops running its job and runs none.
    Idle {
        /// The core.
        core: Core,
    },
    /// A job has used its budget; its task's [`Overrun`] is applied.
    Overrun {
        /// The task.
        task: TaskId,
    },
    /// A job has ended, or an arrival is dropped, without completion. The thread must be restarted before the
    /// task is dispatched again.
    Aborted {
        /// The task.
        task: TaskId,
    },
    /// The cluster has switched to this mode.
    Switched(Mode),
}

/// Why an event is refused. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// No task of the cluster has this number.
    NoTask,
    /// The task has no job.
    NoJob,
    /// The task has a job already, or a release to come; the arrival should be reported again afterwards.
    HasJob,
    /// The task is periodic: its jobs are released by time.
    IsPeriodic,
    /// Low tasks are stopped in high mode.
    Stopped,
    /// The policy has no such thing: quanta are neither extended by non-preemptible sections, nor ordered by deadlines that
    /// jobs choose.
    NotHere,
}

/// Why a task is not added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal<R> {
    /// The cluster has as many tasks as it can hold.
    Full,
    /// No cluster can schedule this task: why.
    Parameters(&'static str),
    /// The admission test refuses the set with this task: its reason.
    Admission(R),
}

/// A completed job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The time since the release.
    pub response: Duration,
    /// The time since the deadline; zero if it is kept.
    pub late: Duration,
}

/// A task with its job, if one is released and not completed.
#[derive(Clone, Debug)]
struct Entry {
    task: Task,
    /// The next release; the earliest possible one if the task is sporadic.
    next: Instant,
    job: Option<Job>,
    /// The core on which the last job ran.
    last: Core,
    overruns: u32,
}

#[derive(Clone, Debug)]
struct Job {
    release: Instant,
    /// The deadline that it must keep.
    deadline: Instant,
    /// The deadline by which it is scheduled.
    effective: Instant,
    /// What is left of its budget, while it does not run.
    remaining: Duration,
    blocked: bool,
    non_preemptible: bool,
}

impl Entry {
    /// Leaves out the releases before `now`.
    fn drop_releases(&mut self, now: Instant) {
        let period = self.task.period.0;
        let missed = (now - self.next).0.div_ceil(period);
        self.next = self.next + Duration(missed * period);
    }

    /// Takes the job, which ends. Releases that passed while it was in the background are left out: their deadlines would be
    /// too early for what the other tasks expect. A sporadic task has none that it could have missed.
    #[inline]
    fn end_job(&mut self, now: Instant) -> Option<Job> {
        let job = self.job.take()?;
        if job.effective == Instant::NEVER && self.task.arrivals != Arrivals::Sporadic {
            self.drop_releases(now);
        }
        Some(job)
    }

    /// The next release, if it is known.
    fn next_release(&self) -> Option<Instant> {
        (self.task.arrivals != Arrivals::Sporadic).then_some(self.next)
    }
}

/// A core: all that a decision needs of the jobs linked to it and scheduled on it.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// The linked job, with its effective deadline.
    linked: Option<(Instant, TaskId)>,
    scheduled: Running,
    /// What is left of the scheduled job's budget; unlimited if there is none.
    remaining: Duration,
}

impl Place {
    const FREE: Self = Self {
        linked: None,
        scheduled: Running::Nothing,
        remaining: Duration::UNLIMITED,
    };

    fn is_linked(&self, id: TaskId) -> bool {
        self.linked.is_some_and(|(_, linked)| linked == id)
    }

    fn runs(&self, id: TaskId) -> bool {
        self.scheduled == Running::Job(id)
    }
}

/// What a core runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Running {
    Nothing,
    Job(TaskId),
    /// A thread whose job has been taken from it.
    Stale,
}

/// Earliest deadline first on `CORES` cores, for up to `TASKS` tasks.
#[derive(Clone, Debug)]
pub struct Cluster<const CORES: usize, const TASKS: usize> {
    entries: [Option<Entry>; TASKS],
    /// Tasks whose next release is known and that have no job.
    releases: Queue<Instant, TASKS>,
    /// Tasks whose job is neither linked nor blocked, by effective deadline.
    ready: Queue<Instant, TASKS>,
    cores: [Place; CORES],
    mode: Mode,
    low_tasks: LowTasks,
    granularity: Duration,
    #[cfg(test)]
    pub(crate) fault: crate::tests::Fault,
}

impl<const CORES: usize, const TASKS: usize> Cluster<CORES, TASKS> {
    /// A cluster without tasks, in low mode.
    pub fn new(low_tasks: LowTasks) -> Self {
        Self {
            entries: [const { None }; TASKS],
            releases: Queue::default(),
            ready: Queue::default(),
            cores: [Place::FREE; CORES],
            mode: Mode::Low,
            low_tasks,
            granularity: Duration(0),
            #[cfg(test)]
            fault: crate::tests::Fault::None,
        }
    }

    /// Sets the shortest time after which [`decide`](Self::decide) wants to look at a budget again: a job may exceed its
    /// budget by less than that. It must be longer than what a decision costs. Without it, decisions would come ever
    /// closer to the end of a budget, because what they cost is not charged to the job.
    pub fn set_granularity(&mut self, granularity: Duration) {
        self.granularity = granularity;
    }

    /// Adds a task if the admission test accepts the set with it.
    pub fn add<A: Admission>(
        &mut self,
        task: Task,
        now: Instant,
        admission: &A,
    ) -> Result<TaskId, Refusal<A::Reason>> {
        if let Some(fault) = task.fault() {
            return Err(Refusal::Parameters(fault));
        }
        let free = self.entries.iter().position(Option::is_none);
        let index = free.ok_or(Refusal::Full)?;
        let present = self.entries.iter().flatten().map(|entry| entry.task);
        admission
            .test(CORES, present.chain([task]))
            .map_err(Refusal::Admission)?;
        let id = TaskId(index as u16);
        let mut next = now;
        if let Arrivals::Periodic { offset } = task.arrivals {
            next = now + offset;
            self.releases.set(id, next);
        }
        self.entries[index] = Some(Entry {
            task,
            next,
            job: None,
            last: 0,
            overruns: 0,
        });
        Ok(id)
    }

    /// Removes a task and its job.
    pub fn remove(&mut self, id: TaskId) -> Result<(), Error> {
        self.entry(id)?;
        self.withdraw(id, Running::Stale);
        self.releases.remove(id);
        self.entries[id.index()] = None;
        Ok(())
    }

    /// A job of a sporadic task arrives.
    pub fn arrive(&mut self, id: TaskId, now: Instant) -> Result<(), Error> {
        let entry = self.entry(id)?;
        if entry.task.arrivals != Arrivals::Sporadic {
            return Err(Error::IsPeriodic);
        }
        if entry.job.is_some() || self.releases.contains(id) {
            return Err(Error::HasJob);
        }
        if self.stops(&entry.task) {
            return Err(Error::Stopped);
        }
        let release = entry.next.max(now);
        self.releases.set(id, release);
        Ok(())
    }

    /// The running thread of the task has completed its job, and waits.
    #[inline]
    pub fn complete(&mut self, id: TaskId, now: Instant) -> Result<Completion, Error> {
        let entry = self.entry_mut(id)?;
        let job = entry.end_job(now).ok_or(Error::NoJob)?;
        let next = entry.next_release();
        self.withdraw(id, Running::Nothing);
        if let Some(next) = next {
            self.releases.set(id, next);
        }
        Ok(Completion {
            response: now - job.release,
            late: now - job.deadline,
        })
    }

    /// The running thread of the task waits for something in the middle of its job.
    pub fn block(&mut self, id: TaskId) -> Result<(), Error> {
        self.job(id)?;
        self.withdraw(id, Running::Nothing);
        let job = self.job_mut(id)?;
        job.blocked = true;
        job.non_preemptible = false;
        Ok(())
    }

    /// The thread of the task can continue its job.
    pub fn unblock(&mut self, id: TaskId) -> Result<(), Error> {
        let job = self.job_mut(id)?;
        if core::mem::take(&mut job.blocked) {
            let deadline = job.effective;
            self.ready.set(id, deadline);
        }
        Ok(())
    }

    /// The task's job enters or leaves a non-preemptible section: while in it, the job keeps its core. Its
    /// budget is enforced all the same.
    pub fn set_non_preemptible(&mut self, id: TaskId, value: bool) -> Result<(), Error> {
        self.job_mut(id)?.non_preemptible = value;
        Ok(())
    }

    /// Schedules the task's present job by another deadline. The one that it must keep does not change.
    pub fn set_deadline(&mut self, id: TaskId, deadline: Instant) -> Result<(), Error> {
        self.job_mut(id)?.effective = deadline;
        self.reorder(id, deadline);
        Ok(())
    }

    /// Charges execution to the job that runs on the core, before its completion is reported. What counts is
    /// what the job's scheduling context has consumed: higher-priority threads may have run there as well.
    pub fn charge(&mut self, core: Core, consumed: Duration) {
        let remaining = &mut self.cores[core].remaining;
        if *remaining != Duration::UNLIMITED {
            *remaining = *remaining - consumed;
        }
    }

    /// What is left of the budget of the job that runs on the core; unlimited if it has none, or none runs.
    pub fn remaining(&self, core: Core) -> Duration {
        self.cores[core].remaining
    }

    /// Takes back a part of what was charged to the job that runs on the core.
    pub fn refund(&mut self, core: Core, time: Duration) {
        let remaining = &mut self.cores[core].remaining;
        *remaining = *remaining + time;
    }

    /// Decides what runs, after the events of one instant have been reported. Returns the instant at which it
    /// must be called again if no event comes before: the next release, or the earliest end of a budget.
    #[inline]
    pub fn decide(&mut self, now: Instant, act: &mut impl FnMut(Action)) -> Instant {
        for core in 0..CORES {
            if self.cores[core].remaining == Duration(0) {
                self.handle_overrun(core, now, act);
            }
        }
        if self.mode == Mode::High {
            self.return_to_low(act);
        }
        let next = loop {
            match self.releases.first() {
                Some((release, id)) if release <= now => self.release(id, release, now, act),
                first => break first.map_or(Instant::NEVER, |(release, _)| release),
            }
        };
        self.link_earliest();
        self.apply_links(act);
        let remaining = self.cores.iter().map(|place| place.remaining);
        let budgets = remaining.map(|left| now + left.max(self.granularity));
        budgets.fold(next, Instant::min)
    }

    /// How often jobs of the task have used up their budgets.
    pub fn overruns(&self, id: TaskId) -> Result<u32, Error> {
        self.entry(id).map(|entry| entry.overruns)
    }

    fn entry(&self, id: TaskId) -> Result<&Entry, Error> {
        let entry = self.entries.get(id.index()).and_then(Option::as_ref);
        entry.ok_or(Error::NoTask)
    }

    fn entry_mut(&mut self, id: TaskId) -> Result<&mut Entry, Error> {
        let entry = self.entries.get_mut(id.index()).and_then(Option::as_mut);
        entry.ok_or(Error::NoTask)
    }

    fn job(&self, id: TaskId) -> Result<&Job, Error> {
        self.entry(id)?.job.as_ref().ok_or(Error::NoJob)
    }

    fn job_mut(&mut self, id: TaskId) -> Result<&mut Job, Error> {
        self.entry_mut(id)?.job.as_mut().ok_or(Error::NoJob)
    }

    fn ids(&self) -> impl Iterator<Item = TaskId> + use<CORES, TASKS> {
        (0..TASKS).map(|index| TaskId(index as u16))
    }

    /// Releases the task's next job at `release`, which is not later than `now`.
    #[inline]
    fn release(&mut self, id: TaskId, release: Instant, now: Instant, act: &mut dyn FnMut(Action)) {
        self.releases.remove(id);
        let Some(entry) = &mut self.entries[id.index()] else {
            return;
        };
        let timing = modes::timing(&entry.task, self.mode, self.low_tasks);
        entry.next = release + timing.period;
        let Some(effective) = timing.effective else {
            return self.drop_release(id, now, act);
        };
        let effective = release + effective;
        entry.job = Some(Job {
            release,
            deadline: release + timing.deadline,
            effective,
            remaining: timing.budget,
            blocked: false,
            non_preemptible: false,
        });
        self.link_or_wait(id, effective);
    }

    /// The task is stopped: its releases until now are dropped.
    #[cold]
    fn drop_release(&mut self, id: TaskId, now: Instant, act: &mut dyn FnMut(Action)) {
        let Some(entry) = &mut self.entries[id.index()] else {
            return;
        };
        match entry.task.arrivals {
            Arrivals::Sporadic => act(Action::Aborted { task: id }),
            Arrivals::Periodic { .. } => {
                entry.drop_releases(now);
                self.releases.set(id, entry.next);
            }
        }
    }

    /// Ends the task's job before its completion.
    fn abort(&mut self, id: TaskId, now: Instant, act: &mut dyn FnMut(Action)) {
        self.withdraw(id, Running::Stale);
        if let Ok(entry) = self.entry_mut(id) {
            let _ended = entry.end_job(now);
            if let Some(next) = entry.next_release() {
                self.releases.set(id, next);
            }
        }
        act(Action::Aborted { task: id });
    }

    /// Applies the overrun policy of the job that runs on this core.
    #[cold]
    fn handle_overrun(&mut self, core: Core, now: Instant, act: &mut dyn FnMut(Action)) {
        let Running::Job(id) = self.cores[core].scheduled else {
            return;
        };
        let Ok(entry) = self.entry_mut(id) else {
            return;
        };
        entry.overruns += 1;
        let switches = entry.task.high_budget() > Some(entry.task.budget);
        act(Action::Overrun { task: id });
        if self.mode == Mode::Low && switches {
            self.switch_to_high(now, act);
        } else {
            self.apply_overrun(core, id, now, act);
        }
    }

    fn apply_overrun(&mut self, core: Core, id: TaskId, now: Instant, act: &mut dyn FnMut(Action)) {
        let Ok(entry) = self.entry_mut(id) else {
            return;
        };
        let overrun = entry.task.overrun;
        let remaining = &mut self.cores[core].remaining;
        match overrun {
            Overrun::Abort => self.abort(id, now, act),
            Overrun::Extend(by) => *remaining = *remaining + by,
            Overrun::Count => *remaining = Duration::UNLIMITED,
            Overrun::Lower => {
                *remaining = Duration::UNLIMITED;
                // It has a job, which runs. A section would keep the core for it.
                let _ended = self.set_non_preemptible(id, false);
                let _lowered = self.set_deadline(id, Instant::NEVER);
            }
        }
    }
}
