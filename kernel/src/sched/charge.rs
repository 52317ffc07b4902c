//! Accounting: charging scheduling contexts, and how long each can still be used.

use super::{Readiness, Scheduler};
use crate::arch::Arch;
use crate::object::{ContextFlags, Progress, SchedContext, Thread};
use crate::time::{Microseconds, Ticks};
use crate::token::Ptr;
use crate::tracing::End;

/// What ends the run of the current thread.
pub(crate) enum Spent {
    /// The head replenishment of its context is used up.
    Budget,
    /// The limit of its context is reached.
    Limit,
    /// The timer of its context has expired.
    Timer,
}

/// The remaining budget of the current context; nothing without a context.
#[derive(Default)]
pub(crate) struct Budget {
    /// The head replenishment, before the consumed time that is not charged yet.
    head: Option<Ticks>,
    /// If each entry needs a budget check: the time at which a limit or timer ends the use of the context.
    limit_or_timer: Option<Ticks>,
}

impl Budget {
    /// That of a context of which `amount` is left, and which has no limit; it may have a timer, later than now.
    #[inline(always)]
    pub(crate) const fn of(amount: Ticks, timer: Option<Ticks>) -> Self {
        Self {
            head: Some(amount),
            limit_or_timer: timer,
        }
    }
}

impl<A: Arch> Scheduler<A> {
    /// The smallest budget: the time to enter and leave the kernel once.
    pub(crate) fn min_budget(&self) -> Ticks {
        self.arch.clock().min_budget()
    }

    /// Reads the clock, and adds the time since the last entry to what the current context has consumed.
    pub(crate) fn update_time(&mut self) {
        let now = self.read_clock();
        let passed = now.saturating_sub(self.core.now);
        self.core.now = now;
        if self.core.current_context.is_some() {
            // Cannot overflow: consumed time is part of the time since boot.
            self.core.consumed += passed;
        }
    }

    /// Whether the head replenishment of a context still holds the smallest budget after `used`.
    #[inline(always)]
    pub(crate) fn has_left(&self, context: Ptr<SchedContext<A>>, used: Ticks) -> bool {
        self[context].head().amount.saturating_sub(used) >= self.min_budget()
    }

    /// Why the current context, which is configured, cannot be used any longer; `None` if it can.
    #[inline(always)]
    pub(crate) fn spent(&mut self, context: Ptr<SchedContext<A>>) -> Option<Spent> {
        if !self.has_left(context, self.core.consumed) {
            Some(Spent::Budget)
        } else if self.limit_of(context) == Some(Ticks::ZERO) {
            Some(Spent::Limit)
        } else if self.timer_of(context) <= self.core.now {
            Some(Spent::Timer)
        } else {
            None
        }
    }

    /// Whether entries on `context` still need a budget check: it has a limit or a timer, it is idling, or
    /// its thread repeats a deferred send.
    pub(crate) fn still_needs_check(
        &mut self,
        thread: Ptr<Thread<A>>,
        context: Ptr<SchedContext<A>>,
    ) -> bool {
        if !self[context].flags.contains(ContextFlags::NEEDS_CHECK) {
            return false;
        }
        let limit_or_timer = self[context].limit.is_some()
            || self[context].flags.contains(ContextFlags::IDLING)
            || self.timer_of(context) < Ticks::NEVER
            || matches!(self[thread].progress, Progress::Deferred { .. });
        if !limit_or_timer {
            self[context].flags.set(ContextFlags::NEEDS_CHECK, false);
            self.core.check_threshold = self.check_threshold(&self.budget());
        }
        limit_or_timer
    }

    /// The remaining budget of the current context.
    #[inline(always)]
    pub(crate) fn budget(&self) -> Budget {
        match self.core.current_context {
            Some(context) if self[context].is_configured() => Budget {
                head: Some(self[context].head().amount),
                limit_or_timer: self.limit_or_timer_of(context),
            },
            _ => Budget::default(),
        }
    }

    /// The budget check threshold: below it, the smallest budget is left. Zero if each entry needs a budget
    /// check, or if entries are measured or traced, so that none takes a fast path.
    #[inline(always)]
    pub(crate) fn check_threshold(&self, budget: &Budget) -> Ticks {
        if self.is_observed() || budget.limit_or_timer.is_some() {
            return Ticks::ZERO;
        }
        let threshold = |head: Ticks| head.saturating_sub(self.min_budget()) + Ticks(1);
        budget.head.map_or(Ticks::NEVER, threshold)
    }

    /// The time at which the current context can no longer be used.
    #[inline(always)]
    pub(super) fn budget_end(&self, budget: &Budget) -> Ticks {
        let Some(head) = budget.head else {
            return Ticks::NEVER;
        };
        let left = head.saturating_sub(self.core.consumed);
        // Cannot overflow: no budget exceeds the longest period, which can be added to any time.
        let end = self.core.now + left;
        budget.limit_or_timer.map_or(end, |other| end.min(other))
    }

    /// The time at which a limit or timer ends the use of a context that needs a budget check.
    #[inline(always)]
    fn limit_or_timer_of(&self, context: Ptr<SchedContext<A>>) -> Option<Ticks> {
        if !self[context].may_need_check() {
            return None;
        }
        self.limit_or_timer_end(context)
    }

    /// The time at which the limit or the timer of a context ends its use. At a raised criticality level,
    /// contexts with a criticality need a budget check, too: fast paths compare priorities only, and are not
    /// eligible then.
    #[cold]
    fn limit_or_timer_end(&self, context: Ptr<SchedContext<A>>) -> Option<Ticks> {
        if !self[context].flags.contains(ContextFlags::NEEDS_CHECK) && self.core.level == 0 {
            return None;
        }
        let limit = self.limit_of(context).unwrap_or(Ticks::NEVER);
        let limit = self.core.now.saturating_add(limit);
        Some(limit.min(self.timer_of(context).max(self.core.now)))
    }

    /// Charges the current context, of which the timeslice or head replenishment is used up.
    #[inline(always)]
    pub(crate) fn charge_slice(&mut self, context: Ptr<SchedContext<A>>, usage: Ticks) {
        let minimum = self.min_budget();
        self[context].charge(usage, minimum);
        if self[context].is_round_robin() {
            self[context].slice().renew();
        }
        self.trace_charged(context, usage);
        self.core.consumed = Ticks::ZERO;
        self.core.reprogram = true;
    }

    /// Charges the current context if its budget is used up; returns whether it is. The caller ends the timeslice.
    pub(crate) fn charge_used_up(&mut self, context: Ptr<SchedContext<A>>) -> bool {
        let usage = self.core.consumed;
        let is_used_up = self[context].is_configured() && !self.has_left(context, usage);
        if is_used_up {
            self.trace_exhausted(context, End::Budget);
            self.charge_slice(context, usage);
        }
        is_used_up
    }

    /// Moves a thread that has run to the end of its ready queue or, if it lacks budget, to the release queue.
    pub(crate) fn wait_for_turn(&mut self, thread: Ptr<Thread<A>>) {
        match self.readiness(thread) {
            Readiness::Ready => self.ready_back(thread),
            Readiness::LacksBudget => self.postpone(thread),
            Readiness::NotReady => {}
        }
    }

    /// Whether a context is the current one of its core.
    #[inline(always)]
    pub(crate) fn is_current_context(&self, context: Ptr<SchedContext<A>>) -> bool {
        self.core_of(self[context].core).current_context == Some(context)
    }

    /// Whether a thread is the current one of its core.
    pub(crate) fn is_current(&self, thread: Ptr<Thread<A>>) -> bool {
        self.core_of(self[thread].core).current == Some(thread)
    }

    /// A context is taken from its thread, migrated or deleted: if it is the current one of this core, it is
    /// charged up to now and no longer.
    pub(crate) fn detach_current_context(&mut self, context: Ptr<SchedContext<A>>) {
        if self.core.current_context == Some(context) {
            self.commit_time();
            self.core.current_context = None;
            self.core.reprogram = true;
            self.trace_switch();
        }
    }

    /// Charges the time consumed so far, without ending a timeslice.
    #[inline(always)]
    pub(crate) fn commit_time(&mut self) {
        let usage = core::mem::take(&mut self.core.consumed);
        let minimum = self.min_budget();
        if let Some(context) = self.core.current_context
            && usage > Ticks::ZERO
            && self[context].is_configured()
        {
            self[context].charge(usage, minimum);
            self.trace_charged(context, usage);
        }
    }

    /// Takes and resets the consumed time of a context.
    pub(crate) fn take_consumed(&mut self, context: Ptr<SchedContext<A>>) -> Microseconds {
        let consumed = core::mem::take(&mut self[context].consumed);
        self.trace_consumed(context, consumed);
        self.arch.clock().microseconds(consumed)
    }
}
