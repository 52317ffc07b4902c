//! The choice at the end of a kernel entry.

use super::Decision;
use crate::Kernel;
use crate::arch::{Arch, Exit, UserContext};
use crate::console::debug_line;
use crate::object::{IrqState, Thread, ThreadState};
use crate::time::Ticks;
use crate::token::Ptr;
use crate::trace::debug;

impl<A: Arch> Kernel<A> {
    /// Ends a kernel entry: picks who runs, charges and arms the timer where that changed, and tells
    /// the architecture.
    pub(crate) fn leave(&mut self) {
        let before = self.core.current;
        self.release_due();
        if self.domain_expired() {
            self.next_domain();
        }
        self.check_new_context();
        self.pick();
        self.switch_context();
        if core::mem::take(&mut self.core.reprogram) {
            self.arm_timer();
        }
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

    /// Ends the run if nothing can ever happen again: nobody is ready or waits for time, and no
    /// interrupt line belongs to a user. A person would wait for such a system in vain.
    ///
    /// It has ended well if `last`, the thread that ran last, stopped of its own will; not if it
    /// waits for somebody, or if any fault found no handler.
    fn end_if_dead(&self, last: Option<Ptr<Thread<A>>>) {
        let time_comes = self.core.release.first(&self.objects).is_some();
        let interrupts = self.irqs.iter().any(|line| line.state == IrqState::Issued);
        if time_comes || interrupts || abi::config::DOMAINS > 1 {
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

    /// Offers every thread whose replenishment is due, the earliest first.
    fn release_due(&mut self) {
        while let Some((thread, time)) = self.core.release.first(&self.objects)
            && time <= self.core.now
        {
            self.leave_scheduler(thread);
            self.offer(thread);
        }
    }

    /// The current thread may have got other time in this entry, by a call that waited for it or from
    /// a notification. If that is used up, it waits like everybody else.
    fn check_new_context(&mut self) {
        if let Some(current) = self.core.current
            && self[current].sched_context != self.core.current_context
            && self.is_schedulable(current)
            && !self.has_budget(current)
        {
            self.postpone(current);
            self.choose_again();
        }
    }

    /// Makes the decision of this entry.
    fn pick(&mut self) {
        let current = self
            .core
            .current
            .filter(|current| self.is_schedulable(*current));
        let decision = core::mem::replace(&mut self.core.decision, Decision::Resume);
        let chosen = match decision {
            Decision::Resume if current.is_some() => return,
            Decision::Resume | Decision::Choose => None,
            Decision::Candidate(candidate) => self.compare(current, candidate),
        };
        if let Some(current) = current
            && self[current].membership == crate::object::Membership::None
        {
            self.ready_front(current);
        }
        let next = match chosen {
            Some(thread) => Some(thread),
            None => self.core.ready.first(self.core.current_domain()),
        };
        if let Some(thread) = next {
            self.leave_scheduler(thread);
        }
        debug!("run {:#x}", next.map_or(0, Ptr::address));
        self.core.current = next;
    }

    /// Whether the candidate runs at once; if not, it is put into its ready queue.
    fn compare(
        &mut self,
        current: Option<Ptr<Thread<A>>>,
        candidate: Ptr<Thread<A>>,
    ) -> Option<Ptr<Thread<A>>> {
        let priority = self[candidate].priority;
        match current {
            // Waking an equal does not preempt: it comes behind those that wait already.
            Some(current) if self[current].priority == priority => {
                self.ready_back(candidate);
                None
            }
            Some(current) if self[current].priority > priority => {
                self.ready_front(candidate);
                None
            }
            _ => {
                let highest = self.core.ready.highest_priority(self.core.current_domain());
                if highest.is_some_and(|highest| highest > priority) {
                    self.ready_front(candidate);
                    None
                } else {
                    Some(candidate)
                }
            }
        }
    }

    /// Lets the context of the chosen thread pay from now on.
    fn switch_context(&mut self) {
        let next = self
            .core
            .current
            .and_then(|thread| self[thread].sched_context);
        if next != self.core.current_context {
            self.core.reprogram = true;
        }
        if self.core.reprogram {
            self.commit_time();
        }
        if next != self.core.current_context {
            self.core.current_context = next;
            let now = self.core.now;
            // Constant bandwidth: what was not used while others ran is not made up for.
            if let Some(context) = next
                && !self[context].sporadic
            {
                self[context].unblock(now);
            }
        }
    }

    /// Arms the timer for the first thing that will happen by itself.
    fn arm_timer(&mut self) {
        let budget_end = self.core.current_context.map_or(Ticks::NEVER, |context| {
            self.core.now.saturating_add(self[context].head().amount)
        });
        let release = self
            .core
            .release
            .first(&self.objects)
            .map_or(Ticks::NEVER, |(_, time)| time);
        let deadline = budget_end.min(release).min(self.domain_end());
        self.arch.set_deadline(deadline);
    }
}
