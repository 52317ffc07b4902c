//! Yield: gives up the remaining budget of a round-robin timeslice.

use super::{Eligible, NotEligible, SystemCall, eligible};
use crate::Kernel;
use crate::arch::Arch;
use crate::collections::Linked;
use crate::object::{Thread, ThreadState};
use crate::sched::PreemptionRank;
use crate::time::Ticks;
use crate::token::Ptr;

impl<A: Arch> Kernel<A> {
    /// Ends the timeslice of the current thread; the next thread of the same priority runs, if there is one.
    #[inline(always)]
    pub(super) fn fast_yield(&mut self, call: &SystemCall<A>) -> Eligible<Ptr<Thread<A>>> {
        let thread = call.thread;
        let reading = self.read_clock_if_paid()?;
        let context = self.current_context_or_decline()?;
        let domain = self.core.current_domain();
        eligible(self[context].is_round_robin())?;
        eligible(self[context].budget >= self.min_budget())?;
        eligible(self[context].head().time <= reading.now)?;
        eligible(self.core.release.earliest(domain) > reading.now)?;
        let others = self
            .core
            .ready
            .first_normal(domain, self[thread].priority)
            .ok_or(NotEligible)?;
        if let Some(next) = others {
            // The ready queues decide between threads that are ready since the same tick by their criticality.
            eligible(self[context].criticality() == 0)?;
            eligible(matches!(self[next].state, ThreadState::Running))?;
            eligible(self[next].yielding_to.is_none())?;
        }

        let rank = PreemptionRank::of(self[thread].priority.into());
        self.commit_reading(Some(reading));
        // Budget that is given up is not counted as consumed.
        let used = self.core.consumed;
        self[context].consumed += used;
        self[context].slice().give_up();
        self.core.consumed = Ticks::ZERO;
        self.core.reprogram = true;
        let Some(next) = others else {
            self[thread].links_mut().set_key(reading.now.0);
            self.update_timer_deadline(rank);
            return Ok(thread);
        };
        self.ready_back(thread);
        self.switch_to_ready(next);
        Ok(next)
    }
}
