//! A short list of ranges of memory.

use core::ops::Range;

use kernel::arch::PhysAddr;

/// Memory maps have only a few ranges.
const CAPACITY: usize = 32;

/// Ranges that do not overlap.
#[derive(Clone)]
pub(crate) struct Ranges {
    list: [Range<PhysAddr>; CAPACITY],
    count: usize,
}

impl Ranges {
    /// No range.
    pub(crate) const fn new() -> Self {
        Self {
            list: [const { PhysAddr(0)..PhysAddr(0) }; CAPACITY],
            count: 0,
        }
    }

    /// Adds a range. An empty range, or one for which there is no room, is dropped.
    #[cfg_attr(target_os = "none", optimize(size))]
    pub(crate) fn add(&mut self, range: Range<PhysAddr>) {
        if range.start < range.end && self.count < CAPACITY {
            self.list[self.count] = range;
            self.count += 1;
        }
    }

    /// Removes whole pages, so that nothing of `hole` remains.
    #[cfg_attr(target_os = "none", optimize(size))]
    pub(crate) fn remove(&mut self, hole: &Range<PhysAddr>, page: usize) {
        let start = PhysAddr(hole.start.0 & !(page - 1));
        let end = PhysAddr(hole.end.0.next_multiple_of(page));
        let mut rest = Self::new();
        for range in self.as_slice() {
            rest.add(range.start..range.end.min(start));
            rest.add(range.start.max(end)..range.end);
        }
        *self = rest;
    }

    /// Sorts the ranges by address.
    #[cfg_attr(target_os = "none", optimize(size))]
    pub(crate) fn sort(&mut self) {
        kernel::boot::sort(&mut self.list[..self.count]);
    }

    /// The ranges.
    pub(crate) fn as_slice(&self) -> &[Range<PhysAddr>] {
        &self.list[..self.count]
    }
}
