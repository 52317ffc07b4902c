//! Accounting: whose time passes, and what happens when it is used up.

use abi::fault::timeout_flags;

use crate::Kernel;
use crate::arch::{Arch, UserContext};
use crate::object::{ContextFlag, Progress, SchedContext, Thread, ThreadState};
use crate::time::{Microseconds, Ticks};
use crate::token::Ptr;
use crate::trace::debug;

/// Whether the current thread may do what it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It has the time.
    Paid,
    /// It has, but there is something special about it.
    Watched,
    /// It has not, and its slice has ended.
    Over,
}

/// What a context may still use; nothing without a context.
pub(super) struct Budget {
    /// The current replenishment, without what was used of it and not charged yet.
    head: Option<Ticks>,
    /// If every entry looks: when something else ends its use.
    watch: Option<Ticks>,
}

impl<A: Arch> Kernel<A> {
    /// The smallest budget: what it takes to enter and to leave the kernel once.
    pub(crate) fn min_budget(&self) -> Ticks {
        self.arch.clock().min_budget()
    }

    /// Reads the clock: the time since the last entry is on the current context.
    pub(crate) fn update_time(&mut self) {
        let now = self.look_at_clock();
        let passed = now.saturating_sub(self.core.now);
        self.core.now = now;
        if self.core.current_context.is_some() {
            // Part of the time since boot, as all that is consumed.
            self.core.consumed += passed;
        }
        if Self::has_domains() {
            self.core.domain.pass(passed);
        }
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
            } else if self.limit_of(context) == Some(Ticks::ZERO) {
                standing = Standing::Over;
                self.end_limit(thread, context);
            } else if self.timer_of(context) <= self.core.now {
                standing = Standing::Over;
                self.end_by_timer(thread, context);
            } else if self.keeps_watch(thread, context) {
                standing = Standing::Watched;
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

    /// Whether there is still a reason to look at each entry of a thread that runs on `context`: a limit or
    /// a timer, that it idles, or that its thread sends again what it had too little time for.
    fn keeps_watch(&mut self, thread: Ptr<Thread<A>>, context: Ptr<SchedContext<A>>) -> bool {
        if !self[context].has(ContextFlag::Watched) {
            return false;
        }
        let watch = self[context].limit.is_some()
            || self[context].has(ContextFlag::Idling)
            || self.timer_of(context) < Ticks::NEVER
            || matches!(self[thread].progress, Progress::Deferred { .. });
        if !watch {
            self[context].set(ContextFlag::Watched, false);
            self.core.allowance = self.allowance(&self.budget());
        }
        watch
    }

    /// What the current context may still use.
    #[inline(always)]
    pub(super) fn budget(&self) -> Budget {
        match self.core.current_context {
            Some(context) if self[context].is_configured() => Budget {
                head: Some(self[context].head().amount),
                watch: self.watch_of(context),
            },
            _ => Budget {
                head: None,
                watch: None,
            },
        }
    }

    /// What the current context may use before it must be looked at again: as long as the smallest
    /// budget is left. Under watch every entry looks, and where entries are measured, none is as usual.
    #[inline(always)]
    pub(super) fn allowance(&self, budget: &Budget) -> Ticks {
        match *budget {
            _ if self.is_measured() => Ticks::ZERO,
            Budget { watch: Some(_), .. } => Ticks::ZERO,
            Budget {
                head: Some(head), ..
            } => head.saturating_sub(self.min_budget()) + Ticks(1),
            _ => Ticks::NEVER,
        }
    }

    /// When the current context can be used no longer.
    #[inline(always)]
    pub(super) fn budget_end(&self, budget: &Budget) -> Ticks {
        let Some(head) = budget.head else {
            return Ticks::NEVER;
        };
        let left = head.saturating_sub(self.core.consumed);
        // No budget is longer than the longest period, of which some may be added to any moment.
        let end = self.core.now + left;
        budget.watch.map_or(end, |other| end.min(other))
    }

    /// When something else than its budget ends the use of a context that is watched.
    #[inline(always)]
    fn watch_of(&self, context: Ptr<SchedContext<A>>) -> Option<Ticks> {
        if !self[context].may_be_watched() {
            return None;
        }
        self.watched_end(context)
    }

    /// When the limit or the timer of a context ends its use. What is critical is watched at levels at
    /// which that matters: fast paths compare no more than priorities, and decline under watch.
    #[cold]
    fn watched_end(&self, context: Ptr<SchedContext<A>>) -> Option<Ticks> {
        if !self[context].has(ContextFlag::Watched) && self.core.level == 0 {
            return None;
        }
        let limit = self.limit_of(context).unwrap_or(Ticks::NEVER);
        let limit = self.core.now.saturating_add(limit);
        Some(limit.min(self.timer_of(context).max(self.core.now)))
    }

    /// Charges the current context and ends the slice of its thread.
    ///
    /// Of round-robin contexts a slice is over whatever was used of it.
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

    /// Charges a slice of the current context that is over.
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

    /// The slice of the current thread is over: its handler is told, or it waits its turn, or for time.
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

    /// The moment has come at which the run of the current thread ends, by `YieldToTimeout`.
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

    /// A thread that ran goes behind its equals, or waits for its next replenishment.
    pub(super) fn wait_for_turn(&mut self, thread: Ptr<Thread<A>>) {
        if self.has_budget(thread) {
            self.ready_back(thread);
        } else {
            self.postpone(thread);
        }
    }

    /// Whether somebody runs on a context now.
    #[inline(always)]
    pub(crate) fn is_paying(&self, context: Ptr<SchedContext<A>>) -> bool {
        self.core_of(self[context].core).current_context == Some(context)
    }

    /// Whether a thread runs now.
    pub(crate) fn is_current(&self, thread: Ptr<Thread<A>>) -> bool {
        self.core_of(self[thread].core).current == Some(thread)
    }

    /// A context goes away, from its thread, from the core or from everywhere; if it pays here, nobody does
    /// from now on.
    pub(crate) fn stop_paying(&mut self, context: Ptr<SchedContext<A>>) {
        if self.core.current_context == Some(context) {
            self.commit_time();
            self.core.current_context = None;
            self.core.reprogram = true;
        }
    }

    /// Charges what was used so far, without ending a slice.
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

    /// The current thread gives up the rest of its slice (`Yield`).
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
        // Giving time up is not using it.
        self[context].consumed = consumed;
    }

    /// The current thread gives up what is left of the limit of borrowed time: the rest is the caller's.
    #[cold]
    fn give_up_limit(&mut self, context: Ptr<SchedContext<A>>, limit: Ticks) {
        self.core.consumed += limit;
        if let Some(thread) = self.core.current {
            // It has yielded: when it has time again, it goes on behind that.
            self[thread].context.forget_restart();
            self.end_limit(thread, context);
        }
    }

    /// Takes and resets what was charged to a context.
    pub(crate) fn take_consumed(&mut self, context: Ptr<SchedContext<A>>) -> Microseconds {
        let consumed = core::mem::take(&mut self[context].consumed);
        self.arch.clock().microseconds(consumed)
    }

    /// A thread becomes able to run by an event: a sporadic context's time counts from now on.
    #[inline(always)]
    pub(crate) fn wake_context(&mut self, thread: Ptr<Thread<A>>) {
        if let Some(context) = self[thread].sched_context
            && self[context].is_special()
            && !self.is_paying(context)
        {
            self.wake_special(thread, context);
        }
    }

    /// The same, where there is something special about the context. What was over while the thread
    /// waited is told now.
    fn wake_special(&mut self, thread: Ptr<Thread<A>>, context: Ptr<SchedContext<A>>) {
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
        // What it waited for is done; when the timeout is answered, it goes on behind that.
        if let ThreadState::Running = self[thread].state {
            self[thread].context.forget_restart();
        }
        self.raise_timeout(thread, flags);
    }
}
