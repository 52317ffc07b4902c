//! Round robin: timeslices without replenishments.

use super::Entry;
use crate::time::Ticks;

/// The two entries of a round-robin context, stored like a list of replenishments: the first is the
/// remaining timeslice, the second the part that was used.
#[derive(Debug)]
pub struct Slice<'a> {
    /// The entries.
    pub entries: &'a mut [Entry; 2],
    /// The sum of both.
    pub budget: Ticks,
}

impl Slice<'_> {
    /// The remaining timeslice.
    #[inline(always)]
    pub const fn rest(&self) -> Ticks {
        let [left, used] = *self.entries;
        left.head(used, self.budget).amount
    }

    /// Moves `usage` from the remaining to the used part.
    #[inline(always)]
    pub fn charge(&mut self, usage: Ticks) {
        let usage = usage.min(self.rest());
        let used = &mut self.entries[1];
        used.total = used.total.wrapping_add(usage.0);
    }

    /// Forfeits the remaining timeslice, and starts a full one.
    #[inline(always)]
    pub const fn give_up(&mut self) {
        // If all of it were used, the used total would exceed the remaining total by the budget.
        let total = self.entries[0].total.wrapping_add(self.budget.0);
        self.entries[0].total = total;
        self.entries[1].total = total;
    }

    /// Starts a full timeslice.
    #[inline(always)]
    pub const fn renew(&mut self) {
        self.entries[0].total = self.entries[1].total;
    }
}
