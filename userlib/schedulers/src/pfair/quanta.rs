//! From quanta to time, and to the actions of a dispatcher.

use super::{Overload, Pfair, Weight};
use crate::cluster::{Action, Completion, Core, Error, Refusal};
use crate::policy::Policy;
use crate::task::{Arrivals, Overrun, TaskId};
use crate::time::{Duration, Instant};

/// Proportionate fairness on cores whose quanta begin at the same time: what [`Pfair`] decides, as actions for threads.
///
/// The first quantum begins with the first decision. Quanta that pass without one are lost for their tasks.
///
/// A job that has had its last quantum and is not completed is an overrun: it is aborted or continues in the quanta of the
/// task's next jobs, which then wait for it.
#[derive(Clone, Debug)]
pub struct Quanta<const CORES: usize, const TASKS: usize> {
    pfair: Pfair<CORES, TASKS>,
    length: Duration,
    /// When the first quantum began.
    start: Option<Instant>,
    /// The task that has the present quantum of each core, and has not completed its job in it.
    given: [Option<TaskId>; CORES],
    /// What the cores run: nothing instead, if the task waits.
    running: [Option<TaskId>; CORES],
    progress: [Progress; TASKS],
    missed: u64,
}

/// How far the thread of a task is.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    aborts: bool,
    period: u64,
    /// Whether it has a job that is not completed, and when that was released.
    is_busy: bool,
    release: u64,
    /// Whether the present quantum is the last one of a job.
    is_last: bool,
    /// How many jobs have had their quanta and are not completed.
    behind: u32,
    overruns: u32,
}

impl<const CORES: usize, const TASKS: usize> Quanta<CORES, TASKS> {
    /// Without tasks, for quanta of this length.
    ///
    /// # Panics
    /// If the length is 0.
    pub fn new(length: Duration) -> Self {
        assert!(length > Duration(0), "quanta take time");
        Self {
            pfair: Pfair::default(),
            length,
            start: None,
            given: [None; CORES],
            running: [None; CORES],
            progress: [Progress::default(); TASKS],
            missed: 0,
        }
    }

    /// Adds a task whose overruns are aborted or counted. An offset counts in quanta from the next one.
    ///
    /// # Errors
    /// Those of [`Pfair::add`], and [`Refusal::Parameters`] for other treatments of overruns.
    pub fn add(
        &mut self,
        weight: Weight,
        arrivals: Arrivals,
        overrun: Overrun,
    ) -> Result<TaskId, Refusal<Overload>> {
        let aborts = match overrun {
            Overrun::Abort => true,
            Overrun::Count => false,
            _ => return Err(Refusal::Parameters("overruns are aborted or counted")),
        };
        let id = self.pfair.add(weight, arrivals)?;
        self.progress[id.index()] = Progress {
            aborts,
            period: weight.period.into(),
            ..Progress::default()
        };
        Ok(id)
    }

    /// When the first quantum began; none before the first decision.
    pub fn start(&self) -> Option<Instant> {
        self.start
    }

    /// How many quanta have passed without a decision.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// When a quantum begins.
    fn begin(&self, quantum: u64) -> Instant {
        let since = Duration(quantum.saturating_mul(self.length.0));
        self.start.unwrap_or_default() + since
    }

    /// The next quantum begins, and the present one ends.
    fn advance(&mut self, act: &mut impl FnMut(Action)) {
        for id in self.given.into_iter().flatten() {
            let progress = &mut self.progress[id.index()];
            if !(progress.is_last && progress.is_busy) {
                continue;
            }
            progress.overruns += 1;
            act(Action::Overrun { task: id });
            if !progress.aborts {
                progress.behind += 1;
                continue;
            }
            progress.is_busy = false;
            // The task is there; it may wait.
            let _there = self.pfair.unblock(id);
            take(&mut self.running, id);
            act(Action::Aborted { task: id });
        }
        self.given = self.pfair.quantum();
        for id in self.given.into_iter().flatten() {
            let given = self.pfair.given(id);
            let progress = &mut self.progress[id.index()];
            progress.is_last = given.is_last;
            if !progress.is_busy {
                progress.is_busy = true;
                progress.release = given.release;
            }
        }
    }

    /// The task that is to run on the core.
    fn wanted(&self, core: Core) -> Option<TaskId> {
        self.given[core].filter(|id| !self.pfair.is_blocked(*id))
    }
}

impl<const CORES: usize, const TASKS: usize> Policy<CORES, TASKS> for Quanta<CORES, TASKS> {
    fn decide(&mut self, now: Instant, act: &mut impl FnMut(Action)) -> Instant {
        self.start.get_or_insert(now);
        let mut begun = 0;
        while self.begin(self.pfair.now()) <= now {
            self.advance(act);
            begun += 1;
        }
        self.missed += u64::saturating_sub(begun, 1);
        // First all that stops: after missed quanta a task may be on another core.
        for core in 0..CORES {
            if self.running[core].is_some() && self.running[core] != self.wanted(core) {
                self.running[core] = None;
                act(Action::Idle { core });
            }
        }
        for core in 0..CORES {
            if let Some(task) = self.wanted(core)
                && self.running[core].replace(task).is_none()
            {
                act(Action::Dispatch { core, task });
            }
        }
        self.begin(self.pfair.now())
    }

    fn complete(&mut self, id: TaskId, now: Instant) -> Result<Completion, Error> {
        let progress = self.progress.get_mut(id.index()).ok_or(Error::NoTask)?;
        if !progress.is_busy {
            return Err(Error::NoJob);
        }
        let (release, period) = (progress.release, progress.period);
        match progress.behind.checked_sub(1) {
            // The thread continues with the next job, which has been released since.
            Some(behind) => {
                progress.behind = behind;
                progress.release += period;
            }
            None => {
                progress.is_busy = false;
                if !progress.is_last {
                    self.pfair.complete(id)?;
                }
                take(&mut self.given, id);
            }
        }
        take(&mut self.running, id);
        Ok(Completion {
            response: now - self.begin(release),
            late: now - self.begin(release.saturating_add(period)),
        })
    }

    fn remove(&mut self, id: TaskId) -> Result<(), Error> {
        self.pfair.remove(id)?;
        self.progress[id.index()] = Progress::default();
        take(&mut self.given, id);
        take(&mut self.running, id);
        Ok(())
    }

    fn arrive(&mut self, id: TaskId, _: Instant) -> Result<(), Error> {
        self.pfair.arrive(id)
    }

    fn block(&mut self, id: TaskId) -> Result<(), Error> {
        self.pfair.block(id)?;
        take(&mut self.running, id);
        Ok(())
    }

    fn unblock(&mut self, id: TaskId) -> Result<(), Error> {
        self.pfair.unblock(id)
    }

    /// If the present quantum is over.
    fn ends_jobs(&self, now: Instant) -> bool {
        self.start.is_some() && self.begin(self.pfair.now()) <= now
    }

    fn overruns(&self, id: TaskId) -> Result<u32, Error> {
        let progress = self.progress.get(id.index()).ok_or(Error::NoTask)?;
        Ok(progress.overruns)
    }
}

/// The task is on no core any more.
fn take<const CORES: usize>(cores: &mut [Option<TaskId>; CORES], id: TaskId) {
    let core = cores.iter_mut().find(|task| **task == Some(id));
    core.map(Option::take);
}
