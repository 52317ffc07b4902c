//! The domain schedule of a core: which domain runs, and for how long.

use core::iter::successors;

use abi::config::DOMAIN_SCHEDULE_LENGTH;

use super::Scheduler;
use crate::arch::Arch;
use crate::object::DomainSchedule;
use crate::time::Ticks;

/// A core's position in the domain schedule.
#[derive(Debug)]
pub struct DomainTime {
    index: usize,
    domain: u8,
    /// When the turn ends. The next one is counted from there, however late the kernel gets to it, so that the schedule
    /// keeps its phase to the clock, by which time-driven guests release their jobs.
    end: Ticks,
}

impl DomainTime {
    pub const fn new() -> Self {
        Self {
            index: 0,
            domain: 0,
            end: crate::object::MAX_DURATION,
        }
    }

    #[inline(always)]
    pub const fn current(&self) -> u8 {
        // A constant with one domain, so that its queues need no lookup.
        if abi::config::DOMAINS == 1 {
            0
        } else {
            self.domain
        }
    }

    /// The turn of an entry, if it begins at `begin`.
    fn turn(schedule: &DomainSchedule, index: usize, begin: Ticks) -> Self {
        let entry = schedule.entries[index];
        Self {
            index,
            domain: entry.domain,
            end: begin.saturating_add(entry.duration),
        }
    }
}

impl<A: Arch> Scheduler<A> {
    /// Whether there is more than one domain, so that their time matters.
    pub(super) const fn has_domains() -> bool {
        abi::config::DOMAINS > 1
    }

    /// Whether the turn of the current domain is over: less than the smallest budget remains.
    pub(crate) fn domain_expired(&self) -> bool {
        Self::has_domains() && self.is_over(&self.core.domain)
    }

    fn is_over(&self, turn: &DomainTime) -> bool {
        turn.end.saturating_sub(self.core.now) < self.min_budget()
    }

    /// The time at which the turn of the current domain ends.
    pub(crate) fn domain_end(&self) -> Ticks {
        if Self::has_domains() {
            self.core.domain.end
        } else {
            Ticks::NEVER
        }
    }

    /// Whether a thread is ready in a domain that has a turn after the current one.
    pub fn is_ready_in_turns(&self) -> bool {
        let next = |&index: &usize| Some(self.domains.after(index));
        // To the end of the schedule, and then once from its start.
        let mut turns =
            successors(next(&self.core.domain.index), next).take(2 * DOMAIN_SCHEDULE_LENGTH);
        turns.any(|index| {
            let domain = self.domains.entries[index].domain;
            self.core.ready.hint(domain).is_some()
        })
    }

    /// Switches to the next domain. If less than the smallest budget of its turn would be left, the turn begins now, and
    /// the schedule has another phase from then on.
    pub(crate) fn next_domain(&mut self) {
        let DomainTime { index, end, .. } = self.core.domain;
        let index = self.domains.after(index);
        let turn = DomainTime::turn(&self.domains, index, end);
        if self.is_over(&turn) {
            self.enter_domain(index);
        } else {
            self.take_turn(turn);
        }
    }

    /// Continues at an index of the schedule, whose turn begins now.
    pub(crate) fn enter_domain(&mut self, index: usize) {
        self.take_turn(DomainTime::turn(&self.domains, index, self.core.now));
    }

    fn take_turn(&mut self, turn: DomainTime) {
        self.core.domain = turn;
        self.trace_domain();
        self.core.reprogram = true;
        self.choose_again();
    }
}
