//! The choice at the end of a kernel entry.

use super::Decision;
use super::release::Due;
use super::timer_deadline::preemption_rank;
use crate::Kernel;
use crate::arch::{Arch, Exit, UserContext};
use crate::collections::Linked;
use crate::console::debug_line;
use crate::object::{ContextFlag, IrqState, Membership, Thread, ThreadState};
use crate::time::Ticks;
use crate::token::Ptr;
use crate::trace::debug;

impl<A: Arch> Kernel<A> {
    /// Ends a kernel entry: picks the next thread, charges and programs the timer if that changed, and
    /// switches the architecture to the thread.
    #[inline(always)]
    pub(crate) fn leave(&mut self) {
        if self.can_resume_current() {
            self.measure_exit(self.core.current);
            #[cfg(any(test, feature = "invariants"))]
            self.check_after_entry();
        } else {
            self.reschedule_and_exit();
        }
    }

    /// Whether nothing in this entry affects which thread runs, on which context and until when, so that
    /// [`Kernel::reschedule_and_exit`] would change nothing.
    #[inline(always)]
    fn can_resume_current(&self) -> bool {
        let Some(current) = self.core.current else {
            return false;
        };
        let thread = &self[current];
        let level = self.preemption_rank_of(Some(current));
        matches!(self.core.decision, Decision::Resume)
            && !(self.core.reprogram | self.core.reload)
            && matches!(thread.state, ThreadState::Running)
            && thread.membership == Membership::None
            && thread.yielding_to.is_none()
            && thread.sched_context == self.core.current_context
            && thread
                .sched_context
                .is_some_and(|context| self[context].is_configured())
            && self.core.timer_deadline.is_right_for(level)
            && self.core.now < self.core.timer_deadline.time()
            && !self.domain_expired()
    }

    #[inline(never)]
    fn reschedule_and_exit(&mut self) {
        let before = self.core.current;
        if self.domain_expired() {
            self.next_domain();
        }
        self.check_new_context();
        self.pick();
        self.switch_current_context(self.preemption_rank_of(self.core.current));
        if let Some(thread) = self.core.current {
            self.finish_yield_to(thread);
            if let ThreadState::Restart = self[thread].state {
                self[thread].context.restart();
                self[thread].state = ThreadState::Running;
            }
        } else if cfg!(feature = "debug") {
            self.end_if_dead(before);
        }
        self.measure_exit(before);
        if core::mem::take(&mut self.core.reload) || self.core.current != before {
            A::switch_to(self, self.core.current);
        }
        #[cfg(any(test, feature = "invariants"))]
        self.check_after_entry();
    }

    /// Ends the run if nothing can ever happen again: no thread is ready or waits for a replenishment, and no
    /// interrupt line belongs to a user. Otherwise the system would only hang.
    ///
    /// The run succeeds if `last`, the thread that ran last, stopped itself. It fails if that thread is
    /// blocked, or if any fault found no handler.
    fn end_if_dead(&self, last: Option<Ptr<Thread<A>>>) {
        let time_comes = self.core.release.is_awaited();
        let interrupts = self.irqs.iter().any(|line| line.state == IrqState::Issued);
        // The future of other cores and domains is not known here.
        if time_comes || interrupts || abi::config::DOMAINS > 1 || crate::cores::CORES > 1 {
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

    /// The current thread may have got another context in this entry, by donation from a caller that was
    /// waiting or from a notification. If that has no budget left, the thread waits for a replenishment.
    fn check_new_context(&mut self) {
        if let Some(current) = self.core.current
            && self[current].sched_context != self.core.current_context
            && self[current].membership == Membership::None
            && self.is_schedulable(current)
            && !self.has_budget(current)
        {
            self.postpone(current);
            self.choose_again();
        }
    }

    /// Decides which thread runs next.
    fn pick(&mut self) {
        let current = self
            .core
            .current
            .filter(|current| self.is_schedulable(*current));
        let decision = core::mem::replace(&mut self.core.decision, Decision::Resume);
        let chosen = match decision {
            Decision::Resume
                if current.is_some() && !self.is_due_from(self.preemption_rank_of(current)) =>
            {
                return;
            }
            Decision::Resume | Decision::Choose => None,
            Decision::Candidate(candidate) => {
                let chosen = self.compare(current, candidate);
                if chosen.is_none() && current.is_some() && self.keeps_current(current) {
                    return;
                }
                chosen
            }
        };
        if let Some(current) = current
            && self[current].membership == Membership::None
        {
            self.ready_front(current);
        }
        let next = match chosen {
            Some(thread) => Some(thread),
            None => self.highest_priority_ready(),
        };
        if let Some(thread) = next {
            self.leave_scheduler(thread);
        }
        debug!(
            "core {}: run {:#x}",
            self.core.id,
            next.map_or(0, Ptr::address)
        );
        self.core.current = next;
    }

    /// Whether the current thread, which can run, continues before all ready and due threads.
    fn keeps_current(&self, current: Option<Ptr<Thread<A>>>) -> bool {
        let Some(current) = current else { return false };
        self[current].membership == Membership::None && !self.is_overtaken(self.rank(current))
    }

    /// The highest-ranked thread among the ready and the due ones. Of equals, the one that has been ready
    /// longest.
    fn highest_priority_ready(&self) -> Option<Ptr<Thread<A>>> {
        let core = &self.core;
        let domain = core.current_domain();
        let ready = core.ready.highest_rank(domain, core.level);
        let first = |rank| core.ready.first(&self.objects, domain, rank, core.level);
        let due = core
            .release
            .highest_priority_due(domain, core.now, core.level);
        let Some(Due {
            rank,
            moment,
            thread,
        }) = due
        else {
            return first(ready?);
        };
        let waiting = match ready {
            Some(ready) if ready > rank => return first(ready),
            Some(ready) if ready == rank => first(ready),
            _ => None,
        };
        waiting
            .filter(|thread| Ticks(self[*thread].links().key()) < moment)
            .or(thread)
    }

    /// Whether a ready or due thread has a higher rank.
    fn is_overtaken(&self, rank: u16) -> bool {
        let core = &self.core;
        let highest = core.ready.highest_rank(core.current_domain(), core.level);
        highest.is_some_and(|highest| highest > rank) || self.is_due_from(preemption_rank(rank))
    }

    /// Whether the candidate runs at once; if not, it is put into its ready queue.
    fn compare(
        &mut self,
        current: Option<Ptr<Thread<A>>>,
        candidate: Ptr<Thread<A>>,
    ) -> Option<Ptr<Thread<A>>> {
        let rank = self.rank(candidate);
        match current {
            // A woken thread of equal rank does not preempt: it goes to the end of the queue.
            Some(current) if self.rank(current) == rank => {
                self.ready_back(candidate);
                None
            }
            Some(current) if self.rank(current) > rank => {
                self.ready_front(candidate);
                None
            }
            _ if self.is_overtaken(rank) => {
                self.ready_front(candidate);
                None
            }
            _ => Some(candidate),
        }
    }

    /// Makes the context of the chosen thread the current one, and programs the timer for it.
    #[inline(never)]
    pub(crate) fn switch_current_context(&mut self, level: u16) {
        self.switch_context();
        self.arm(level);
    }

    /// Makes the context of the chosen thread the current one.
    #[inline(always)]
    fn switch_context(&mut self) {
        let next = self
            .core
            .current
            .and_then(|thread| self[thread].sched_context);
        let pays_already = Ptr::is_same(next, self.core.current_context);
        if !pays_already {
            self.core.reprogram = true;
        }
        if self.core.reprogram {
            self.commit_time();
        }
        if !pays_already {
            self.core.current_context = next;
            let now = self.core.now;
            // Constant bandwidth: budget that was not used while other threads ran is not made up for.
            if let Some(context) = next
                && !self[context].has(ContextFlag::Sporadic)
            {
                self[context].unblock(now);
            }
        }
    }
}
