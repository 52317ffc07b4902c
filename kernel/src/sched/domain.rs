//! The domain schedule of a core: which domain runs, and for how long.

use super::Scheduler;
use crate::arch::Arch;
use crate::object::DomainSchedule;
use crate::time::Ticks;

/// A core's position in the domain schedule.
#[derive(Debug)]
pub struct DomainTime {
    index: usize,
    domain: u8,
    remaining: Ticks,
}

impl DomainTime {
    pub const fn new() -> Self {
        Self {
            index: 0,
            domain: 0,
            remaining: crate::object::MAX_DURATION,
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

    /// Time passes, whether a thread runs or the core idles.
    pub fn pass(&mut self, time: Ticks) {
        self.remaining = self.remaining.saturating_sub(time);
    }

    fn enter(&mut self, schedule: &DomainSchedule, index: usize) {
        let entry = schedule.entries[index];
        (self.index, self.domain, self.remaining) = (index, entry.domain, entry.duration);
    }
}

impl<A: Arch> Scheduler<A> {
    /// Whether there is more than one domain, so that their time matters.
    pub(super) const fn has_domains() -> bool {
        abi::config::DOMAINS > 1
    }

    /// Whether the time slot of the current domain is over: less than the smallest budget remains.
    pub(crate) fn domain_expired(&self) -> bool {
        Self::has_domains() && self.core.domain.remaining < self.min_budget()
    }

    /// The time at which the slot of the current domain ends.
    pub(super) fn domain_end(&self) -> Ticks {
        if Self::has_domains() {
            self.core.now.saturating_add(self.core.domain.remaining)
        } else {
            Ticks::NEVER
        }
    }

    /// Switches to the next domain.
    pub(crate) fn next_domain(&mut self) {
        self.enter_domain(self.domains.after(self.core.domain.index));
    }

    /// Continues at an index of the schedule.
    pub(crate) fn enter_domain(&mut self, index: usize) {
        self.core.domain.enter(&self.domains, index);
        self.trace_domain();
        self.core.reprogram = true;
        self.choose_again();
    }
}
