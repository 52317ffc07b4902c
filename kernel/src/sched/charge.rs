//! Accounting: whose time passes, and what happens when it is used up.

use crate::Kernel;
use crate::arch::Arch;
use crate::object::{SchedContext, Thread, ThreadState};
use crate::time::{Microseconds, Ticks};
use crate::token::Ptr;
use crate::trace::debug;

/// Whether the current thread may do what it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It has the time.
    Paid,
    /// It has, within a limit: it may not lend the time without one.
    Limited,
    /// It has not, and its slice has ended.
    Over,
}

impl<A: Arch> Kernel<A> {
    /// The smallest budget: what it takes to enter and to leave the kernel once.
    pub(crate) fn min_budget(&self) -> Ticks {
        self.arch.clock().min_budget()
    }

    /// Reads the clock: the time since the last entry is on the current context.
    pub(crate) fn update_time(&mut self) {
        let now = self.arch.now();
        let passed = now.saturating_sub(self.core.now);
        self.core.now = now;
        if self.core.current_context.is_some() {
            self.core.consumed = self.core.consumed.saturating_add(passed);
        }
        self.core.domain.pass(passed);
    }

    /// Whether the current thread has time left for what it asks. If not, its slice ends and it asks
    /// again when it runs again.
    #[inline(always)]
    pub(crate) fn check_budget(&mut self) -> Standing {
        if self.core.consumed < self.core.allowance && !self.domain_expired() {
            return Standing::Paid;
        }
        self.examine_budget()
    }

    /// The allowance is used up, or there is something special about it.
    #[cold]
    fn examine_budget(&mut self) -> Standing {
        let (Some(thread), Some(context)) = (self.core.current, self.core.current_context) else {
            return Standing::Paid;
        };
        let (consumed, minimum) = (self.core.consumed, self.min_budget());
        let mut standing = Standing::Paid;
        if self[context].is_configured() {
            if !self[context].refills().is_sufficient(consumed, minimum) {
                standing = Standing::Over;
                self.charge_current(consumed, true);
            } else if let Some(rest) = self.limit_of(context) {
                standing = Standing::Limited;
                if rest == Ticks::ZERO {
                    standing = Standing::Over;
                    self.end_limit(thread, context);
                }
            }
        }
        if standing != Standing::Over && self.domain_expired() {
            standing = Standing::Over;
            self.choose_again();
        }
        if standing == Standing::Over && self[thread].is_runnable() {
            self[thread].state = ThreadState::Restart;
        }
        standing
    }

    /// What the current context may use before it must be looked at again: as long as the smallest
    /// budget is left. Under a limit every entry looks.
    pub(super) fn allowance(&self) -> Ticks {
        match self.core.current_context {
            Some(context) if self[context].limit.is_some() => Ticks::ZERO,
            Some(context) if self[context].is_configured() => {
                let spare = self[context]
                    .head()
                    .amount
                    .saturating_sub(self.min_budget());
                spare.saturating_add(Ticks(1))
            }
            _ => Ticks::NEVER,
        }
    }

    /// When the current context can be used no longer.
    pub(super) fn budget_end(&self) -> Ticks {
        self.core.current_context.map_or(Ticks::NEVER, |context| {
            let left = self[context].head().amount;
            let left = left.saturating_sub(self.core.consumed);
            let left = left.min(self.limit_of(context).unwrap_or(Ticks::NEVER));
            self.core.now.saturating_add(left)
        })
    }

    /// Charges the current context and ends the slice of its thread.
    ///
    /// Of round-robin contexts a slice is over whatever was used of it.
    fn charge_current(&mut self, usage: Ticks, may_time_out: bool) {
        let Some(context) = self.core.current_context else {
            return;
        };
        let minimum = self.min_budget();
        self[context].charge(usage, minimum);
        if self[context].is_round_robin() {
            self[context].refills().renew_slice();
        }
        self.core.consumed = Ticks::ZERO;
        self.core.reprogram = true;
        if let Some(thread) = self.core.current
            && self.is_schedulable(thread)
        {
            self.end_slice(thread, context, may_time_out);
            self.choose_again();
        }
    }

    /// The slice of the current thread is over: its handler is told, or it waits its turn, or for time.
    fn end_slice(
        &mut self,
        thread: Ptr<Thread<A>>,
        context: Ptr<SchedContext<A>>,
        may_time_out: bool,
    ) {
        debug!("slice of {:#x} ends", thread.address());
        let may_time_out = may_time_out && !self[context].is_round_robin();
        if may_time_out && self.raise_timeout(thread) {
            return;
        }
        if self.has_budget(thread) {
            self.ready_back(thread);
        } else {
            self.postpone(thread);
        }
    }

    /// Charges what was used so far, without ending a slice.
    pub(crate) fn commit_time(&mut self) {
        let usage = core::mem::take(&mut self.core.consumed);
        let minimum = self.min_budget();
        if let Some(context) = self.core.current_context
            && usage > Ticks::ZERO
            && self[context].is_configured()
        {
            self[context].charge(usage, minimum);
        }
    }

    /// The current thread gives up the rest of its slice (`Yield`).
    pub(crate) fn yield_slice(&mut self) {
        let Some(context) = self.core.current_context else {
            return;
        };
        let consumed = self[context].consumed.saturating_add(self.core.consumed);
        let rest = self[context].head().amount;
        self.charge_current(rest, false);
        // Giving time up is not using it.
        self[context].consumed = consumed;
    }

    /// Takes and resets what was charged to a context.
    pub(crate) fn take_consumed(&mut self, context: Ptr<SchedContext<A>>) -> Microseconds {
        let consumed = core::mem::take(&mut self[context].consumed);
        self.arch.clock().microseconds(consumed)
    }

    /// A thread becomes able to run by an event: a sporadic context's time counts from now on.
    pub(crate) fn wake_context(&mut self, thread: Ptr<Thread<A>>) {
        if let Some(context) = self[thread].sched_context
            && self[context].sporadic
            && self.core.current_context != Some(context)
        {
            let now = self.core.now;
            self[context].unblock(now);
        }
    }
}
