//! The domain schedule: time partitions that share nothing but the clock.

use abi::config::DOMAIN_SCHEDULE_LENGTH;

use crate::time::Ticks;

/// One entry of the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DomainEntry {
    /// The domain that runs.
    pub domain: u8,
    /// The time for which it runs; zero marks the end of the schedule.
    pub duration: Ticks,
}

impl DomainEntry {
    /// The marker after the last entry.
    pub const END: Self = Self {
        domain: 0,
        duration: Ticks::ZERO,
    };

    /// Whether the schedule ends here.
    pub const fn is_end(self) -> bool {
        self.duration.0 == 0
    }
}

/// The longest duration of an entry: 56 bits.
pub const MAX_DURATION: Ticks = Ticks((1 << 56) - 1);

/// The schedule, which repeats from its start index.
#[derive(Debug)]
pub struct DomainSchedule {
    /// The entries; the last one is always an end marker.
    pub entries: [DomainEntry; DOMAIN_SCHEDULE_LENGTH],
    /// The index of its first entry.
    pub start: usize,
}

impl DomainSchedule {
    /// Domain 0 all the time.
    pub const fn new() -> Self {
        let mut entries = [DomainEntry::END; DOMAIN_SCHEDULE_LENGTH];
        entries[0].duration = MAX_DURATION;
        Self { entries, start: 0 }
    }

    /// The index of the entry that follows the one at `index`.
    pub fn after(&self, index: usize) -> usize {
        let next = index + 1;
        if next >= self.entries.len() || self.entries[next].is_end() {
            self.start
        } else {
            next
        }
    }
}
