//! Round robin: a slice of time without replenishments.

use super::Entry;
use crate::time::Ticks;

/// The two entries of a round-robin context, kept like a list of replenishments: the first is what is
/// left of the slice, the second what was used of it.
#[derive(Debug)]
pub struct Slice<'a> {
    /// The entries.
    pub entries: &'a mut [Entry; 2],
    /// What both add up to.
    pub budget: Ticks,
}

impl Slice<'_> {
    /// What is left.
    #[inline(always)]
    pub const fn rest(&self) -> Ticks {
        let [left, used] = *self.entries;
        left.head(used, self.budget).amount
    }

    /// Moves `usage` from what is left to what was used.
    #[inline(always)]
    pub fn charge(&mut self, usage: Ticks) {
        let usage = usage.min(self.rest());
        let used = &mut self.entries[1];
        used.total = used.total.wrapping_add(usage.0);
    }

    /// What is left is given up, and the slice is full again.
    #[inline(always)]
    pub const fn give_up(&mut self) {
        // The total of what is left ends where what is used does when all of it is.
        let total = self.entries[0].total.wrapping_add(self.budget.0);
        self.entries[0].total = total;
        self.entries[1].total = total;
    }

    /// A full slice again.
    #[inline(always)]
    pub const fn renew(&mut self) {
        self.entries[0].total = self.entries[1].total;
    }
}
