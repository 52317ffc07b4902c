//! Bookkeeping of free slots.

use core::ops::Range;

/// The most slots that one map covers.
const CAPACITY: usize = 4096;
const WORD: usize = u32::BITS as usize;

/// A set of free slots; allocates the lowest run that is long enough.
pub struct SlotMap {
    range: Range<usize>,
    taken: [u32; CAPACITY / WORD],
}

impl SlotMap {
    /// A map in which all of `range` is free; of a long range, only the first 4096 slots are used.
    pub fn new(range: Range<usize>) -> Self {
        let end = range.end.min(range.start.saturating_add(CAPACITY));
        Self {
            range: range.start..end,
            taken: [0; CAPACITY / WORD],
        }
    }

    fn is_taken(&self, index: usize) -> bool {
        self.taken[index / WORD] >> (index % WORD) & 1 != 0
    }

    /// Allocates `count` contiguous slots; returns the first.
    pub fn allocate(&mut self, count: usize) -> Option<usize> {
        let mut run = 0;
        for index in 0..self.range.len() {
            run = if self.is_taken(index) { 0 } else { run + 1 };
            if run == count && count > 0 {
                let first = index + 1 - count;
                for index in first..=index {
                    self.taken[index / WORD] |= 1 << (index % WORD);
                }
                return Some(self.range.start + first);
            }
        }
        None
    }

    /// Frees `count` slots from `first` on.
    ///
    /// # Panics
    /// If one of them is free already.
    pub fn free(&mut self, first: usize, count: usize) {
        for slot in first..first + count {
            assert!(self.range.contains(&slot), "slot {slot} is not of this map");
            let index = slot - self.range.start;
            assert!(self.is_taken(index), "slot {slot} is freed twice");
            self.taken[index / WORD] &= !(1 << (index % WORD));
        }
    }

    /// Whether a slot is in this map.
    pub fn contains(&self, slot: usize) -> bool {
        self.range.contains(&slot)
    }

    /// Whether a slot is in this map and free.
    pub fn is_free(&self, slot: usize) -> bool {
        self.contains(slot) && !self.is_taken(slot - self.range.start)
    }

    /// How many slots are free.
    pub fn available(&self) -> usize {
        (0..self.range.len())
            .filter(|&index| !self.is_taken(index))
            .count()
    }
}

#[cfg(test)]
mod tests {
    use super::SlotMap;

    #[test]
    fn runs_are_found_between_what_is_taken() {
        let mut map = SlotMap::new(100..110);
        assert_eq!(map.allocate(4), Some(100));
        assert_eq!(map.allocate(4), Some(104));
        assert_eq!(map.allocate(4), None);
        assert!(!map.is_free(103) && map.is_free(108) && !map.is_free(110));
        map.free(102, 3);
        assert!(map.is_free(103));
        assert_eq!(map.allocate(3), Some(102));
        assert_eq!(map.allocate(2), Some(108));
        assert_eq!(map.available(), 0);
        assert_eq!(map.allocate(1), None);
    }

    #[test]
    fn a_long_range_is_cut() {
        assert_eq!(SlotMap::new(0..1 << 20).available(), 4096);
        assert_eq!(SlotMap::new(5..5).available(), 0);
    }

    #[test]
    #[should_panic(expected = "freed twice")]
    fn nothing_is_freed_twice() {
        let mut map = SlotMap::new(0..8);
        map.allocate(1);
        map.free(0, 1);
        map.free(0, 1);
    }
}
