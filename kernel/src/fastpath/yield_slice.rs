//! Yield: gives up the remaining budget of a round-robin timeslice.

use super::{Declined, SystemCall, Way, usual};
use crate::Kernel;
use crate::arch::Arch;
use crate::collections::Linked;
use crate::object::{Thread, ThreadState};
use crate::sched::level;
use crate::time::Ticks;
use crate::token::Ptr;

impl<A: Arch> Kernel<A> {
    /// Ends the timeslice of the current thread; the next thread of the same priority runs, if there is one.
    #[inline(always)]
    pub(super) fn fast_yield(&mut self, call: &SystemCall<A>) -> Way<Ptr<Thread<A>>> {
        let thread = call.thread;
        let look = self.look()?;
        let context = self.paying_context()?;
        let domain = self.core.current_domain();
        usual(self[context].is_round_robin())?;
        usual(self[context].budget >= self.min_budget())?;
        usual(self[context].head().time <= look.now)?;
        usual(self.core.release.earliest(domain) > look.now)?;
        let others = self
            .core
            .ready
            .first_normal(domain, self[thread].priority)
            .ok_or(Declined)?;
        if let Some(next) = others {
            usual(matches!(self[next].state, ThreadState::Running))?;
            usual(self[next].yielding_to.is_none())?;
        }

        let level = level(self[thread].priority.into());
        self.note(Some(look));
        // Budget that is given up is not counted as consumed.
        let used = self.core.consumed;
        self[context].consumed += used;
        self[context].slice().give_up();
        self.core.consumed = Ticks::ZERO;
        self.core.reprogram = true;
        let Some(next) = others else {
            self[thread].links_mut().set_key(look.now.0);
            self.update_alarm(level);
            return Ok(thread);
        };
        self.ready_back(thread);
        self.switch_to_ready(next);
        Ok(next)
    }
}
