//! `YieldUntilBudget`.

use abi::WORD_BITS;

use crate::Kernel;
use crate::arch::Arch;
use crate::object::Thread;
use crate::sched::Funding;
use crate::time::Microseconds;
use crate::token::Ptr;

impl<A: Arch> Kernel<A> {
    /// `YieldUntilBudget`: the current thread continues when the head replenishment of its context holds an
    /// amount.
    pub(super) fn yield_until_budget(&mut self, thread: Ptr<Thread<A>>) {
        let Some(context) = self.core.current_context else {
            return;
        };
        let mut amount = self.message_word(thread, 0) as u64;
        if WORD_BITS == 32 {
            amount |= (self.message_word(thread, 1) as u64) << 32;
        }
        let clock = self.arch.clock();
        let amount = Microseconds(amount);
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
            && self.merge_replenishments(context, needed, true) == Funding::Later
        {
            self.wait_for_time(thread);
        }
    }
}
