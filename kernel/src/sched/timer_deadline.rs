//! The timer deadline: the timer is programmed only for events that can change which thread runs.
//!
//! These are the end of the current context's budget, the end of the domain's turn, and the release of a thread
//! that would preempt the current one. Which releases would preempt depends on the rank of the current thread,
//! so the deadline records for which ranks it is valid: a switch within these ranks needs neither the release
//! queues nor the timer.

use super::Scheduler;
use super::charge::Budget;
use crate::arch::Arch;
use crate::object::Thread;
use crate::time::Ticks;
use crate::token::Ptr;

/// The lowest rank of a thread that would preempt: one more than the rank of the current thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct PreemptionRank(u16);

impl PreemptionRank {
    /// That of the idle loop, which every thread preempts.
    const LOWEST: Self = Self(0);
    /// Higher than that of any thread.
    const TOP: Self = Self(2 * abi::PRIORITIES as u16 + 1);

    /// That of a thread of this rank.
    #[inline(always)]
    pub(crate) const fn of(rank: u16) -> Self {
        Self(rank + 1)
    }

    /// That at which a thread of equal rank preempts, too, if it has waited longer.
    #[inline(always)]
    pub(crate) const fn at(rank: u16) -> Self {
        Self(rank)
    }

    /// The rank itself.
    #[inline(always)]
    pub(crate) const fn rank(self) -> u16 {
        self.0
    }
}

/// The timer deadline, and the preemption ranks for which it is valid.
#[derive(Debug)]
#[repr(C)]
pub struct TimerDeadline {
    time: Ticks,
    /// At this preemption rank or above, no thread that would preempt is released earlier.
    lowest: PreemptionRank,
    /// At this preemption rank or above, it may be too early, because the thread released then would not
    /// preempt.
    end: PreemptionRank,
}

/// Offsets for fast paths in assembly.
impl TimerDeadline {
    /// Offset of the time.
    pub const TIME: usize = core::mem::offset_of!(Self, time);
    /// Offset of the lowest preemption rank.
    pub const LOWEST: usize = core::mem::offset_of!(Self, lowest);
    /// Offset of the preemption rank from which on the deadline may be too early.
    pub const END: usize = core::mem::offset_of!(Self, end);
}

impl TimerDeadline {
    /// No deadline, valid for no preemption rank.
    pub const NONE: Self = Self {
        time: Ticks::ZERO,
        lowest: PreemptionRank::TOP,
        end: PreemptionRank::LOWEST,
    };

    #[inline(always)]
    pub(crate) const fn is_right_for(&self, rank: PreemptionRank) -> bool {
        self.lowest.0 <= rank.0 && rank.0 < self.end.0
    }

    /// The time of the deadline.
    pub const fn time(&self) -> Ticks {
        self.time
    }

    /// Whether no thread can be due at `rank` or above, because the deadline is in the future and would
    /// otherwise be earlier.
    #[inline(always)]
    pub fn excludes_due(&self, now: Ticks, rank: PreemptionRank) -> bool {
        now < self.time && self.lowest <= rank
    }

    /// A thread with the preemption rank `rank` waits for its release at `time`. If that is before the deadline,
    /// the deadline is too late for lower preemption ranks.
    pub fn include(&mut self, rank: PreemptionRank, time: Ticks) {
        if time < self.time {
            self.lowest = self.lowest.max(rank);
        }
    }

    /// A thread no longer waits for a release at `time`, so that the deadline may be too early.
    pub fn remove(&mut self, time: Ticks) {
        if time == self.time {
            self.end = PreemptionRank::LOWEST;
        }
    }
}

impl<A: Arch> Scheduler<A> {
    /// The preemption rank of a thread, or of the idle loop.
    #[inline(always)]
    pub(crate) fn preemption_rank_of(&self, thread: Option<Ptr<Thread<A>>>) -> PreemptionRank {
        thread.map_or(PreemptionRank::LOWEST, |thread| {
            PreemptionRank::of(self.rank(thread))
        })
    }

    /// Programs the timer for the next event, if that may have changed. `rank` is the preemption rank
    /// of the current thread.
    pub(crate) fn update_timer_deadline(&mut self, rank: PreemptionRank) {
        if self.core.reprogram || !self.core.timer_deadline.is_right_for(rank) {
            self.program_timer(rank);
        }
    }

    /// Programs the timer for the next event.
    #[inline(always)]
    pub(crate) fn program_timer(&mut self, rank: PreemptionRank) {
        let reprogram = core::mem::take(&mut self.core.reprogram);
        let budget = self.budget();
        if reprogram {
            self.core.check_threshold = self.check_threshold(&budget);
        }
        self.program(&budget, rank, reprogram);
    }

    /// Programs the timer for another current context, which has this budget.
    #[inline(always)]
    pub(crate) fn arm_for(&mut self, budget: &Budget, rank: PreemptionRank) {
        self.core.reprogram = false;
        self.core.check_threshold = self.check_threshold(budget);
        self.program(budget, rank, true);
    }

    #[inline(always)]
    fn program(&mut self, budget: &Budget, rank: PreemptionRank, always: bool) {
        let (time, end) = self.next_timer_deadline(budget, rank);
        if always || time != self.core.timer_deadline.time {
            self.arch.set_deadline(time);
        }
        self.core.timer_deadline = TimerDeadline {
            time,
            lowest: rank,
            end,
        };
    }

    /// The next deadline for a preemption rank, and the preemption rank from which on it would be too early.
    #[inline(always)]
    fn next_timer_deadline(
        &self,
        budget: &Budget,
        rank: PreemptionRank,
    ) -> (Ticks, PreemptionRank) {
        let end = self.budget_end(budget).min(self.domain_end());
        let domain = self.core.current_domain();
        if self.core.release.earliest(domain) >= end {
            return (end, PreemptionRank::TOP);
        }
        match self.earliest_release_from(rank) {
            Some((rank, time)) if time < end => (time, PreemptionRank::of(rank)),
            _ => (end, PreemptionRank::TOP),
        }
    }

    /// Whether the timer deadline is the right one: for invariant checks.
    #[cfg(any(test, feature = "invariants"))]
    pub(crate) fn is_timer_deadline_right(&self) -> bool {
        let rank = self.preemption_rank_of(self.core.current);
        self.core.timer_deadline.is_right_for(rank)
            && self.core.timer_deadline.time == self.next_timer_deadline(&self.budget(), rank).0
    }

    /// The time for which the timer is programmed.
    #[cfg(any(test, feature = "invariants"))]
    pub fn timer_deadline(&self) -> Ticks {
        self.core.timer_deadline.time
    }

    /// Whether a thread is due that would preempt at `rank`.
    pub(crate) fn is_due_from(&self, rank: PreemptionRank) -> bool {
        !self.core.timer_deadline.excludes_due(self.core.now, rank) && self.is_first_due_from(rank)
    }

    /// The slow path, where the deadline does not rule it out.
    #[inline(never)]
    fn is_first_due_from(&self, rank: PreemptionRank) -> bool {
        let first = self.earliest_release_from(rank);
        first.is_some_and(|(_, time)| time <= self.core.now)
    }

    /// Whether a thread is due by now that would preempt the current one; while the timer is off.
    pub(super) fn is_overdue(&self) -> bool {
        let rank = self.preemption_rank_of(self.core.current);
        let first = self.earliest_release_from(rank);
        first.is_some_and(|(_, time)| time <= self.arch.now())
    }

    /// The earliest release of a thread that would preempt at `rank`, with the rank of the thread.
    #[inline(always)]
    fn earliest_release_from(&self, rank: PreemptionRank) -> Option<(u16, Ticks)> {
        let (domain, level) = (self.core.current_domain(), self.core.level);
        self.core.release.earliest_from(domain, rank.rank(), level)
    }
}
