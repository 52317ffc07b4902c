//! Yield: gives up the remaining budget of a round-robin timeslice.

use super::{Eligible, NotEligible, SystemCall, eligible};
use crate::Kernel;
use crate::arch::Arch;
use crate::object::{Membership, Thread};
use crate::sched::{PreemptionRank, Scheduler};
use crate::token::Ptr;

impl<A: Arch> Kernel<A> {
    /// Ends the timeslice of the current thread; the next thread of the same priority runs, if there is one.
    #[inline(always)]
    pub(super) fn fast_yield(&mut self, call: &SystemCall<A>) -> Eligible<Ptr<Thread<A>>> {
        let thread = call.thread;
        let reading = self.read_clock_with_budget()?;
        let context = self.core.current_context.ok_or(NotEligible)?;
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
        let next = match others {
            // Between threads that became ready in the same tick, the ready queues decide by criticality.
            Some(_) if self[context].criticality() > 0 => return Err(NotEligible),
            Some(next) => {
                self.is_resumable(next)?;
                Some((next, self.can_run(next, reading.now)?))
            }
            None => None,
        };

        self.commit_reading(Some(reading));
        // Budget that is given up is not counted as consumed.
        let used = core::mem::take(&mut self.core.consumed);
        self[context].consumed += used;
        self[context].slice().give_up();
        let Some((next, available)) = next else {
            let rank = PreemptionRank::of(self[thread].priority.into());
            self.core.reprogram = true;
            self.program_timer(rank);
            return Ok(thread);
        };
        self.queue_instead_of(next, thread);
        self.switch_context(next, available, false);
        Ok(next)
    }

    /// Puts the current thread at the end of the ready queue that `next`, its first thread, leaves. Both have the same
    /// priority, and no criticality.
    #[inline(always)]
    fn queue_instead_of(&mut self, next: Ptr<Thread<A>>, current: Ptr<Thread<A>>) {
        let Scheduler {
            core, capabilities, ..
        } = &mut ***self;
        let objects = &mut capabilities.objects;
        let position = (core.current_domain(), objects[current].priority);
        core.ready.rotate_in(objects, position, current, core.now);
        objects[next].membership = Membership::None;
        objects[current].membership = Membership::Ready;
    }
}
