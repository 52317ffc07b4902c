//! The choice of the next thread, at the end of a kernel entry.

use super::release::Due;
use super::{Decision, PreemptionRank, Readiness, Scheduler};
use crate::arch::Arch;
use crate::collections::Linked;
use crate::log::debug;
use crate::object::{ContextFlags, Membership, SchedContext, Thread};
use crate::time::Ticks;
use crate::token::Ptr;

impl<A: Arch> Scheduler<A> {
    /// Decides which thread runs next.
    ///
    /// The current thread may have received another context in this entry, by donation from a waiting caller or
    /// from a notification. If that has no budget left, the thread waits for a replenishment; if it has another
    /// criticality, the thread has another rank.
    pub(crate) fn pick(&mut self) {
        let current = self.core.current;
        let current = current.filter(|current| self.readiness(*current) != Readiness::NotReady);
        if let Some(thread) = current
            && self[thread].sched_context != self.core.current_context
            && self[thread].membership == Membership::None
        {
            if self.readiness(thread) == Readiness::LacksBudget {
                self.postpone(thread);
                self.choose_again();
            } else if self.core.level > 0 {
                self.choose_again();
            }
        }
        let decision = core::mem::replace(&mut self.core.decision, Decision::Resume);
        let chosen = match decision {
            Decision::Resume
                if current.is_some() && !self.is_due_from(self.preemption_rank_of(current)) =>
            {
                return;
            }
            Decision::Resume | Decision::Choose => None,
            Decision::Candidate(candidate) => {
                let rank = self.rank(candidate);
                let current_rank = current.map(|current| self.rank(current));
                let chosen = if current_rank == Some(rank) {
                    // A woken thread of equal rank does not preempt: it goes to the end of the queue.
                    self.ready_back(candidate);
                    None
                } else if current_rank > Some(rank) || self.is_overtaken(rank) {
                    self.ready_front(candidate);
                    None
                } else {
                    Some(candidate)
                };
                if chosen.is_none() && current.is_some_and(|current| self.is_first(current)) {
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
        // A candidate is in no queue.
        let next = chosen.or_else(|| {
            let first = self.highest_priority_ready()?;
            self.leave_scheduler(first);
            Some(first)
        });
        debug!(
            "core {}: run {:#x}",
            self.core.id,
            next.map_or(0, Ptr::address)
        );
        self.core.current = next;
    }

    /// Whether the current thread, which can run, continues before all ready and due threads.
    fn is_first(&self, current: Ptr<Thread<A>>) -> bool {
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
            instant,
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
            .filter(|thread| Ticks(self[*thread].links().key()) < instant)
            .or(thread)
    }

    /// Whether a ready or due thread has a higher rank.
    fn is_overtaken(&self, rank: u16) -> bool {
        let core = &self.core;
        let highest = core.ready.highest_rank(core.current_domain(), core.level);
        highest.is_some_and(|highest| highest > rank) || self.is_due_from(PreemptionRank::of(rank))
    }

    /// Makes `next`, the context of the chosen thread, the current one, and programs the timer for it. The current
    /// context was another one, or its budget has changed.
    #[inline(never)]
    pub(crate) fn switch_current_context(
        &mut self,
        next: Option<Ptr<SchedContext<A>>>,
        rank: PreemptionRank,
    ) {
        self.commit_time();
        self.core.reprogram = true;
        if !Ptr::is_same(next, self.core.current_context) {
            self.core.current_context = next;
            let now = self.core.now;
            // Constant bandwidth: budget that was not used while other threads ran is not supplied later.
            if let Some(context) = next
                && !self[context].flags.contains(ContextFlags::SPORADIC)
            {
                self[context].unblock(now);
            }
        }
        self.program_timer(rank);
    }
}
