//! Late requests, in kernels for several cores: while its core waited for the entry lock, a thread has used up its
//! budget, or the turn of its domain ended.
//!
//! The wait is charged to the thread's context, as all time is. If the thread had to make its request again, its core
//! would have to wait again, and where each wait takes longer than a budget, it would never be done. So a late request
//! is performed, and ends the timeslice.
//!
//! If the budget is used up, it is charged *before* the request, and until the end of the entry the context is not the
//! current one. So the request finds of it what is really left, whatever becomes of it (a call donates it, a reply
//! returns it), and each thread that it leaves without budget waits for the right replenishment: nothing is charged
//! to it after that. Charged afterwards, a context that a late call had donated was found used up when its server was in
//! a ready queue already.

use crate::Kernel;
use crate::arch::{Arch, UserContext};
use crate::config::CORES;
use crate::cores::Local;
use crate::object::{SchedContext, Thread, ThreadState};
use crate::sched::{Readiness, Scheduler};
use crate::time::Ticks;
use crate::token::Ptr;

impl<A: Arch> Local<'_, A> {
    /// Whether this core has waited for others while the current thread used up its budget, or its domain the turn.
    #[inline(always)]
    pub(super) fn has_waited_too_long(&self) -> bool {
        self.entry_lock.has_waited() && (self.entry_lock.timeslice_ended || !self.is_time_left())
    }

    /// Whether the current thread's request comes late. If so, this core holds the entry lock exclusively, because the
    /// end of the timeslice may concern other cores; and the request is to be performed although another core may have
    /// modified this one, if that has not stopped the thread or taken its context.
    ///
    /// With a limit, the thread makes its request again: the next waits reach the limit, if nothing else ends the call.
    #[cold]
    pub(super) fn enter_late(&mut self) -> bool {
        if !self.has_waited_too_long() {
            return false;
        }
        if !self.entry_lock.is_exclusive() {
            self.make_exclusive();
        }
        self.recompute_deadlines();
        self.account_before_remote_access();
        let context = self.core.current_context;
        self.is_late()
            && self.is_current_running()
            && context.is_some_and(|context| self[context].limit.is_none())
    }
}

impl<A: Arch> Scheduler<A> {
    /// Whether the request of this entry comes late, as [`Local::enter_late`] has found.
    #[inline(always)]
    pub(crate) fn is_late(&self) -> bool {
        CORES > 1
            && self.entry_lock.is_exclusive()
            && (self.entry_lock.timeslice_ended
                || self.entry_lock.has_waited() && self.domain_expired())
    }

    /// The context of the current thread, which is not the current one during a late request.
    #[inline(always)]
    pub(crate) fn context_of_request(
        &self,
        thread: Ptr<Thread<A>>,
    ) -> Option<Ptr<SchedContext<A>>> {
        match self.core.current_context {
            None if CORES > 1 => self[thread].sched_context,
            context => context,
        }
    }

    /// Makes the next entry of this core one that has waited for the entry lock: for tests.
    #[cfg(any(test, feature = "invariants"))]
    pub const fn pretend_wait(&mut self) {
        self.entry_lock.waited = true;
    }
}

impl<A: Arch> Kernel<A> {
    /// Begins to perform a late request. Returns the context whose timeslice ends with it.
    #[inline(always)]
    pub(crate) fn begin_late(&mut self) -> Option<Ptr<SchedContext<A>>> {
        if !self.is_late() {
            return None;
        }
        self.set_context_aside()
    }

    #[cold]
    pub(super) fn set_context_aside(&mut self) -> Option<Ptr<SchedContext<A>>> {
        let context = self.core.current_context?;
        // The clock has been read again.
        if self.charge_used_up(context) {
            self.entry_lock.timeslice_ended = true;
        }
        if self.entry_lock.timeslice_ended {
            self.detach_current_context(context);
        }
        // The timer has expired, or is about to: a preemption point would stop the request for that.
        self.arch.set_deadline(Ticks::NEVER);
        self.core.reprogram = true;
        Some(context)
    }

    /// Ends the timeslice of `context` after the late request of `thread`: of this thread, or of the one that has got the
    /// context by the request. That has no budget, or is behind its equals now.
    #[cold]
    pub(crate) fn end_late_slice(&mut self, thread: Ptr<Thread<A>>, context: Ptr<SchedContext<A>>) {
        let has_ended = core::mem::take(&mut self.entry_lock.timeslice_ended);
        if !has_ended || !self.is_own_core(self[context].core) {
            return;
        }
        let Some(holder) = self[context].thread else {
            return;
        };
        let readiness = self.readiness(holder);
        if readiness == Readiness::NotReady {
            return;
        }
        let has_requested = holder == thread;
        // Its request is performed: after a timeout it continues at the next instruction.
        if has_requested && matches!(self[thread].state, ThreadState::Running) {
            self[thread].context.complete_system_call();
        }
        self.leave_scheduler(holder);
        let may_time_out = has_requested && readiness == Readiness::LacksBudget;
        self.end_slice(holder, context, may_time_out);
    }

    /// Ends an entry that turned out to make no request of the scheduler, if it comes late.
    #[inline(always)]
    pub(crate) fn end_if_late(&mut self) {
        if self.is_late() {
            self.end_late_entry();
        }
    }

    #[cold]
    fn end_late_entry(&mut self) {
        self.trace_remote_access();
        if let Some(thread) = self.core.current
            && let Some(context) = self.begin_late()
        {
            self.end_late_slice(thread, context);
        }
        self.leave();
    }
}
