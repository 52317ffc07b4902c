//! What the timer is armed for: only what can change who runs.
//!
//! That is the end of the current context's budget, the end of the domain's turn, or the release of a
//! thread that would preempt the current one. Which releases would preempt depends on the rank of
//! the current thread, so the alarm remembers for which ranks it is right: a switch within these
//! needs no look at the release queues and no access to the timer.
//!
//! The rank of the current thread is counted as a *level* here: that of the least urgent thread that
//! would preempt it. Idling is level 0, where everybody preempts; at the highest level nobody does.

use super::charge::Budget;
use crate::Kernel;
use crate::arch::Arch;
use crate::object::Thread;
use crate::time::Ticks;
use crate::token::Ptr;

/// The moment that the timer is armed for.
#[derive(Debug)]
#[repr(C)]
pub struct Alarm {
    time: Ticks,
    /// From which level on no earlier release would preempt.
    lowest: u16,
    /// From which level on it may be too early, because nobody is released then who would preempt.
    end: u16,
}

/// Beyond all levels.
const TOP: u16 = 2 * abi::PRIORITIES as u16 + 1;

/// The level of a rank.
pub(crate) const fn level(rank: u16) -> u16 {
    rank + 1
}

/// What fast paths in assembly know of alarms: see the fields.
impl Alarm {
    /// Offset of the moment.
    pub const TIME: usize = core::mem::offset_of!(Self, time);
    /// Offset of the lowest level.
    pub const LOWEST: usize = core::mem::offset_of!(Self, lowest);
    /// Offset of the level at which it may be too early.
    pub const END: usize = core::mem::offset_of!(Self, end);
}

impl Alarm {
    /// None, right for nobody.
    pub const NONE: Self = Self {
        time: Ticks::ZERO,
        lowest: TOP,
        end: 0,
    };

    #[inline(always)]
    pub(crate) const fn is_right_for(&self, level: u16) -> bool {
        self.lowest <= level && level < self.end
    }

    /// When it comes.
    pub const fn time(&self) -> Ticks {
        self.time
    }

    /// Whether nobody can be due at `level` or above, because the alarm is in the future and would be
    /// earlier otherwise.
    #[inline(always)]
    pub fn rules_out(&self, now: Ticks, level: u16) -> bool {
        now < self.time && self.lowest <= level
    }

    /// Somebody who would run at a level is going to be released at a moment.
    pub fn expect(&mut self, level: u16, moment: Ticks) {
        if moment < self.time {
            self.lowest = self.lowest.max(level);
        }
    }

    /// Somebody is not going to be released at that moment any more.
    pub fn expect_no_more(&mut self, moment: Ticks) {
        if moment == self.time {
            self.end = 0;
        }
    }
}

impl<A: Arch> Kernel<A> {
    /// The level of a thread that runs, or of the idle loop.
    #[inline(always)]
    pub(super) fn level_of(&self, thread: Option<Ptr<Thread<A>>>) -> u16 {
        thread.map_or(0, |thread| level(self.rank(thread)))
    }

    /// Arms the timer for the first thing that will happen by itself and matter, if that may have
    /// changed. `level` is that of who runs.
    pub(crate) fn update_alarm(&mut self, level: u16) {
        self.arm(level);
    }

    /// The same, inlined.
    #[inline(always)]
    pub(super) fn arm(&mut self, level: u16) {
        let reprogram = core::mem::take(&mut self.core.reprogram);
        if !reprogram && self.core.alarm.is_right_for(level) {
            return;
        }
        let budget = self.budget();
        if reprogram {
            self.core.allowance = self.allowance(&budget);
        }
        let (time, end) = self.next_alarm(&budget, level);
        if reprogram || time != self.core.alarm.time {
            self.arch.set_deadline(time);
        }
        self.core.alarm = Alarm {
            time,
            lowest: level,
            end,
        };
    }

    /// The next alarm for a level, and from which level on it would be too early.
    #[inline(always)]
    fn next_alarm(&self, budget: &Budget, level: u16) -> (Ticks, u16) {
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
            Some((rank, time)) if time < end => (time, self::level(rank)),
            _ => (end, TOP),
        }
    }

    /// Others may have changed how long the current context may be used, and who waits for what: from now
    /// on what is true now counts, and at the end of this entry the timer is armed anew.
    #[cfg(feature = "smp")]
    pub(crate) fn forget_limits(&mut self) {
        self.core.allowance = self.allowance(&self.budget());
        self.core.alarm = Alarm::NONE;
    }

    /// Whether the timer is armed for exactly what it should be: for those who check.
    #[cfg(any(test, feature = "invariants"))]
    pub(crate) fn alarm_is_right(&self) -> bool {
        let level = self.level_of(self.core.current);
        self.core.alarm.is_right_for(level)
            && self.core.alarm.time == self.next_alarm(&self.budget(), level).0
    }

    /// The moment that the timer is armed for.
    #[cfg(any(test, feature = "invariants"))]
    pub fn alarm(&self) -> Ticks {
        self.core.alarm.time
    }

    /// Whether somebody is due at `level` or above.
    pub(crate) fn is_due_from(&self, level: u16) -> bool {
        !self.core.alarm.rules_out(self.core.now, level) && self.is_first_due_from(level)
    }

    /// The same, where the alarm says nothing about it.
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
