//! The representation of a list of replenishments: a ring in an array.

use crate::time::Ticks;

/// From `time` on, `amount` may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Refill {
    /// The time from which it can be used.
    pub time: Ticks,
    /// Its amount.
    pub amount: Ticks,
}

impl Refill {
    pub(super) const fn new(time: Ticks, amount: Ticks) -> Self {
        Self { time, amount }
    }

    /// The earliest time at which all of it can have been used.
    pub(super) const fn end(self) -> Ticks {
        self.time.saturating_add(self.amount)
    }
}

/// A replenishment as it is stored: with the total of all amounts up to and including its own, counted from
/// some origin. The sum of consecutive replenishments is then a difference of two totals, and merging them
/// into the last one only drops the others.
///
/// Totals wrap around; only differences are meaningful.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Entry {
    /// The time from which it can be used.
    pub time: Ticks,
    pub(super) total: u64,
}

impl Entry {
    pub(super) const fn new(time: Ticks, total: u64) -> Self {
        Self { time, total }
    }

    /// The head of a list, if `tail` is its end and all amounts add up to `budget`.
    #[inline(always)]
    pub const fn head(self, tail: Self, budget: Ticks) -> Refill {
        self.refill(origin(tail, budget))
    }

    /// The replenishment, if it is that of the entry after `before`.
    #[cfg(feature = "tracing")]
    pub const fn after(self, before: Self) -> Refill {
        self.refill(before.total)
    }

    /// The replenishment, if the totals before it end at `origin`.
    pub(super) const fn refill(self, origin: u64) -> Refill {
        Refill::new(self.time, Ticks(self.total.wrapping_sub(origin)))
    }
}

/// The origin of the totals of a list that ends with `tail`: all amounts add up to the budget.
const fn origin(tail: Entry, budget: Ticks) -> u64 {
    tail.total.wrapping_sub(budget.0)
}

/// An entry count. On 32-bit machines the header of a scheduling context has no room for more bits.
#[cfg(target_pointer_width = "64")]
type Count = u32;
#[cfg(not(target_pointer_width = "64"))]
type Count = u16;

/// The largest number of entries of a ring.
pub const MAX_REFILLS: usize = Count::MAX as usize / 2;

/// The part of the array that is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct RefillRing {
    head: Count,
    count: Count,
    capacity: Count,
}

impl RefillRing {
    /// An empty ring over `capacity` entries, at most [`MAX_REFILLS`].
    pub const fn new(capacity: usize) -> Self {
        debug_assert!(capacity <= MAX_REFILLS);
        Self {
            head: 0,
            count: 0,
            capacity: capacity as Count,
        }
    }

    /// Number of entries in use.
    pub(super) const fn len(&self) -> usize {
        self.count as usize
    }

    /// The number of entries that the ring may use.
    pub const fn capacity(&self) -> usize {
        self.capacity as usize
    }

    /// The index of the entry at a position, counted from the head.
    #[inline(always)]
    pub(super) const fn index(&self, position: usize) -> usize {
        let index = self.head as usize + position;
        if index >= self.capacity() {
            index - self.capacity()
        } else {
            index
        }
    }

    /// The index of the head.
    #[inline(always)]
    pub const fn front(&self) -> usize {
        self.head as usize
    }

    /// The index of the entry after the head, if there is one.
    #[inline(always)]
    pub const fn second(&self) -> Option<usize> {
        if self.count > 1 {
            Some(self.index(1))
        } else {
            None
        }
    }

    /// The index of the entry before `index`, which is not that of the head.
    #[inline(always)]
    pub const fn before(&self, index: usize) -> usize {
        if index == 0 {
            self.capacity() - 1
        } else {
            index - 1
        }
    }

    /// The index of the tail, if there is any entry.
    pub(super) fn tail(&self) -> Option<usize> {
        Some(self.index(self.len().checked_sub(1)?))
    }

    /// The indexes of head and tail.
    #[inline(always)]
    pub const fn ends(&self) -> (usize, usize) {
        let tail = self.index(self.len().saturating_sub(1));
        (self.front(), tail)
    }

    /// Total consumed, the total before the head: the sum of all amounts ever used up. It advances with each charge.
    #[inline(always)]
    pub fn total_consumed(&self, entries: &[Entry], budget: Ticks) -> u64 {
        self.tail().map_or(0, |tail| origin(entries[tail], budget))
    }

    /// The list in `entries`, the amounts of which add up to `budget`.
    pub fn iter<'a>(
        &'a self,
        entries: &'a [Entry],
        budget: Ticks,
    ) -> impl Iterator<Item = Refill> + 'a {
        let mut before = self.total_consumed(entries, budget);
        (0..self.len()).map(move |position| {
            let entry = entries[self.index(position)];
            entry.refill(core::mem::replace(&mut before, entry.total))
        })
    }

    /// Drops the first `count` entries, but not all.
    pub(super) fn drop_front(&mut self, count: usize) {
        self.head = self.index(count) as Count;
        self.count -= count as Count;
    }

    /// Takes one more entry at the end into use; returns its index.
    pub(super) fn extend(&mut self) -> usize {
        self.count += 1;
        self.index(self.len() - 1)
    }
}
