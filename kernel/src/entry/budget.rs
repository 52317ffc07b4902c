//! The budget check at the beginning of a kernel entry, the ends of budgets, limits and timeslices, and the system
//! calls `Yield` and `YieldUntilBudget`.

use abi::fault::timeout_flags;

use crate::Kernel;
use crate::arch::{Arch, UserContext};
use crate::log::debug;
use crate::object::{SchedContext, Thread, ThreadState};
use crate::sched::{Funding, Readiness, Spent};
use crate::time::Ticks;
use crate::token::Ptr;
use crate::tracing::End;

/// The result of the budget check: whether the current thread may make its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BudgetCheck {
    /// It has the budget.
    Passed,
    /// It has the budget, but its context needs a budget check at each entry.
    NeedsCheck,
    /// It lacks the budget, and its timeslice has ended.
    Exhausted,
}

impl<A: Arch> Kernel<A> {
    /// Whether the current thread has budget for its request. If not, its timeslice ends, and it restarts its
    /// system call when it next runs.
    #[inline(always)]
    pub(crate) fn check_budget(&mut self) -> BudgetCheck {
        self.check_budget_at_entry(|_| {})
    }

    /// The same at the beginning of a kernel entry, which `trace` writes into the trace of a core that is traced: its
    /// budget check threshold is zero.
    #[inline(always)]
    pub(crate) fn check_budget_at_entry(&mut self, trace: impl FnOnce(&mut Self)) -> BudgetCheck {
        if self.core.consumed < self.core.check_threshold && !self.domain_expired() {
            return BudgetCheck::Passed;
        }
        trace(self);
        self.examine_budget()
    }

    /// The budget check at the beginning of a request, with `trace` as in [`Kernel::check_budget_at_entry`]. A late
    /// request passes; then also returns the context whose timeslice ends with it.
    #[inline(always)]
    pub(crate) fn check_request(
        &mut self,
        trace: impl FnOnce(&mut Self),
    ) -> (BudgetCheck, Option<Ptr<SchedContext<A>>>) {
        if !self.is_late() {
            return (self.check_budget_at_entry(trace), None);
        }
        trace(self);
        (BudgetCheck::NeedsCheck, self.set_context_aside())
    }

    /// The slow path of the budget check.
    #[cold]
    fn examine_budget(&mut self) -> BudgetCheck {
        let (Some(thread), Some(context)) = (self.core.current, self.core.current_context) else {
            return BudgetCheck::Passed;
        };
        let mut result = BudgetCheck::Passed;
        if self[context].is_configured() {
            result = BudgetCheck::Exhausted;
            match self.spent(context) {
                Some(Spent::Budget) => {
                    self.trace_exhausted(context, End::Budget);
                    self.charge_current(self.core.consumed, true);
                }
                Some(Spent::Limit) => self.end_limit(thread, context),
                Some(Spent::Timer) => self.end_by_timer(thread, context),
                None if self.still_needs_check(thread, context) => result = BudgetCheck::NeedsCheck,
                None => result = BudgetCheck::Passed,
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
        }
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
        if !(may_time_out && self.raise_timeout(thread, 0)) {
            self.wait_for_turn(thread);
        }
        self.choose_again();
    }

    /// The timer of `YieldToTimeout` has expired and ends the run of the current thread.
    #[cold]
    fn end_by_timer(&mut self, thread: Ptr<Thread<A>>, context: Ptr<SchedContext<A>>) {
        self.trace_exhausted(context, End::Timer);
        self.commit_time();
        self.core.reprogram = true;
        if !self.raise_timeout(thread, timeout_flags::INSTANT) {
            self.stop_timer(context);
            self.wait_for_turn(thread);
        }
        self.choose_again();
    }

    /// The current thread gives up its remaining timeslice (`Yield`).
    pub(crate) fn yield_slice(&mut self) {
        let Some(context) = self.core.current_context else {
            return;
        };
        let consumed = self[context].consumed.saturating_add(self.core.consumed);
        let rest = self[context].head().amount;
        self.trace_given_up(context);
        // A timeslice of which too little would be left ends.
        let least = match self[context].is_round_robin() {
            true => self.min_budget(),
            false => Ticks::ZERO,
        };
        match self.limit_of(context) {
            Some(limit) if self.core.consumed + limit + least <= rest => {
                self.give_up_limit(context, limit);
            }
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
            // It may keep the context; what it has given up is due later.
            if self.readiness(thread) == Readiness::LacksBudget {
                self.postpone(thread);
            }
        }
    }

    /// `YieldUntilBudget`: the current thread continues when the head replenishment of its context holds an
    /// amount.
    pub(crate) fn yield_until_budget(&mut self, thread: Ptr<Thread<A>>) {
        let Some(context) = self.context_of_request(thread) else {
            return;
        };
        let amount = self.message_time(thread);
        let clock = self.arch.clock();
        // An amount beyond the longest period exceeds all budgets; it is not converted, to avoid overflow.
        let needed = clock.ticks(amount.min(clock.max_period()));
        // The replenishments of a donated context with a limit are not merged: the caller would have to wait.
        let most = match self.limit_of(context) {
            Some(_) => self.available_budget(context),
            None => self[context].budget,
        };
        if needed > most || amount > clock.max_period() {
            let error = self.too_small(amount, most);
            return self.answer_error(thread, error);
        }
        self.answer_call(thread, 0, &[]);
        let left = self[context].head().amount;
        if left.saturating_sub(self.core.consumed) < needed
            && self.merge_replenishments(context, needed, true) == Ok(Funding::Later)
        {
            self.wait_for_time(thread);
        }
    }
}
