//! The switch at the end of a fast path: the thread to run, and the current scheduling context.

use super::{Declined, Way, usual};
use crate::Kernel;
use crate::arch::Arch;
use crate::object::{SchedContext, Thread, ThreadState};
use crate::sched::level;
use crate::time::Ticks;
use crate::token::Ptr;

/// A reading of the clock that is not yet stored in the kernel's state.
#[derive(Clone, Copy)]
pub(super) struct Look {
    pub(super) now: Ticks,
    consumed: Ticks,
}

impl<A: Arch> Kernel<A> {
    /// Reads the clock. Not eligible if the current scheduling context needs a budget check, or in kernels
    /// with several domains.
    #[inline(always)]
    pub(super) fn look(&self) -> Way<Look> {
        usual(abi::config::DOMAINS == 1)?;
        let now = self.arch.now();
        let passed = now.saturating_sub(self.core.now);
        let consumed = self.core.consumed + passed;
        usual(consumed < self.core.allowance)?;
        Ok(Look { now, consumed })
    }

    /// Reads the clock if the architecture requires this of every fast path, for fast paths on which the
    /// current scheduling context does not change.
    #[inline(always)]
    pub(super) fn glance(&self) -> Way<Option<Look>> {
        // If every entry needs a budget check, its threshold is zero. This includes contexts with a
        // criticality at levels above 0; so comparing priorities is enough here.
        usual(!cfg!(feature = "thresholds") || self.core.allowance != Ticks::ZERO)?;
        if !self.arch.always_looks() {
            return Ok(None);
        }
        let look = self.look()?;
        usual(look.now < self.core.alarm.time())?;
        usual(look.now < self.core.release.earliest(self.core.current_domain()))?;
        Ok(Some(look))
    }

    /// The current scheduling context.
    #[inline(always)]
    pub(super) fn paying_context(&self) -> Way<Ptr<SchedContext<A>>> {
        self.core.current_context.ok_or(Declined)
    }

    /// Whether `next` is in the current domain of this core.
    #[inline(always)]
    fn is_its_turn(&self, next: Ptr<Thread<A>>) -> bool {
        abi::config::DOMAINS == 1 || self[next].domain == self.core.current_domain()
    }

    /// Not eligible unless `next` is the thread to run when the current thread has blocked and `next` has its
    /// context. Later releases make the timer interrupt, see [`Kernel::go_on_with`].
    #[inline(always)]
    pub(super) fn inherits(&self, current: Ptr<Thread<A>>, next: Ptr<Thread<A>>) -> Way<()> {
        let (before, after) = (self[current].priority, self[next].priority);
        usual(self.is_its_turn(next))?;
        usual(before <= after || self.is_nobody_above(after))
    }

    /// Whether no higher-priority thread is ready or was due when the clock was last read.
    fn is_nobody_above(&self, priority: u8) -> bool {
        !self.is_anybody_above(priority) && !self.is_due_from(level(priority.into()))
    }

    /// Whether a thread is ready that has a higher priority or a criticality.
    #[inline(always)]
    fn is_anybody_above(&self, priority: u8) -> bool {
        let highest = self.core.ready.hint(self.core.current_domain());
        highest.is_some_and(|highest| highest > u16::from(priority))
    }

    /// Not eligible unless `next` can run on its own context.
    #[inline(always)]
    pub(super) fn can_run(&self, next: Ptr<Thread<A>>, now: Ticks) -> Way<()> {
        let context = self[next].sched_context.ok_or(Declined)?;
        usual(self.is_its_turn(next) && self[context].is_configured())?;
        usual(!self[context].is_used_waiting())?;
        usual(self[context].is_available(now, Ticks::ZERO, self.min_budget()))
    }

    /// The ready thread that runs when the current thread blocks. Not eligible if a thread is due that would
    /// run instead.
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

    /// Not eligible if a thread may be due that would run at a preemption level or above.
    #[inline(always)]
    fn is_nobody_due(&self, level: u16, now: Ticks) -> Way<()> {
        let domain = self.core.current_domain();
        usual(self.core.alarm.rules_out(now, level) || self.core.release.earliest(domain) > now)
    }

    /// Not eligible unless `next` is the thread to run when the current thread blocks now.
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

    /// The preemption level of a thread that runs by a fast path. Its criticality does not raise it.
    #[inline(always)]
    fn fast_level(&self, next: Ptr<Thread<A>>) -> u16 {
        level(self[next].priority.into())
    }

    /// Switches to `next`, which has got the context of the thread `before`.
    #[inline(always)]
    pub(super) fn go_on_with(&mut self, before: Ptr<Thread<A>>, next: Ptr<Thread<A>>) {
        self.core.current = Some(next);
        if self[before].priority != self[next].priority {
            self.update_alarm(self.fast_level(next));
        }
        A::switch_to(self, Some(next));
    }

    /// Not eligible unless the thread to run is either the current thread or `other`, which wakes up.
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

    /// Stores the reading of the clock, if there is one, in the kernel's state.
    #[inline(always)]
    pub(super) fn note(&mut self, look: Option<Look>) {
        if let Some(look) = look {
            (self.core.now, self.core.consumed) = (look.now, look.consumed);
        }
    }

    /// Switches to `next`, which wakes up, on its own context.
    #[inline(always)]
    pub(super) fn switch_at(&mut self, look: Look, next: Ptr<Thread<A>>) {
        self.note(Some(look));
        self.wake_context(next);
        self.core.current = Some(next);
        self.switch_payer(self.fast_level(next));
        A::switch_to(self, Some(next));
    }

    /// Switches to `next`, which was ready, on its own context.
    #[inline(always)]
    pub(super) fn switch_to_ready(&mut self, next: Ptr<Thread<A>>) {
        self.leave_scheduler(next);
        self.core.current = Some(next);
        self.switch_payer(self.fast_level(next));
        A::switch_to(self, Some(next));
    }
}
