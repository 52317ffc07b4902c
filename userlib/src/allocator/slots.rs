//! Bookkeeping of free slots.
//!
//! A bitmap says which slots are free, and a segment tree (Bentley, *Algorithms for Klee's rectangle problems*, 1977)
//! over its words where runs of free slots are. So to allocate and to free take as many steps as the tree has levels,
//! however many slots there are and wherever the free ones lie.

use core::ops::Range;

const WORD: usize = u128::BITS as usize;

/// The words of a map for small CNodes.
pub const FEW_SLOTS: usize = 4096 / WORD;
/// The words of a map for a million slots.
pub const MANY_SLOTS: usize = (1 << 20) / WORD;

/// Runs of free slots in a part of a map.
#[derive(Clone, Copy)]
struct Runs {
    /// The one at the beginning of the part, the longest, and the one at the end.
    first: u32,
    longest: u32,
    last: u32,
}

impl Runs {
    fn of_word(taken: u128) -> Self {
        let (mut free, mut longest) = (!taken, 0);
        while free != 0 {
            free >>= free.trailing_zeros();
            let run = free.trailing_ones();
            longest = run.max(longest);
            free = free.checked_shr(run).unwrap_or(0);
        }
        Self {
            first: taken.trailing_zeros(),
            longest,
            last: taken.leading_zeros(),
        }
    }

    /// The runs of two neighbours of `length` slots each.
    fn of_both(left: Self, right: Self, length: u32) -> Self {
        let across = left.last + right.first;
        let joined = |inner, outer| if inner == length { across } else { outer };
        Self {
            first: joined(left.first, left.first),
            longest: left.longest.max(right.longest).max(across),
            last: joined(right.last, right.last),
        }
    }
}

/// A set of free slots; allocates the lowest run that is long enough. It covers 128 slots for each of its `WORDS`, a
/// power of two.
pub struct SlotMap<const WORDS: usize = FEW_SLOTS> {
    range: Range<usize>,
    free: usize,
    taken: [u128; WORDS],
    /// The children of the node N are 2N and 2N + 1; the nodes from `WORDS` on are the words.
    nodes: [Runs; WORDS],
}

impl<const WORDS: usize> SlotMap<WORDS> {
    /// A map in which all of `range` is free; of a range that is longer than the map, only the first slots are used.
    pub fn new(range: Range<usize>) -> Self {
        const { assert!(WORDS.is_power_of_two()) };
        let end = range.end.min(range.start.saturating_add(WORDS * WORD));
        let nothing = Runs {
            first: 0,
            longest: 0,
            last: 0,
        };
        let mut map = Self {
            range: range.start..end,
            free: 0,
            taken: [u128::MAX; WORDS],
            nodes: [nothing; WORDS],
        };
        map.set(0..map.range.len(), false);
        map
    }

    fn is_taken(&self, index: usize) -> bool {
        self.taken[index / WORD] >> (index % WORD) & 1 != 0
    }

    fn runs(&self, node: usize) -> Runs {
        match node.checked_sub(WORDS) {
            Some(word) => Runs::of_word(self.taken[word]),
            None => self.nodes[node],
        }
    }

    /// The beginning of the lowest run of at least `count` free slots.
    fn find(&self, count: u32) -> Option<usize> {
        if self.runs(1).longest < count {
            return None;
        }
        let (mut node, mut start, mut length) = (1, 0, WORDS * WORD);
        while node < WORDS {
            (node, length) = (2 * node, length / 2);
            let (left, right) = (self.runs(node), self.runs(node + 1));
            if left.longest < count {
                if left.last + right.first >= count {
                    return Some(start + length - left.last as usize);
                }
                (node, start) = (node + 1, start + length);
            }
        }
        // It lies within one word.
        let taken = self.taken[node - WORDS];
        let mask = u128::MAX >> (u128::BITS - count);
        let first = (0..WORD).find(|first| taken & mask << first == 0)?;
        Some(start + first)
    }

    /// Takes or frees slots, which are all in the other state.
    fn set(&mut self, indices: Range<usize>, is_taken: bool) {
        if indices.is_empty() {
            return;
        }
        let (mut low, mut high) = (indices.start / WORD, (indices.end - 1) / WORD);
        for word in low..=high {
            let start = indices.start.saturating_sub(word * WORD);
            let end = (indices.end - word * WORD).min(WORD);
            let mask = u128::MAX >> (WORD - (end - start)) << start;
            self.taken[word] ^= mask;
        }
        self.free = match is_taken {
            true => self.free - indices.len(),
            false => self.free + indices.len(),
        };
        (low, high) = (low + WORDS, high + WORDS);
        let mut length = u128::BITS;
        while low > 1 {
            (low, high) = (low / 2, high / 2);
            for node in low..=high {
                let (left, right) = (self.runs(2 * node), self.runs(2 * node + 1));
                self.nodes[node] = Runs::of_both(left, right, length);
            }
            length *= 2;
        }
    }

    /// Allocates `count` contiguous slots; returns the first.
    pub fn allocate(&mut self, count: usize) -> Option<usize> {
        let length = u32::try_from(count).ok().filter(|count| *count > 0)?;
        let first = self.find(length)?;
        self.set(first..first + count, true);
        Some(self.range.start + first)
    }

    /// Allocates the last `count` slots, which must be free.
    ///
    /// # Panics
    /// If one of them is not.
    pub(super) fn allocate_last(&mut self, count: usize) {
        assert!(count <= self.free_at_end(), "a slot is allocated twice");
        let end = self.range.len();
        self.set(end - count..end, true);
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
        }
        let first = first.saturating_sub(self.range.start);
        self.set(first..first + count, false);
    }

    /// The slots of this map.
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// Whether a slot is in this map.
    pub fn contains(&self, slot: usize) -> bool {
        self.range.contains(&slot)
    }

    /// Whether a slot is in this map and free.
    pub fn is_free(&self, slot: usize) -> bool {
        self.contains(slot) && !self.is_taken(slot - self.range.start)
    }

    /// How many slots are free at the end, if the range is as long as the map; else 0.
    pub(super) fn free_at_end(&self) -> usize {
        self.runs(1).last as usize
    }

    /// How many slots are free.
    pub fn available(&self) -> usize {
        self.free
    }
}

#[cfg(test)]
mod tests {
    use super::{FEW_SLOTS, MANY_SLOTS, SlotMap};

    /// One that two words suffice for.
    fn small(range: core::ops::Range<usize>) -> SlotMap<2> {
        SlotMap::new(range)
    }

    #[test]
    fn runs_are_found_between_what_is_taken() {
        let mut map = small(100..110);
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
        assert_eq!(map.allocate(0), None);
    }

    #[test]
    fn a_long_range_is_cut() {
        let map = SlotMap::<FEW_SLOTS>::new(0..1 << 20);
        assert_eq!(map.available(), 4096);
        assert!(map.is_free(4095) && !map.is_free(4096));
        assert_eq!(small(5..5).available(), 0);
        assert_eq!(small(5..5).allocate(1), None);
        assert_eq!(SlotMap::<1>::new(7..200).allocate(128), Some(7));
    }

    /// The simplest program that does the same, with a flag for each slot.
    #[test]
    fn runs_are_those_that_a_linear_search_finds() {
        const SLOTS: usize = 1000;
        let mut map = SlotMap::<8>::new(30..30 + SLOTS);
        let mut taken = [false; SLOTS];
        let mut held: Vec<(usize, usize)> = Vec::new();
        let mut seed = 1_u64;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % below
        };
        for _ in 0..20_000 {
            let length = [1, 2, 3, 40, 127, 128, 129, 300][random(8)];
            if random(2) == 0 && !held.is_empty() {
                let (first, length) = held.swap_remove(random(held.len()));
                map.free(first, length);
                taken[first - 30..][..length].fill(false);
            } else {
                let found = taken.windows(length).position(|run| !run.contains(&true));
                assert_eq!(map.allocate(length), found.map(|first| first + 30));
                if let Some(first) = found {
                    taken[first..][..length].fill(true);
                    held.push((first + 30, length));
                }
            }
            let free = taken.iter().filter(|taken| !**taken).count();
            assert_eq!(map.available(), free);
        }
    }

    /// With a linear search this would be 10^12 steps.
    #[test]
    fn a_million_slots_are_allocated_and_freed_one_by_one() {
        const ALL: usize = 1 << 20;
        let mut map = Box::new(SlotMap::<MANY_SLOTS>::new(0..ALL));
        for slot in 0..ALL {
            assert_eq!(map.allocate(1), Some(slot));
        }
        assert_eq!(map.allocate(1), None);
        // Holes of one slot at the beginning are too short for a run at the end.
        for slot in (0..ALL / 2).step_by(2) {
            map.free(slot, 1);
        }
        map.free(ALL - 3, 3);
        assert_eq!(map.allocate(3), Some(ALL - 3));
        for slot in (0..ALL / 2).step_by(2) {
            assert_eq!(map.allocate(1), Some(slot));
        }
        assert_eq!(map.available(), 0);
        map.free(0, ALL);
        assert_eq!(map.allocate(1_000_000), Some(0));
    }

    #[test]
    #[should_panic(expected = "freed twice")]
    fn nothing_is_freed_twice() {
        let mut map = small(0..8);
        map.allocate(1);
        map.free(0, 1);
        map.free(0, 1);
    }
}
