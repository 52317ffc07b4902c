//! The switch at the end of a fast path: the thread to run, and the current scheduling context.

use super::{Eligible, NotEligible, eligible};
use crate::Kernel;
use crate::arch::Arch;
use crate::object::{ContextFlags, Progress, SchedContext, Thread, ThreadState};
use crate::sched::{Budget, PreemptionRank};
use crate::time::Ticks;
use crate::token::Ptr;

/// A reading of the clock that is not yet stored in the kernel's state.
#[derive(Clone, Copy)]
pub(super) struct ClockReading {
    pub(super) now: Ticks,
    pub(super) consumed: Ticks,
}

/// A context that can be used now, and has no limit.
#[derive(Clone, Copy)]
pub(super) struct Available<A: Arch> {
    context: Ptr<SchedContext<A>>,
    /// The head replenishment.
    amount: Ticks,
    /// The timer that is set for it.
    timer: Option<Ticks>,
}

impl<A: Arch> Kernel<A> {
    /// Reads the clock. Not eligible if the current scheduling context needs a budget check.
    #[inline(always)]
    pub(super) fn read_clock_with_budget(&self) -> Eligible<ClockReading> {
        let reading = self.reading()?;
        eligible(reading.consumed < self.core.check_threshold)?;
        Ok(reading)
    }

    /// The same for a fast path that leaves `context`, the current one, with the current thread: it may have a
    /// timer that has not expired.
    #[inline(always)]
    pub(super) fn read_clock_beside_timer(
        &self,
        current: Ptr<Thread<A>>,
        context: Ptr<SchedContext<A>>,
    ) -> Eligible<ClockReading> {
        let reading = self.reading()?;
        if reading.consumed >= self.core.check_threshold {
            self.has_budget_beside_timer(current, context, reading)?;
        }
        Ok(reading)
    }

    /// Not eligible unless a timer that has not expired is the only reason for a budget check, which passes.
    #[inline(never)]
    fn has_budget_beside_timer(
        &self,
        current: Ptr<Thread<A>>,
        context: Ptr<SchedContext<A>>,
        reading: ClockReading,
    ) -> Eligible<()> {
        eligible(self[context].is_configured() && self[context].has_at_most_a_timer())?;
        eligible(!matches!(self[current].progress, Progress::Deferred { .. }))?;
        self.is_timer_local(context)?;
        // Without a timer, the slow path finds that the context needs no checks any more.
        let timer = self.timer_of(context);
        eligible(reading.now < timer && timer < Ticks::NEVER)?;
        eligible(self.has_left(context, reading.consumed))
    }

    /// Reads the clock. Not eligible unless a limit of `context`, the current one, is the only reason for a budget
    /// check, which passes. A server that was called repeats no deferred message, which would be another reason.
    pub(super) fn read_clock_within_limit(
        &self,
        context: Ptr<SchedContext<A>>,
    ) -> Eligible<ClockReading> {
        eligible(self[context].has_at_most_a_limit_and_timer())?;
        eligible(self[context].yielded_from.is_none())?;
        let limit = self.limit_of(context).ok_or(NotEligible)?;
        let reading = self.reading()?;
        eligible(limit > reading.consumed.saturating_sub(self.core.consumed))?;
        eligible(self.has_left(context, reading.consumed))?;
        Ok(reading)
    }

    /// Not eligible unless the thread that has set the timer of a context, if one has, is on this core.
    #[inline(always)]
    pub(super) fn is_timer_local(&self, context: Ptr<SchedContext<A>>) -> Eligible<()> {
        match self[context].yielded_from {
            Some(setter) => self.is_on_this_core(self[setter].core),
            None => Ok(()),
        }
    }

    /// Reads the clock. Not eligible in kernels with several domains.
    #[inline(always)]
    fn reading(&self) -> Eligible<ClockReading> {
        eligible(abi::config::DOMAINS == 1)?;
        let now = self.arch.now();
        let passed = now.saturating_sub(self.core.now);
        let consumed = self.core.consumed + passed;
        Ok(ClockReading { now, consumed })
    }

    /// Reads the clock if the architecture requires this of every fast path, for fast paths on which the
    /// current scheduling context does not change.
    #[inline(always)]
    pub(super) fn read_clock_if_needed(&self) -> Eligible<Option<ClockReading>> {
        // If every entry needs a budget check, its threshold is zero. This includes contexts with a
        // criticality at levels above 0; so comparing priorities is enough here.
        eligible(!cfg!(feature = "thresholds") || self.core.check_threshold != Ticks::ZERO)?;
        if !self.arch.reads_clock_in_fast_paths() {
            return Ok(None);
        }
        let reading = self.read_clock_with_budget()?;
        eligible(reading.now < self.core.timer_deadline.time())?;
        eligible(reading.now < self.core.release.earliest(self.core.current_domain()))?;
        Ok(Some(reading))
    }

    /// Whether `next` is in the current domain of this core.
    #[inline(always)]
    fn is_in_current_domain(&self, next: Ptr<Thread<A>>) -> bool {
        abi::config::DOMAINS == 1 || self[next].domain == self.core.current_domain()
    }

    /// Not eligible unless `next` is the thread to run when the current thread has blocked and `next` has its
    /// context. A later release interrupts by the timer, see [`Kernel::switch_on_same_context`].
    #[inline(always)]
    pub(super) fn may_run_on_donated_time(
        &self,
        current: Ptr<Thread<A>>,
        next: Ptr<Thread<A>>,
    ) -> Eligible<()> {
        let (before, after) = (self[current].priority, self[next].priority);
        eligible(self.is_in_current_domain(next))?;
        eligible(before <= after || self.is_none_above(after))
    }

    /// Whether no higher-priority thread is ready or was due when the clock was last read.
    fn is_none_above(&self, priority: u8) -> bool {
        !self.is_any_above(priority) && !self.is_due_from(PreemptionRank::of(priority.into()))
    }

    /// Whether a thread is ready that has a higher priority or a criticality.
    #[inline(always)]
    fn is_any_above(&self, priority: u8) -> bool {
        let highest = self.core.ready.hint(self.core.current_domain());
        highest.is_some_and(|highest| highest > u16::from(priority))
    }

    /// The context of `next`. Not eligible unless `next` can run on it.
    #[inline(always)]
    pub(super) fn can_run(&self, next: Ptr<Thread<A>>, now: Ticks) -> Eligible<Available<A>> {
        let context = self.plain_context(next)?;
        self.has_budget_on(context, now)
    }

    /// The context of `next`. Not eligible unless only its budget decides whether `next` can run on it.
    #[inline(always)]
    pub(super) fn plain_context(&self, next: Ptr<Thread<A>>) -> Eligible<Ptr<SchedContext<A>>> {
        let context = self[next].sched_context.ok_or(NotEligible)?;
        eligible(self.is_in_current_domain(next) && self[context].is_configured())?;
        eligible(!self[context].may_expire_while_blocked())?;
        Ok(context)
    }

    /// The same for a context for which a timer will be set.
    #[inline(always)]
    pub(super) fn can_run_until(
        &self,
        next: Ptr<Thread<A>>,
        now: Ticks,
        timer: Ticks,
    ) -> Eligible<Available<A>> {
        let context = self[next].sched_context.ok_or(NotEligible)?;
        eligible(self.is_in_current_domain(next) && self[context].is_configured())?;
        eligible(self[context].has_at_most_a_timer())?;
        let available = self.has_budget_on(context, now)?;
        Ok(Available {
            timer: Some(timer),
            ..available
        })
    }

    #[inline(always)]
    pub(super) fn has_budget_on(
        &self,
        context: Ptr<SchedContext<A>>,
        now: Ticks,
    ) -> Eligible<Available<A>> {
        let head = self[context].head();
        eligible(head.time <= now && head.amount >= self.min_budget())?;
        Ok(Available {
            context,
            amount: head.amount,
            timer: None,
        })
    }

    /// The ready thread that runs when the current thread blocks, if [`Kernel::is_first`].
    #[inline(always)]
    pub(super) fn first_ready(&self) -> Eligible<Ptr<Thread<A>>> {
        let domain = self.core.current_domain();
        let priority = self.core.ready.hint(domain).ok_or(NotEligible)?;
        let priority = u8::try_from(priority).map_err(|_| NotEligible)?;
        let first = self.core.ready.first_normal(domain, priority);
        first.flatten().ok_or(NotEligible)
    }

    /// What is available to the first ready thread. Not eligible if it does not continue on its context, or a thread is
    /// due that would run instead.
    #[inline(always)]
    pub(super) fn is_first(
        &self,
        next: Ptr<Thread<A>>,
        context: Ptr<SchedContext<A>>,
        reading: ClockReading,
    ) -> Eligible<Available<A>> {
        self.is_resumable(next)?;
        let available = self.has_budget_on(context, reading.now)?;
        // A due thread of the same priority may come before it.
        let rank = PreemptionRank::at(self[next].priority.into());
        self.is_none_due(rank, reading.now)?;
        Ok(available)
    }

    /// Not eligible unless `next`, which is in a queue, continues without further work of the kernel.
    #[inline(always)]
    pub(super) fn is_resumable(&self, next: Ptr<Thread<A>>) -> Eligible<()> {
        eligible(matches!(self[next].state, ThreadState::Running))?;
        eligible(self[next].yielding_to.is_none())
    }

    /// Not eligible if a thread may be due that would preempt at `rank`.
    #[inline(always)]
    fn is_none_due(&self, rank: PreemptionRank, now: Ticks) -> Eligible<()> {
        let domain = self.core.current_domain();
        eligible(
            self.core.timer_deadline.excludes_due(now, rank)
                || self.core.release.earliest(domain) > now,
        )
    }

    /// Not eligible unless `next` is the thread to run when the current thread blocks now.
    #[inline(always)]
    pub(super) fn runs_after_block(
        &self,
        current: Ptr<Thread<A>>,
        next: Ptr<Thread<A>>,
        now: Ticks,
    ) -> Eligible<()> {
        let (before, after) = (self[current].priority, self[next].priority);
        eligible(before <= after || !self.is_any_above(after))?;
        self.is_none_due(PreemptionRank::of(after.into()), now)
    }

    /// Not eligible unless `next` precedes all ready and due threads, if it is put at the front of its ready queue.
    #[inline(always)]
    pub(super) fn goes_first(&self, next: Ptr<Thread<A>>, now: Ticks) -> Eligible<()> {
        let priority = self[next].priority;
        eligible(!self.is_any_above(priority))?;
        self.is_none_due(PreemptionRank::of(priority.into()), now)
    }

    /// The preemption rank of a thread that runs by a fast path. Its criticality does not raise it.
    #[inline(always)]
    fn fast_preemption_rank(&self, next: Ptr<Thread<A>>) -> PreemptionRank {
        PreemptionRank::of(self[next].priority.into())
    }

    /// Switches to `next`, which has received the context of the thread `before`.
    #[inline(always)]
    pub(super) fn switch_on_same_context(&mut self, before: Ptr<Thread<A>>, next: Ptr<Thread<A>>) {
        self.core.current = Some(next);
        if self[before].priority != self[next].priority {
            let rank = self.fast_preemption_rank(next);
            self.update_timer_deadline(rank);
        }
        A::switch_to(self, Some(next));
    }

    /// Charges the current context, whose limit has changed, and switches to `next`, which has received it.
    pub(super) fn switch_on_charged_context(
        &mut self,
        context: Ptr<SchedContext<A>>,
        next: Ptr<Thread<A>>,
    ) {
        self.core.current = Some(next);
        let rank = self.fast_preemption_rank(next);
        self.switch_current_context(Some(context), rank);
        A::switch_to(self, Some(next));
    }

    /// Not eligible unless the thread to run is either the current thread or `other`, which wakes up. No ready thread
    /// has a higher priority than the current one.
    #[inline(always)]
    pub(super) fn is_decided_between(
        &self,
        current: Ptr<Thread<A>>,
        other: Ptr<Thread<A>>,
        now: Ticks,
    ) -> Eligible<()> {
        let higher = self[current].priority.max(self[other].priority);
        self.is_none_due(PreemptionRank::of(higher.into()), now)
    }

    /// Stores the reading of the clock, if there is one, in the kernel's state.
    #[inline(always)]
    pub(super) fn commit_reading(&mut self, reading: Option<ClockReading>) {
        if let Some(reading) = reading {
            (self.core.now, self.core.consumed) = (reading.now, reading.consumed);
        }
    }

    /// The thread of a context wakes up: unused budget of a sporadic context counts from now on.
    #[inline(always)]
    pub(super) fn unblock_context(&mut self, available: Available<A>) {
        let context = available.context;
        let is_sporadic = self[context].flags.contains(ContextFlags::SPORADIC);
        if is_sporadic && !self[context].is_round_robin() {
            let now = self.core.now;
            self[context].count_available_from(now, available.amount);
        }
    }

    /// Switches to `next`, which wakes up, on its own context.
    #[inline(always)]
    pub(super) fn switch_to_woken(&mut self, next: Ptr<Thread<A>>, available: Available<A>) {
        self.switch_context(next, available, true);
    }

    /// Switches to `next`, which was ready, on its own context.
    #[inline(always)]
    pub(super) fn switch_to_ready(&mut self, next: Ptr<Thread<A>>, available: Available<A>) {
        self.take_ready(next);
        self.switch_context(next, available, false);
    }

    /// Switches to `next`, which is in no queue, on its own context. Budget that was not used while other
    /// threads ran is not supplied later: a sporadic context loses it when its thread wakes up, a
    /// constant-bandwidth one whenever another thread ran.
    #[inline(always)]
    pub(super) fn switch_context(
        &mut self,
        next: Ptr<Thread<A>>,
        available: Available<A>,
        wakes: bool,
    ) {
        self.commit_time();
        let Available {
            context,
            amount,
            timer,
        } = available;
        self.core.current = Some(next);
        self.core.current_context = Some(context);
        let is_kept = self[context].is_round_robin()
            || !wakes && self[context].flags.contains(ContextFlags::SPORADIC);
        let now = self.core.now;
        let amount = match is_kept {
            true => amount,
            false => self[context].count_available_from(now, amount),
        };
        let rank = self.fast_preemption_rank(next);
        self.arm_for(&Budget::of(amount, timer), rank);
        A::switch_to(self, Some(next));
    }
}
