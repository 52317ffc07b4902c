//! Who runs afterwards, and who pays.

use super::{Declined, Way, usual};
use crate::Kernel;
use crate::arch::Arch;
use crate::object::{SchedContext, Thread, ThreadState};
use crate::sched::level;
use crate::time::Ticks;
use crate::token::Ptr;

/// A look at the clock that has had no effect yet.
#[derive(Clone, Copy)]
pub(super) struct Look {
    pub(super) now: Ticks,
    consumed: Ticks,
}

impl<A: Arch> Kernel<A> {
    /// Looks at the clock. Declines where the current thread's time has to be looked at, too.
    #[inline(always)]
    pub(super) fn look(&self) -> Way<Look> {
        usual(abi::config::DOMAINS == 1)?;
        let now = self.arch.now();
        let passed = now.saturating_sub(self.core.now);
        let consumed = self.core.consumed + passed;
        usual(consumed < self.core.allowance)?;
        Ok(Look { now, consumed })
    }

    /// Looks at the clock where that is wanted although the same context goes on paying.
    #[inline(always)]
    pub(super) fn glance(&self) -> Way<Option<Look>> {
        // Where every entry has to be looked at, there is no allowance. That includes critical time at
        // levels above 0, so that here priorities tell who is more urgent.
        usual(!cfg!(feature = "thresholds") || self.core.allowance != Ticks::ZERO)?;
        if !self.arch.always_looks() {
            return Ok(None);
        }
        let look = self.look()?;
        usual(look.now < self.core.alarm.time())?;
        usual(look.now < self.core.release.earliest(self.core.current_domain()))?;
        Ok(Some(look))
    }

    /// The scheduling context that pays.
    #[inline(always)]
    pub(super) fn paying_context(&self) -> Way<Ptr<SchedContext<A>>> {
        self.core.current_context.ok_or(Declined)
    }

    /// Whether `next` may run in this core's present turn.
    #[inline(always)]
    fn is_its_turn(&self, next: Ptr<Thread<A>>) -> bool {
        abi::config::DOMAINS == 1 || self[next].domain == self.core.current_domain()
    }

    /// Whether nobody who is ready would run instead of `next` when the current thread has blocked and
    /// `next` has its time. Whoever is released makes the timer interrupt, see [`Kernel::go_on_with`].
    #[inline(always)]
    pub(super) fn inherits(&self, current: Ptr<Thread<A>>, next: Ptr<Thread<A>>) -> Way<()> {
        let (before, after) = (self[current].priority, self[next].priority);
        usual(self.is_its_turn(next))?;
        usual(before <= after || self.is_nobody_above(after))
    }

    /// Whether nobody is ready, or was due when the clock was read last, who is more urgent than a
    /// priority.
    fn is_nobody_above(&self, priority: u8) -> bool {
        !self.is_anybody_above(priority) && !self.is_due_from(level(priority.into()))
    }

    /// Whether somebody is ready who is more urgent than a priority, or has a criticality.
    #[inline(always)]
    fn is_anybody_above(&self, priority: u8) -> bool {
        let highest = self.core.ready.hint(self.core.current_domain());
        highest.is_some_and(|highest| highest > u16::from(priority))
    }

    /// Whether `next` can run on the time that it has.
    #[inline(always)]
    pub(super) fn can_run(&self, next: Ptr<Thread<A>>, now: Ticks) -> Way<()> {
        let context = self[next].sched_context.ok_or(Declined)?;
        usual(self.is_its_turn(next) && self[context].is_configured())?;
        usual(!self[context].is_used_waiting())?;
        usual(self[context].is_available(now, Ticks::ZERO, self.min_budget()))
    }

    /// Who runs when the current thread blocks, if that is one of those who are ready: nobody is due who
    /// would run instead.
    #[inline(always)]
    pub(super) fn first_ready(&self, look: Look) -> Way<Ptr<Thread<A>>> {
        let domain = self.core.current_domain();
        let priority = self.core.ready.hint(domain).ok_or(Declined)?;
        let priority = u8::try_from(priority).map_err(|_| Declined)?;
        let first = self.core.ready.first_normal(domain, priority);
        let next = first.flatten().ok_or(Declined)?;
        usual(matches!(self[next].state, ThreadState::Running))?;
        usual(self[next].yielding_to.is_none())?;
        self.is_nobody_due(level(priority.into()), look.now)?;
        Ok(next)
    }

    /// Whether nobody is due who would run at a level or above.
    #[inline(always)]
    fn is_nobody_due(&self, level: u16, now: Ticks) -> Way<()> {
        let domain = self.core.current_domain();
        usual(self.core.alarm.rules_out(now, level) || self.core.release.earliest(domain) > now)
    }

    /// Whether nobody but `next` would run instead of the current thread if that blocks now.
    #[inline(always)]
    pub(super) fn follows(
        &self,
        current: Ptr<Thread<A>>,
        next: Ptr<Thread<A>>,
        now: Ticks,
    ) -> Way<()> {
        let (before, after) = (self[current].priority, self[next].priority);
        usual(before <= after || !self.is_anybody_above(after))?;
        self.is_nobody_due(level(after.into()), now)
    }

    /// The level of a thread that runs by a fast path: it is in the lower band, or there is only one.
    #[inline(always)]
    fn fast_level(&self, next: Ptr<Thread<A>>) -> u16 {
        level(self[next].priority.into())
    }

    /// `next` runs from now on, on the time of the thread that ran.
    #[inline(always)]
    pub(super) fn go_on_with(&mut self, before: Ptr<Thread<A>>, next: Ptr<Thread<A>>) {
        self.core.current = Some(next);
        if self[before].priority != self[next].priority {
            self.update_alarm(self.fast_level(next));
        }
        A::switch_to(self, Some(next));
    }

    /// Whether nobody but the current thread and one that wakes can be the one that runs now: nobody else
    /// is due.
    #[inline(always)]
    pub(super) fn is_decided_between(
        &self,
        current: Ptr<Thread<A>>,
        other: Ptr<Thread<A>>,
        now: Ticks,
    ) -> Way<()> {
        let more_urgent = if self[other].priority > self[current].priority {
            other
        } else {
            current
        };
        self.follows(current, more_urgent, now)
    }

    /// The look at the clock, if there was one, counts.
    #[inline(always)]
    pub(super) fn note(&mut self, look: Option<Look>) {
        if let Some(look) = look {
            (self.core.now, self.core.consumed) = (look.now, look.consumed);
        }
    }

    /// `next` runs from now on, on its own time.
    #[inline(always)]
    pub(super) fn switch_at(&mut self, look: Look, next: Ptr<Thread<A>>) {
        self.note(Some(look));
        self.wake_context(next);
        self.core.current = Some(next);
        self.switch_payer(self.fast_level(next));
        A::switch_to(self, Some(next));
    }

    /// `next`, who was ready, runs from now on, on its own time.
    #[inline(always)]
    pub(super) fn switch_to_ready(&mut self, next: Ptr<Thread<A>>) {
        self.leave_scheduler(next);
        self.core.current = Some(next);
        self.switch_payer(self.fast_level(next));
        A::switch_to(self, Some(next));
    }
}
