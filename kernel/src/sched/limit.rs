//! Budget limits, as far as they are accounting: a limit is a value of the total consumed of a scheduling
//! context. Which call it belongs to, and what happens when it is reached, is in `ipc::limit`.

use super::Scheduler;
use crate::arch::Arch;
use crate::object::SchedContext;
use crate::time::Ticks;
use crate::token::Ptr;

impl<A: Arch> Scheduler<A> {
    /// The time that may be consumed from a context until its limit is reached; `None` if it has no limit.
    #[inline]
    pub(crate) fn limit_of(&self, context: Ptr<SchedContext<A>>) -> Option<Ticks> {
        let end = self[context].limit?;
        let used = self.total_consumed(context);
        // Past the end the difference is negative.
        Some(Ticks((end.get().wrapping_sub(used) as i64).max(0) as u64))
    }

    /// The total consumed of a context, including time that is not yet charged.
    pub(crate) fn total_consumed(&self, context: Ptr<SchedContext<A>>) -> u64 {
        let charged = self[context].total_consumed();
        charged.wrapping_add(self.uncharged(context).0)
    }

    /// The time consumed from a context and not yet charged to it.
    pub(crate) fn uncharged(&self, context: Ptr<SchedContext<A>>) -> Ticks {
        if self.is_current_context(context) {
            self.core_of(self[context].core).consumed
        } else {
            Ticks::ZERO
        }
    }

    /// The time that may be consumed from the head replenishment of a context, up to its limit.
    pub(crate) fn available_budget(&self, context: Ptr<SchedContext<A>>) -> Ticks {
        let head = self[context].head().amount;
        let head = head.saturating_sub(self.uncharged(context));
        head.min(self.limit_of(context).unwrap_or(Ticks::NEVER))
    }
}
