//! What a dispatcher needs of a scheduler's decisions.

use crate::cluster::{Action, Cluster, Completion, Core, Error};
use crate::task::TaskId;
use crate::time::{Duration, Instant};

/// Decides which tasks' threads run on which of `CORES` cores: by deadlines ([`Cluster`]), or by quanta
/// ([`Quanta`](crate::Quanta)).
pub trait Policy<const CORES: usize, const TASKS: usize> {
    /// Decides what runs, after the events of one instant have been reported. Returns the instant at which it must be called
    /// again if no event comes before.
    fn decide(&mut self, now: Instant, act: &mut impl FnMut(Action)) -> Instant;

    /// The running thread of the task has completed its job, and waits.
    fn complete(&mut self, id: TaskId, now: Instant) -> Result<Completion, Error>;

    /// Removes a task and its job.
    fn remove(&mut self, id: TaskId) -> Result<(), Error>;

    /// A job of a sporadic task arrives.
    fn arrive(&mut self, id: TaskId, now: Instant) -> Result<(), Error>;

    /// The running thread of the task waits for something in the middle of its job.
    fn block(&mut self, id: TaskId) -> Result<(), Error>;

    /// The thread of the task can continue its job.
    fn unblock(&mut self, id: TaskId) -> Result<(), Error>;

    /// How often jobs of the task have used up their budgets.
    fn overruns(&self, id: TaskId) -> Result<u32, Error>;

    /// The task's job enters or leaves a non-preemptible section.
    ///
    /// # Errors
    /// [`Error::NotHere`] if the policy has none.
    fn set_non_preemptible(&mut self, _: TaskId, _value: bool) -> Result<(), Error> {
        Err(Error::NotHere)
    }

    /// Schedules the task's present job by another deadline.
    ///
    /// # Errors
    /// [`Error::NotHere`] if the policy cannot.
    fn set_deadline(&mut self, _: TaskId, _: Instant) -> Result<(), Error> {
        Err(Error::NotHere)
    }

    /// Sets the shortest time after which it wants to look at a budget again, if it does so.
    fn set_granularity(&mut self, _: Duration) {}

    /// Whether a decision at this time may end jobs: reports of jobs that have ended by themselves must come before.
    fn ends_jobs(&self, now: Instant) -> bool;

    /// Charges execution to the job that runs on the core.
    fn charge(&mut self, _: Core, _consumed: Duration) {}

    /// Takes back a part of what was charged to the job that runs on the core.
    fn refund(&mut self, _: Core, _: Duration) {}

    /// What is left of the budget of the job that runs on the core; unlimited if it is not measured in time.
    fn remaining(&self, _: Core) -> Duration {
        Duration::UNLIMITED
    }
}

impl<const CORES: usize, const TASKS: usize> Policy<CORES, TASKS> for Cluster<CORES, TASKS> {
    #[inline]
    fn decide(&mut self, now: Instant, act: &mut impl FnMut(Action)) -> Instant {
        self.decide(now, act)
    }

    #[inline]
    fn complete(&mut self, id: TaskId, now: Instant) -> Result<Completion, Error> {
        self.complete(id, now)
    }

    fn remove(&mut self, id: TaskId) -> Result<(), Error> {
        self.remove(id)
    }

    fn arrive(&mut self, id: TaskId, now: Instant) -> Result<(), Error> {
        self.arrive(id, now)
    }

    fn block(&mut self, id: TaskId) -> Result<(), Error> {
        self.block(id)
    }

    fn unblock(&mut self, id: TaskId) -> Result<(), Error> {
        self.unblock(id)
    }

    fn overruns(&self, id: TaskId) -> Result<u32, Error> {
        self.overruns(id)
    }

    fn set_non_preemptible(&mut self, id: TaskId, value: bool) -> Result<(), Error> {
        self.set_non_preemptible(id, value)
    }

    fn set_deadline(&mut self, id: TaskId, deadline: Instant) -> Result<(), Error> {
        self.set_deadline(id, deadline)
    }

    fn set_granularity(&mut self, granularity: Duration) {
        self.set_granularity(granularity);
    }

    /// If a budget seems to be used up.
    #[inline]
    fn ends_jobs(&self, _: Instant) -> bool {
        (0..CORES).any(|core| self.remaining(core) == Duration(0))
    }

    #[inline]
    fn charge(&mut self, core: Core, consumed: Duration) {
        self.charge(core, consumed);
    }

    fn refund(&mut self, core: Core, time: Duration) {
        self.refund(core, time);
    }

    #[inline]
    fn remaining(&self, core: Core) -> Duration {
        self.remaining(core)
    }
}
