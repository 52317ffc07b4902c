//! Whose turn it is among domains, and for how long.

use crate::Kernel;
use crate::arch::Arch;
use crate::object::DomainSchedule;
use crate::time::Ticks;

/// A core's place in the schedule of domains.
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
        // Known where there is only one, so that nobody looks for its queues.
        if abi::config::DOMAINS == 1 {
            0
        } else {
            self.domain
        }
    }

    /// Time passes, whether somebody runs or not.
    pub fn pass(&mut self, time: Ticks) {
        self.remaining = self.remaining.saturating_sub(time);
    }

    fn enter(&mut self, schedule: &DomainSchedule, index: usize) {
        let entry = schedule.entries[index];
        (self.index, self.domain, self.remaining) = (index, entry.domain, entry.duration);
    }
}

impl<A: Arch> Kernel<A> {
    /// Whether there is more than one domain, so that their time matters.
    pub(super) const fn has_domains() -> bool {
        abi::config::DOMAINS > 1
    }

    /// Whether the turn of the current domain is over: what remains would not pay for a kernel entry.
    pub(crate) fn domain_expired(&self) -> bool {
        Self::has_domains() && self.core.domain.remaining < self.min_budget()
    }

    /// The moment at which the turn of the current domain ends.
    pub(super) fn domain_end(&self) -> Ticks {
        if Self::has_domains() {
            self.core.now.saturating_add(self.core.domain.remaining)
        } else {
            Ticks::NEVER
        }
    }

    /// Gives the next domain its turn.
    pub(super) fn next_domain(&mut self) {
        let next = self.domains.after(self.core.domain.index);
        self.core.domain.enter(&self.domains, next);
        self.core.reprogram = true;
        self.choose_again();
    }

    /// Restarts the schedule at its start index.
    pub(crate) fn restart_domain_schedule(&mut self) {
        self.core.domain.enter(&self.domains, self.domains.start);
        self.core.reprogram = true;
        self.choose_again();
    }
}
