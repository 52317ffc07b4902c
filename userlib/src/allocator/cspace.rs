//! The caller's CSpace, and its free slots.

use super::SlotMap;
use crate::cap::{CNode, SlotRange, Untyped};
use crate::{Error, Result};
use abi::{ObjectType, WORD_BITS};
use core::ops::Range;

/// A part of the caller's CSpace.
pub(super) struct CSpace<const WORDS: usize> {
    /// Its root.
    pub(super) root: CNode,
    /// If it has two levels: log2 of the number of slots of the first, for CNodes. Else 0.
    pub(super) depth: usize,
    /// Its free slots.
    pub(super) slots: SlotMap<WORDS>,
    /// Free slots after those. Each is used only once.
    pub(super) rest: Range<usize>,
}

impl<const WORDS: usize> CSpace<WORDS> {
    /// A CSpace of one level, with these free slots, if there are no more than the map can hold.
    pub(super) fn new(root: CNode, slots: Range<usize>) -> Self {
        Self {
            root,
            depth: 0,
            slots: SlotMap::new(slots),
            rest: 0..0,
        }
    }

    /// Allocates contiguous slots; returns the first.
    pub(super) fn allocate(&mut self, count: usize) -> Result<usize> {
        if let Some(first) = self.slots.allocate(count) {
            return Ok(first);
        }
        // The first run there begins in the map, so that no slot is left over between the two.
        let before = match self.rest.start == self.slots.range().end {
            true => self.slots.free_at_end().min(count),
            false => 0,
        };
        if count - before > self.rest.len() {
            return Err(Error::OutOfResources);
        }
        self.slots.allocate_last(before);
        let first = self.rest.start - before;
        self.rest.start = first + count;
        Ok(first)
    }

    /// Frees a slot.
    pub(super) fn free(&mut self, slot: usize) {
        // Others were of the rest.
        if self.slots.contains(slot) || slot >= self.rest.start {
            self.slots.free(slot, 1);
        }
    }

    /// The bits of an address for the slot in the CNode of the second level.
    const fn low_bits(&self) -> usize {
        WORD_BITS - self.depth
    }

    /// Which CNode of the first level a slot is in; 0 if there is one level.
    pub(super) fn cnode_of(&self, slot: usize) -> usize {
        slot.checked_shr(self.low_bits() as u32).unwrap_or(0)
    }

    /// The slots of a CNode of the first level, which has 2^`radix` slots.
    pub(super) const fn slots_of(&self, cnode: usize, radix: usize) -> Range<usize> {
        let first = cnode << self.low_bits();
        first..first + (1 << radix)
    }

    /// Creates objects in consecutive slots.
    pub(super) fn retype(
        &self,
        untyped: Untyped,
        object: ObjectType,
        size_argument: usize,
        first: usize,
        count: usize,
    ) -> Result {
        let destination = SlotRange {
            root: self.root,
            index: self.cnode_of(first),
            depth: self.depth,
            offset: first & (usize::MAX >> self.depth),
        };
        untyped.retype(object, size_argument, destination, count)
    }

    /// Creates an object in a free slot; returns the slot.
    pub(super) fn create(
        &mut self,
        untyped: Untyped,
        object: ObjectType,
        size_argument: usize,
    ) -> Result<usize> {
        let slot = self.allocate(1)?;
        let made = self.retype(untyped, object, size_argument, slot, 1);
        if made.is_err() {
            self.free(slot);
        }
        made.map(|()| slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cap::CPtr;

    #[test]
    fn slots_after_those_of_the_map_are_used_once() {
        let mut space = CSpace::<1>::new(CNode(CPtr(2)), 100..228);
        assert_eq!(space.allocate(129), Err(Error::OutOfResources));
        space.rest = 228..400;
        assert_eq!(space.allocate(8), Ok(100));
        assert_eq!(space.allocate(129), Ok(108));
        space.free(110);
        space.free(236);
        assert_eq!(space.allocate(1), Ok(110));
        assert_eq!(space.allocate(163), Ok(237));
        assert_eq!(space.allocate(1), Err(Error::OutOfResources));
        space.free(227);
        assert_eq!(space.allocate(2), Err(Error::OutOfResources));
        assert_eq!(space.allocate(1), Ok(227));
    }

    #[test]
    fn runs_of_any_length_use_all_slots() {
        for lengths in [
            [400, 0, 0, 0],
            [1, 200, 79, 120],
            [127, 2, 270, 1],
            [100, 100, 100, 100],
            [128, 172, 0, 100],
        ] {
            let mut space = CSpace::<1>::new(CNode(CPtr(2)), 100..228);
            space.rest = 228..500;
            let mut next = 100;
            for length in lengths.into_iter().filter(|length| *length > 0) {
                assert_eq!(space.allocate(length), Ok(next), "{lengths:?}");
                next += length;
            }
            assert_eq!(space.allocate(1), Err(Error::OutOfResources));
        }
    }

    #[test]
    fn addresses_begin_with_the_cnode() {
        let mut space = CSpace::<1>::new(CNode(CPtr(2)), 0..128);
        assert_eq!(space.cnode_of(usize::MAX), 0);
        space.depth = 6;
        assert_eq!(space.cnode_of(4095), 0);
        let slots = space.slots_of(41, 13);
        assert_eq!(slots.len(), 1 << 13);
        assert_eq!(space.cnode_of(slots.start), 41);
        assert_eq!(space.cnode_of(slots.end - 1), 41);
    }
}
