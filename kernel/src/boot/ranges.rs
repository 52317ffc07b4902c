//! A short list of memory ranges.

use core::ops::Range;

use super::sort;
use crate::arch::PhysAddr;

/// Ranges that do not overlap.
#[derive(Clone, Debug)]
pub struct Ranges<const CAPACITY: usize> {
    list: [Range<PhysAddr>; CAPACITY],
    count: usize,
}

impl<const CAPACITY: usize> Ranges<CAPACITY> {
    /// An empty list.
    pub const fn new() -> Self {
        Self {
            list: [const { PhysAddr(0)..PhysAddr(0) }; CAPACITY],
            count: 0,
        }
    }

    /// Adds a range. It is dropped if it is empty or the list is full.
    #[cfg_attr(target_os = "none", optimize(size))]
    pub fn add(&mut self, range: Range<PhysAddr>) {
        if range.start < range.end && self.count < CAPACITY {
            self.list[self.count] = range;
            self.count += 1;
        }
    }

    /// Removes all addresses in `hole`.
    #[cfg_attr(target_os = "none", optimize(size))]
    pub fn remove(&mut self, hole: &Range<PhysAddr>) {
        let mut rest = Self::new();
        for range in self.as_slice() {
            rest.add(range.start..range.end.min(hole.start));
            rest.add(range.start.max(hole.end)..range.end);
        }
        *self = rest;
    }

    /// Takes `size` bytes off the end of the highest range that ends at or below `limit`.
    #[cfg_attr(target_os = "none", optimize(size))]
    pub fn take_below(&mut self, limit: PhysAddr, size: usize) -> Option<PhysAddr> {
        let list = &mut self.list[..self.count];
        let fits = |range: &&mut Range<PhysAddr>| {
            range.end <= limit && range.end.0 - range.start.0 >= size
        };
        let range = list.iter_mut().filter(fits).max_by_key(|range| range.end)?;
        range.end.0 -= size;
        Some(range.end)
    }

    /// Sorts the ranges by address.
    #[cfg_attr(target_os = "none", optimize(size))]
    pub fn sort(&mut self) {
        sort(&mut self.list[..self.count]);
    }

    /// The ranges.
    pub fn as_slice(&self) -> &[Range<PhysAddr>] {
        &self.list[..self.count]
    }
}
