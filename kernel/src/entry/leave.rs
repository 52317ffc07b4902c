//! The end of a kernel entry.

use crate::Kernel;
use crate::arch::{Arch, Exit, UserContext};
use crate::console::debug_line;
use crate::instruments::checked;
use crate::object::{Membership, Thread, ThreadState};
use crate::sched::Decision;
use crate::token::Ptr;

impl<A: Arch> Kernel<A> {
    /// Ends a kernel entry. If nothing in it affects which thread runs, on which context and until when, there is nothing to
    /// do. Otherwise picks the next thread, charges and programs the timer if that changed, and switches the architecture to
    /// the thread.
    #[inline(always)]
    pub(crate) fn leave(&mut self) {
        let current = self.core.current;
        let resumes = current.is_some_and(|current| {
            let thread = &self[current];
            let context = thread.sched_context;
            let rank = self.preemption_rank_of(Some(current));
            matches!(self.core.decision, Decision::Resume)
                && !(self.core.reprogram | self.core.reload)
                && matches!(thread.state, ThreadState::Running)
                && thread.membership == Membership::None
                && thread.yielding_to.is_none()
                && context == self.core.current_context
                && context.is_some_and(|context| self[context].is_configured())
                && self.core.timer_deadline.is_right_for(rank)
                && self.core.now < self.core.timer_deadline.time()
                && !self.domain_expired()
        });
        if !resumes {
            return self.reschedule_and_exit();
        }
        self.measure_exit(current);
        self.trace_exit();
        checked!(self.check_after_entry());
    }

    #[inline(never)]
    fn reschedule_and_exit(&mut self) {
        let before = self.core.current;
        if self.domain_expired() {
            self.next_domain();
        }
        self.pick();
        let next = self.core.current;
        let rank = self.preemption_rank_of(next);
        let context = next.and_then(|thread| self[thread].sched_context);
        if self.core.reprogram || !Ptr::is_same(context, self.core.current_context) {
            self.switch_current_context(context, rank);
        } else if !self.core.timer_deadline.is_right_for(rank) {
            self.program_timer(rank);
        }
        if let Some(thread) = next {
            self.finish_yield_to(thread);
            if let ThreadState::Restart = self[thread].state {
                self[thread].context.restart();
                self[thread].state = ThreadState::Running;
            }
        } else if cfg!(feature = "debug") {
            self.end_if_dead(before);
        }
        self.measure_exit(before);
        self.trace_exit();
        if core::mem::take(&mut self.core.reload) || next != before {
            A::switch_to(self, next);
        }
        checked!(self.check_after_entry());
    }

    /// Ends the run if nothing can ever happen again: no thread is ready in a domain that has a turn or waits for a
    /// replenishment, and no interrupt line belongs to a user. Otherwise the system would only hang.
    ///
    /// The run succeeds if `last`, the thread that ran last, stopped itself. It fails if that thread is
    /// blocked, or if any fault found no handler.
    fn end_if_dead(&self, last: Option<Ptr<Thread<A>>>) {
        let awaits_release = self.core.release.is_awaited();
        let interrupts = self.irqs.iter().any(|line| line.is_issued);
        // Whether other cores still have threads to run is not known here.
        if awaits_release || interrupts || self.is_ready_in_turns() || crate::config::CORES > 1 {
            return;
        }
        let stopped = last.is_some_and(|last| matches!(self[last].state, ThreadState::Inactive));
        let exit = if stopped && !self.core.unhandled_fault {
            debug_line::<A>(format_args!("kernel: the last thread has stopped"));
            Exit::Success
        } else {
            debug_line::<A>(format_args!("kernel: no thread can ever run again"));
            Exit::Failure
        };
        A::exit(exit);
    }
}
