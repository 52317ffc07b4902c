//! Waiting until there is enough budget: replenishments are merged until the head of the list suffices.

use super::Scheduler;
use crate::arch::Arch;
use crate::error::{Error, allow};
use crate::object::{SchedContext, Thread};
use crate::time::{Microseconds, Ticks};
use crate::token::Ptr;

/// When a context has the budget that a thread needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Funding {
    /// It has it now.
    Available,
    /// When its head is due, or in its next timeslice.
    Later,
}

impl<A: Arch> Scheduler<A> {
    /// The error for a request of more than a context can ever have available.
    pub(crate) fn too_small(&self, needed: Microseconds, most: Ticks) -> Error {
        Error::BudgetTooSmall {
            needed: needed.word(),
            budget: self.arch.clock().microseconds(most).word(),
        }
    }

    /// The current context has too little budget available. Merges as many due replenishments as needed. If
    /// they do not suffice, merges later ones, too.
    ///
    /// # Errors
    /// [`Error::IllegalOperation`] if the thread would have to wait, and may not.
    pub(crate) fn merge_replenishments(
        &mut self,
        context: Ptr<SchedContext<A>>,
        needed: Ticks,
        may_wait: bool,
    ) -> Result<Funding, Error> {
        allow(may_wait || !self[context].is_round_robin())?;
        self.commit_time();
        self.core.reprogram = true;
        if self[context].is_round_robin() {
            self[context].slice().renew();
            self.trace_head(context);
            return Ok(Funding::Later);
        }
        let now = self.core.now;
        let latest = if may_wait { Ticks::NEVER } else { now };
        allow(self[context].refills().merge_until(needed, latest))?;
        self.trace_head(context);
        Ok(match self[context].refills().is_ready(now) {
            true => Funding::Available,
            false => Funding::Later,
        })
    }

    /// Lets the current thread wait for the merged replenishment, or for its next timeslice.
    pub(crate) fn wait_for_time(&mut self, thread: Ptr<Thread<A>>) {
        self.wait_for_turn(thread);
        self.choose_again();
    }
}
