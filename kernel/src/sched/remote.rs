//! Remote accesses: operations on threads and scheduling contexts of other cores, in exclusive mode.

#[cfg(any(test, feature = "invariants"))]
use super::Decision;
use super::{Core, Scheduler, TimerDeadline};
use crate::arch::Arch;
use crate::config::CORES;
use crate::object::{Membership, NO_CORE, SchedContext, Thread, ThreadState};
use crate::time::Ticks;
use crate::token::Ptr;

impl<A: Arch> Scheduler<A> {
    /// The number of cores.
    pub fn cores(&self) -> usize {
        self.entry_lock.kernels.shared.count()
    }

    /// Whether a core, such as the owning core of an object, is this one.
    #[inline(always)]
    pub(crate) fn is_own_core(&self, core: impl Into<usize>) -> bool {
        CORES == 1 || core.into() == self.core.id
    }

    /// The scheduler of a core: this one, or in exclusive mode that of another core, which is marked as remotely
    /// modified.
    #[inline(always)]
    pub(crate) fn scheduler_of(&mut self, core: usize) -> &mut Self {
        if self.is_own_core(core) {
            return self;
        }
        self.remote().access(core)
    }

    /// The scheduler of the owning core of a thread.
    #[inline(always)]
    pub(crate) fn owning_core(&mut self, thread: Ptr<Thread<A>>) -> &mut Self {
        self.scheduler_of(self[thread].core.into())
    }

    /// The scheduler of the owning core of a scheduling context.
    #[inline(always)]
    pub(crate) fn owning_core_of_context(&mut self, context: Ptr<SchedContext<A>>) -> &mut Self {
        self.scheduler_of(self[context].core.into())
    }

    /// A context is about to be taken from its thread. If it is charged on another core, this charges the
    /// time consumed so far and stops charging it there, as another thread may use it from now on.
    #[inline(always)]
    pub(crate) fn charge_remote_current(&mut self, context: Ptr<SchedContext<A>>) {
        let core = usize::from(self[context].core);
        if !self.is_own_core(core) {
            self.remote().access(core).detach_current_context(context);
        }
    }

    /// Brings the accounting of this core up to date, for a remote access or after one. If the access has put
    /// the current thread into a queue or taken its context, charging stops here: the thread's release was
    /// computed from the remaining budget, or another thread uses it now. A head replenishment that is used up
    /// is charged now, although the thread runs until its core enters the kernel.
    pub(crate) fn account_before_remote_access(&mut self) {
        if let Some(context) = self.core.current_context
            && !self.core.current.is_some_and(|thread| {
                self[context].thread == Some(thread) && self[thread].membership == Membership::None
            })
        {
            self.detach_current_context(context);
        }
        self.update_time();
        if let Some(context) = self.core.current_context
            && self.charge_used_up(context)
        {
            self.entry_lock.timeslice_ended = true;
        }
    }

    /// Other cores may have changed the budget of the current context and the release queues: computes the
    /// budget check threshold again, and makes the end of this entry program the timer again.
    pub(crate) fn recompute_deadlines(&mut self) {
        self.core.check_threshold = self.check_threshold(&self.budget());
        self.core.timer_deadline = TimerDeadline::NONE;
    }

    /// Migrates a thread to a core. The thread is in no queue of the scheduler.
    pub(crate) fn migrate_thread(&mut self, thread: Ptr<Thread<A>>, core: u8) {
        if CORES == 1 || self[thread].core == core {
            return;
        }
        self.trace_thread_migrated(thread, core);
        self.remote().detach_thread(thread);
        self[thread].core = core;
        // The object at which it is blocked now has a waiting thread of another core.
        match self[thread].state {
            ThreadState::BlockedOnSend { endpoint, .. } => self[endpoint].set_core(NO_CORE),
            ThreadState::BlockedOnReceive { endpoint, reply } => {
                self[endpoint].set_core(NO_CORE);
                if let Some(reply) = reply {
                    self[reply].set_core(core);
                }
            }
            ThreadState::BlockedOnNotification { notification } => {
                self[notification].core = NO_CORE;
            }
            _ => {}
        }
    }

    /// A thread can no longer run. If it is the current one of its core, that core chooses again, even if the
    /// thread has become able to run by then.
    pub(crate) fn stop_if_current(&mut self, thread: Ptr<Thread<A>>) {
        let owner = self.owning_core(thread);
        if CORES > 1 && owner.core.current == Some(thread) {
            owner.choose_again();
        }
    }

    /// The message may have brought the current thread a context of another core: it continues on that core.
    #[inline(always)]
    pub(crate) fn switch_to_migrated(&mut self, thread: Ptr<Thread<A>>) {
        if !self.is_own_core(self[thread].core) {
            self.possible_switch_to(thread);
        }
    }

    /// Migrates a scheduling context, with the thread that runs on it.
    pub(crate) fn migrate_context(&mut self, context: Ptr<SchedContext<A>>, core: u8) {
        self[context].core = core;
        self.trace_context_migrated(context, core);
        if let Some(reply) = self[context].reply {
            self[reply].set_core(core);
        }
        if let Some(thread) = self[context].thread {
            self.migrate_thread(thread, core);
        }
    }

    /// Reads the clock. In shared mode, after `is_time_local` has decided, returns the reading of that decision.
    pub(crate) fn read_clock(&mut self) -> Ticks {
        if CORES > 1
            && let Some(reading) = self.entry_lock.clock_reading.take()
            && self.entry_lock.is_shared()
        {
            return reading;
        }
        self.arch.now()
    }

    /// Whether another core has modified this core's state since its last kernel entry.
    pub fn is_remotely_modified(&self) -> bool {
        CORES > 1 && self.entry_lock.remotely_modified
    }

    /// Whether another core waits for the entry lock, which this core holds exclusively.
    pub(crate) fn is_contended(&self) -> bool {
        CORES > 1
            && self.entry_lock.is_exclusive()
            && self.entry_lock.kernels.shared.entry_lock.is_contended()
    }

    /// The state of a core: this one or, in exclusive mode or between entries, another.
    #[inline(always)]
    pub(crate) fn core_of(&self, core: u8) -> &Core<A> {
        if self.is_own_core(core) {
            return &self.core;
        }
        &self.read_remote(core).core
    }

    /// The scheduler of another core, to read it.
    #[inline(never)]
    fn read_remote(&self, core: u8) -> &Self {
        assert!(
            self.may_read_all_cores(),
            "a remote access needs exclusive mode"
        );
        // SAFETY: as in `Exclusive::other`; this core's kernel is not borrowed mutably.
        unsafe { self.entry_lock.kernels.read(core.into()) }
    }

    /// Whether this core may read the state of other cores.
    pub(crate) fn may_read_all_cores(&self) -> bool {
        !self.entry_lock.is_shared()
    }

    /// The state of a core, if this core may read it and no remote modification is pending there.
    #[cfg(any(test, feature = "invariants"))]
    pub(crate) fn unmodified_core(&self, core: u8) -> Option<&Core<A>> {
        if self.is_own_core(core) {
            return Some(&self.core);
        }
        if !self.may_read_all_cores() {
            return None;
        }
        let other = self.read_remote(core);
        // A core that waits for the entry lock may have a pending decision, too.
        let settled =
            !other.entry_lock.remotely_modified && matches!(other.core.decision, Decision::Resume);
        settled.then_some(&other.core)
    }
}
