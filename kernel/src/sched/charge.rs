//! Accounting: charging scheduling contexts, and the end of budgets and timeslices.

use abi::fault::timeout_flags;

use crate::Kernel;
use crate::arch::{Arch, UserContext};
use crate::object::{ContextFlag, Progress, SchedContext, Thread, ThreadState};
use crate::time::{Microseconds, Ticks};
use crate::token::Ptr;
use crate::trace::debug;

/// The result of the budget check: whether the current thread may make its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BudgetCheck {
    /// It has the budget.
    Passed,
    /// It has the budget, but its context needs a budget check at each entry.
    NeedsCheck,
    /// It has not, and its timeslice has ended.
    Exhausted,
}

/// The remaining budget of the current context; nothing without a context.
pub(super) struct Budget {
    /// The head replenishment, before the consumed time that is not charged yet.
    head: Option<Ticks>,
    /// If each entry needs a budget check: the time at which a limit or timer ends the use of the context.
    limit_or_timer: Option<Ticks>,
}

impl<A: Arch> Kernel<A> {
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
        if Self::has_domains() {
            self.core.domain.pass(passed);
        }
    }

    /// Whether the current thread has budget for its request. If not, its timeslice ends, and it restarts its
    /// system call when it next runs.
    #[inline(always)]
    pub(crate) fn check_budget(&mut self) -> BudgetCheck {
        if self.core.consumed < self.core.check_threshold && !self.domain_expired() {
            return BudgetCheck::Passed;
        }
        self.examine_budget()
    }

    /// The slow path of the budget check.
    #[cold]
    fn examine_budget(&mut self) -> BudgetCheck {
        let (Some(thread), Some(context)) = (self.core.current, self.core.current_context) else {
            return BudgetCheck::Passed;
        };
        let (consumed, minimum) = (self.core.consumed, self.min_budget());
        let mut result = BudgetCheck::Passed;
        if self[context].is_configured() {
            if !self[context].refills().is_sufficient(consumed, minimum) {
                result = BudgetCheck::Exhausted;
                self.charge_current(consumed, true);
            } else if self.limit_of(context) == Some(Ticks::ZERO) {
                result = BudgetCheck::Exhausted;
                self.end_limit(thread, context);
            } else if self.timer_of(context) <= self.core.now {
                result = BudgetCheck::Exhausted;
                self.end_by_timer(thread, context);
            } else if self.still_needs_check(thread, context) {
                result = BudgetCheck::NeedsCheck;
            }
        }
        if result != BudgetCheck::Exhausted && self.domain_expired() {
            result = BudgetCheck::Exhausted;
            self.choose_again();
        }
        if result == BudgetCheck::Exhausted && self[thread].is_runnable() {
            self[thread].state = ThreadState::Restart;
        }
        result
    }

    /// Whether entries on `context` still need a budget check: it has a limit or a timer, it is idling, or
    /// its thread repeats a deferred send.
    fn still_needs_check(&mut self, thread: Ptr<Thread<A>>, context: Ptr<SchedContext<A>>) -> bool {
        if !self[context].has(ContextFlag::NeedsCheck) {
            return false;
        }
        let limit_or_timer = self[context].limit.is_some()
            || self[context].has(ContextFlag::Idling)
            || self.timer_of(context) < Ticks::NEVER
            || matches!(self[thread].progress, Progress::Deferred { .. });
        if !limit_or_timer {
            self[context].set(ContextFlag::NeedsCheck, false);
            self.core.check_threshold = self.check_threshold(&self.budget());
        }
        limit_or_timer
    }

    /// The remaining budget of the current context.
    #[inline(always)]
    pub(super) fn budget(&self) -> Budget {
        match self.core.current_context {
            Some(context) if self[context].is_configured() => Budget {
                head: Some(self[context].head().amount),
                limit_or_timer: self.limit_or_timer_of(context),
            },
            _ => Budget {
                head: None,
                limit_or_timer: None,
            },
        }
    }

    /// The budget check threshold: below it, the smallest budget is left. Zero if each entry needs a budget
    /// check, or if entries are measured, so that none takes a fast path.
    #[inline(always)]
    pub(super) fn check_threshold(&self, budget: &Budget) -> Ticks {
        match *budget {
            _ if self.is_measured() => Ticks::ZERO,
            Budget {
                limit_or_timer: Some(_),
                ..
            } => Ticks::ZERO,
            Budget {
                head: Some(head), ..
            } => head.saturating_sub(self.min_budget()) + Ticks(1),
            _ => Ticks::NEVER,
        }
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
        if !self[context].has(ContextFlag::NeedsCheck) && self.core.level == 0 {
            return None;
        }
        let limit = self.limit_of(context).unwrap_or(Ticks::NEVER);
        let limit = self.core.now.saturating_add(limit);
        Some(limit.min(self.timer_of(context).max(self.core.now)))
    }

    /// Charges the current context and ends the timeslice of its thread.
    ///
    /// The timeslice of a round-robin context ends however little of it was used.
    fn charge_current(&mut self, usage: Ticks, may_time_out: bool) {
        let Some(context) = self.core.current_context else {
            return;
        };
        self.charge_slice(context, usage);
        if let Some(thread) = self.core.current
            && self.is_schedulable(thread)
        {
            self.end_slice(thread, context, may_time_out);
            self.choose_again();
        }
    }

    /// Charges the current context, of which the timeslice or head replenishment is used up.
    #[inline(always)]
    pub(crate) fn charge_slice(&mut self, context: Ptr<SchedContext<A>>, usage: Ticks) {
        let minimum = self.min_budget();
        self[context].charge(usage, minimum);
        if self[context].is_round_robin() {
            self[context].slice().renew();
        }
        self.core.consumed = Ticks::ZERO;
        self.core.reprogram = true;
    }

    /// The timeslice of the current thread is over: raises a timeout fault, or puts the thread at the end of
    /// its ready queue, or lets it wait for a replenishment.
    pub(crate) fn end_slice(
        &mut self,
        thread: Ptr<Thread<A>>,
        context: Ptr<SchedContext<A>>,
        may_time_out: bool,
    ) {
        debug!(
            "core {}: slice of {:#x} ends",
            self.core.id,
            thread.address()
        );
        let may_time_out = may_time_out && !self[context].is_round_robin();
        if may_time_out && self.raise_timeout(thread, 0) {
            return;
        }
        self.wait_for_turn(thread);
    }

    /// The time has come at which `YieldToTimeout` ends the run of the current thread.
    #[cold]
    fn end_by_timer(&mut self, thread: Ptr<Thread<A>>, context: Ptr<SchedContext<A>>) {
        self.commit_time();
        self.core.reprogram = true;
        if !self.raise_timeout(thread, timeout_flags::MOMENT) {
            self.stop_timer(context);
            self.wait_for_turn(thread);
        }
        self.choose_again();
    }

    /// Puts a thread that ran at the end of its ready queue, or lets it wait for its next replenishment.
    pub(super) fn wait_for_turn(&mut self, thread: Ptr<Thread<A>>) {
        if self.has_budget(thread) {
            self.ready_back(thread);
        } else {
            self.postpone(thread);
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
        }
    }

    /// The current thread gives up its remaining timeslice (`Yield`).
    pub(crate) fn yield_slice(&mut self) {
        let Some(context) = self.core.current_context else {
            return;
        };
        let consumed = self[context].consumed.saturating_add(self.core.consumed);
        let rest = self[context].head().amount;
        match self.limit_of(context) {
            Some(limit) if self.core.consumed + limit <= rest => self.give_up_limit(context, limit),
            _ => self.charge_current(rest, false),
        }
        // Time that is given up does not count as consumed.
        self[context].consumed = consumed;
    }

    /// The current thread gives up the remaining limit of a donated context; its remaining budget is the
    /// caller's.
    #[cold]
    fn give_up_limit(&mut self, context: Ptr<SchedContext<A>>, limit: Ticks) {
        self.core.consumed += limit;
        if let Some(thread) = self.core.current {
            // It has yielded: when it has budget again, it continues at the next instruction.
            self[thread].context.complete_system_call();
            self.end_limit(thread, context);
        }
    }

    /// Takes and resets the consumed time of a context.
    pub(crate) fn take_consumed(&mut self, context: Ptr<SchedContext<A>>) -> Microseconds {
        let consumed = core::mem::take(&mut self[context].consumed);
        self.arch.clock().microseconds(consumed)
    }

    /// A thread is woken by an event: unused budget of a sporadic context counts from now on.
    #[inline(always)]
    pub(crate) fn wake_context(&mut self, thread: Ptr<Thread<A>>) {
        if let Some(context) = self[thread].sched_context
            && self[context].needs_wakeup_check()
            && !self.is_current_context(context)
        {
            self.wake_with_checks(thread, context);
        }
    }

    /// The slow path, for contexts that need a wake-up check. A timer or budget that ended while the thread
    /// was blocked is reported now.
    fn wake_with_checks(&mut self, thread: Ptr<Thread<A>>, context: Ptr<SchedContext<A>>) {
        let idled = self.stop_idling(thread);
        if self[context].has(ContextFlag::Sporadic) {
            let now = self.core.now;
            self[context].unblock(now);
        }
        if !self.is_schedulable(thread) {
            return;
        }
        let flags = if self.timer_of(context) <= self.core.now {
            timeout_flags::BLOCKED | timeout_flags::MOMENT
        } else if idled && !self[context].is_round_robin() && !self.has_budget(thread) {
            timeout_flags::BLOCKED
        } else {
            return;
        };
        // The operation that it waited for is complete: after the reply to the timeout it continues at the
        // next instruction.
        if let ThreadState::Running = self[thread].state {
            self[thread].context.complete_system_call();
        }
        self.raise_timeout(thread, flags);
    }
}
