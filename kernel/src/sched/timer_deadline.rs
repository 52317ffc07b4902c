//! The timer deadline: the timer is programmed only for events that can change which thread runs.
//!
//! These are the end of the current context's budget, the end of the domain's time slot, and the release of a
//! thread that would preempt the current one. Which releases would preempt depends on the rank of the current
//! thread, so the deadline records for which ranks it is valid: a switch within these ranks needs neither the
//! release queues nor the timer.
//!
//! Here the rank of the current thread is counted as a *level*: the lowest rank that would preempt it. The
//! idle loop has level 0, at which every thread preempts; at the highest level none does.

use super::charge::Budget;
use crate::Kernel;
use crate::arch::Arch;
use crate::object::Thread;
use crate::time::Ticks;
use crate::token::Ptr;

/// The timer deadline, and the levels for which it is valid.
#[derive(Debug)]
#[repr(C)]
pub struct TimerDeadline {
    time: Ticks,
    /// At this level or above, no thread that would preempt is released earlier.
    lowest: u16,
    /// At this level or above, it may be too early, because the thread released then would not preempt.
    end: u16,
}

/// Above all levels.
const TOP: u16 = 2 * abi::PRIORITIES as u16 + 1;

/// The level of a rank.
pub(crate) const fn preemption_rank(rank: u16) -> u16 {
    rank + 1
}

/// Offsets for fast paths in assembly.
impl TimerDeadline {
    /// Offset of the time.
    pub const TIME: usize = core::mem::offset_of!(Self, time);
    /// Offset of the lowest level.
    pub const LOWEST: usize = core::mem::offset_of!(Self, lowest);
    /// Offset of the level from which on the deadline may be too early.
    pub const END: usize = core::mem::offset_of!(Self, end);
}

impl TimerDeadline {
    /// No deadline, valid for no level.
    pub const NONE: Self = Self {
        time: Ticks::ZERO,
        lowest: TOP,
        end: 0,
    };

    #[inline(always)]
    pub(crate) const fn is_right_for(&self, level: u16) -> bool {
        self.lowest <= level && level < self.end
    }

    /// The time of the deadline.
    pub const fn time(&self) -> Ticks {
        self.time
    }

    /// Whether no thread can be due at `level` or above, because the deadline is in the future and would
    /// otherwise be earlier.
    #[inline(always)]
    pub fn excludes_due(&self, now: Ticks, level: u16) -> bool {
        now < self.time && self.lowest <= level
    }

    /// A thread of level `level` waits for a release at `moment`. If that is before the deadline,
    /// the deadline is too late for lower levels.
    pub fn include(&mut self, level: u16, moment: Ticks) {
        if moment < self.time {
            self.lowest = self.lowest.max(level);
        }
    }

    /// A thread no longer waits for a release at `moment`, so that the deadline may be too early.
    pub fn remove(&mut self, moment: Ticks) {
        if moment == self.time {
            self.end = 0;
        }
    }
}

impl<A: Arch> Kernel<A> {
    /// The level of the current thread, or of the idle loop.
    #[inline(always)]
    pub(crate) fn preemption_rank_of(&self, thread: Option<Ptr<Thread<A>>>) -> u16 {
        thread.map_or(0, |thread| preemption_rank(self.rank(thread)))
    }

    /// Programs the timer for the next event, if that may have changed. `level` is that of the current
    /// thread.
    pub(crate) fn update_timer_deadline(&mut self, level: u16) {
        self.arm(level);
    }

    /// The same, inlined.
    #[inline(always)]
    pub(super) fn arm(&mut self, level: u16) {
        let reprogram = core::mem::take(&mut self.core.reprogram);
        if !reprogram && self.core.timer_deadline.is_right_for(level) {
            return;
        }
        let budget = self.budget();
        if reprogram {
            self.core.check_threshold = self.check_threshold(&budget);
        }
        let (time, end) = self.next_timer_deadline(&budget, level);
        if reprogram || time != self.core.timer_deadline.time {
            self.arch.set_deadline(time);
        }
        self.core.timer_deadline = TimerDeadline {
            time,
            lowest: level,
            end,
        };
    }

    /// The next deadline for a level, and from which level on it would be too early.
    #[inline(always)]
    fn next_timer_deadline(&self, budget: &Budget, level: u16) -> (Ticks, u16) {
        let end = self.budget_end(budget).min(self.domain_end());
        let domain = self.core.current_domain();
        if self.core.release.earliest(domain) >= end {
            return (end, TOP);
        }
        match self
            .core
            .release
            .earliest_from(domain, level, self.core.level)
        {
            Some((rank, time)) if time < end => (time, self::preemption_rank(rank)),
            _ => (end, TOP),
        }
    }

    /// Other cores may have changed the budget of the current context and the release queues: computes the
    /// budget check threshold again, and makes the end of this entry program the timer again.
    #[cfg(feature = "smp")]
    pub(crate) fn recompute_deadlines(&mut self) {
        self.core.check_threshold = self.check_threshold(&self.budget());
        self.core.timer_deadline = TimerDeadline::NONE;
    }

    /// Whether the timer deadline is the right one: for invariant checks.
    #[cfg(any(test, feature = "invariants"))]
    pub(crate) fn is_timer_deadline_right(&self) -> bool {
        let level = self.preemption_rank_of(self.core.current);
        self.core.timer_deadline.is_right_for(level)
            && self.core.timer_deadline.time == self.next_timer_deadline(&self.budget(), level).0
    }

    /// The time for which the timer is programmed.
    #[cfg(any(test, feature = "invariants"))]
    pub fn timer_deadline(&self) -> Ticks {
        self.core.timer_deadline.time
    }

    /// Whether a thread is due at `level` or above.
    pub(crate) fn is_due_from(&self, level: u16) -> bool {
        !self.core.timer_deadline.excludes_due(self.core.now, level)
            && self.is_first_due_from(level)
    }

    /// The slow path, where the deadline does not rule it out.
    #[inline(never)]
    fn is_first_due_from(&self, level: u16) -> bool {
        let domain = self.core.current_domain();
        let first = self
            .core
            .release
            .earliest_from(domain, level, self.core.level);
        first.is_some_and(|(_, moment)| moment <= self.core.now)
    }
}
