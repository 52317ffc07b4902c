//! The memory of arenas: several untypeds, so that only little of it is wasted, and what is free need not be contiguous.

use super::{Choice, Pool};
use crate::cap::Untyped;
use crate::{Error, Result};

/// The smallest memory that is made an untyped only because alignment would waste it.
const LEAST_GAP: usize = 4096;

/// log2 of the smallest piece of an arena: the largest object of a fixed size, the root of an address space on 32-bit
/// Arm, fits into each.
const LEAST_PIECE_BITS: usize = 14;

/// The memory that an arena of so many bytes takes: up to a 64th more, so that it consists of few untypeds.
pub const fn arena_bytes(bytes: usize) -> usize {
    const LEAST: usize = 1 << LEAST_PIECE_BITS;
    let Some(bits) = bytes.checked_ilog2() else {
        return 0;
    };
    let largest = 1 << bits;
    let unit = match largest >> 6 {
        unit if unit > LEAST => unit,
        _ if largest > LEAST => LEAST,
        _ => largest,
    };
    match bytes.checked_next_multiple_of(unit) {
        Some(all) => all,
        None => usize::MAX,
    }
}

impl<const CAPACITY: usize> Pool<CAPACITY> {
    fn require_room(&self) -> Result {
        match self.regions.iter().any(Option::is_none) {
            true => Ok(()),
            false => Err(Error::OutOfResources),
        }
    }

    /// The first part of the memory that alignment would waste for an object of 2^`bits` bytes, and log2 of its size.
    fn gap(&self, choice: Choice, bits: usize) -> Option<(Choice, usize)> {
        let region = self.regions[choice.region].as_ref()?;
        let start = region.used.next_multiple_of(LEAST_GAP);
        if start >= choice.used - (1 << bits) {
            return None;
        }
        let bits = start.trailing_zeros() as usize;
        let used = start + (1 << bits);
        Some((Choice { used, ..choice }, bits))
    }

    /// Takes 2^`bits` bytes as an untyped of their own; what alignment would waste becomes others. `make` creates an
    /// untyped of so many bits from another.
    fn cut(
        &mut self,
        bits: usize,
        make: &mut impl FnMut(Untyped, usize) -> Result<Untyped>,
    ) -> Result<Untyped> {
        if let Some(untyped) = self.reuse(bits) {
            return Ok(untyped);
        }
        let choice = self.choose(bits).ok_or(Error::OutOfResources)?;
        while let Some((gap, bits)) = self.gap(choice, bits) {
            let untyped = make(gap.untyped, bits)?;
            self.take(gap);
            self.add(untyped, bits);
        }
        let untyped = make(choice.untyped, bits)?;
        self.take(choice);
        Ok(untyped)
    }

    /// Takes 2^`bits` bytes as one untyped, and adds it to `pieces` for [`reuse`](Self::reuse).
    ///
    /// # Errors
    /// If there is not enough memory, or no room in `pieces`, and those of `make`.
    pub fn cut_one<const PIECES: usize>(
        &mut self,
        bits: usize,
        pieces: &mut Pool<PIECES>,
        mut make: impl FnMut(Untyped, usize) -> Result<Untyped>,
    ) -> Result<Untyped> {
        pieces.require_room()?;
        let untyped = self.cut(bits, &mut make)?;
        pieces.keep(untyped, bits);
        Ok(untyped)
    }

    /// Takes the memory of an arena of so many bytes ([`arena_bytes`]), in the largest pieces that there are, and adds
    /// them to `pieces`.
    ///
    /// # Errors
    /// If there is not enough memory, or it would take more pieces than `pieces` can hold, and those of `make`. What was
    /// taken is in `pieces`.
    pub fn cut_pieces<const PIECES: usize>(
        &mut self,
        bytes: usize,
        pieces: &mut Pool<PIECES>,
        mut make: impl FnMut(Untyped, usize) -> Result<Untyped>,
    ) -> Result {
        let mut left = arena_bytes(bytes);
        while left > 0 {
            pieces.require_room()?;
            let mut bits = left.ilog2() as usize;
            let untyped = loop {
                match self.cut(bits, &mut make) {
                    Err(Error::OutOfResources) if bits > LEAST_PIECE_BITS => bits -= 1,
                    result => break result?,
                }
            };
            pieces.add(untyped, bits);
            left -= 1 << bits;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allocator::arena::PIECES;
    use crate::cap::CPtr;

    #[test]
    fn an_arena_takes_a_64th_more_at_the_most() {
        for bytes in [1, 100, 4096, 1 << 20, 24 << 20, (24 << 20) + 1, 0x1234_5678] {
            let taken = arena_bytes(bytes);
            let most = bytes + (bytes / 64).max((1 << LEAST_PIECE_BITS) - 1);
            assert!((bytes..=most).contains(&taken), "{bytes}: {taken}");
        }
        assert_eq!(arena_bytes(0), 0);
        assert_eq!(arena_bytes(1 << 10), 1 << 10);
    }

    /// The kernel's part: it creates in each untyped what fits, after alignment, and knows physical addresses.
    struct Memory(Vec<(usize, usize, usize)>);

    impl Memory {
        /// Memory from `start` to `end`, in the untypeds in which the kernel reports it.
        fn of(pool: &mut Pool<320>, mut start: usize, end: usize) -> Self {
            let mut memory = Self(Vec::new());
            while start < end {
                let bits = start.trailing_zeros().min((end - start).ilog2()) as usize;
                let untyped = memory.add(start, bits);
                pool.add(untyped, bits);
                start += 1 << bits;
            }
            memory
        }

        fn add(&mut self, start: usize, bits: usize) -> Untyped {
            self.0.push((start, bits, 0));
            Untyped(CPtr(self.0.len() - 1))
        }

        fn make(&mut self, from: Untyped, bits: usize) -> Result<Untyped> {
            let (start, size, used) = &mut self.0[from.0.0];
            let offset = used.next_multiple_of(1 << bits);
            assert!(offset + (1 << bits) <= 1 << *size, "it does not fit");
            *used = offset + (1 << bits);
            let address = *start + offset;
            Ok(self.add(address, bits))
        }
    }

    /// Arenas of 128 MiB without its first 3 MiB, as on kzm, until one does not fit.
    #[test]
    fn arenas_use_nearly_all_memory_whatever_their_sizes() {
        let mut seed = 1_u64;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % below
        };
        for largest in [100 << 10, 1 << 20, 5 << 20, 30 << 20, 60 << 20, 90 << 20] {
            let mut pool = Pool::<320>::new();
            let mut memory = Memory::of(&mut pool, 0x8030_0000, 0x8800_0000);
            let (mut taken, mut wanted) = (0, largest);
            loop {
                let mut pieces = Pool::<16>::new();
                let make = |from, bits| memory.make(from, bits);
                let done = pool.cut_pieces(wanted, &mut pieces, make);
                let all = pieces.regions.iter().flatten();
                let sum: usize = all.map(|one| 1 << one.size_bits).sum();
                if done.is_err() {
                    break;
                }
                assert_eq!(sum, arena_bytes(wanted));
                taken += sum;
                wanted = largest / 2 + random(largest / 2);
            }
            let left = (125 << 20) - taken;
            let slack = 1 << 20;
            assert!(left < arena_bytes(wanted) + slack, "{largest}: {left}");
        }
    }

    #[test]
    fn what_alignment_skips_is_used_by_other_pieces() {
        let mut pool = Pool::<320>::new();
        let mut memory = Memory::of(&mut pool, 0, 16 << 20);
        // Each time 4 MiB and 1 MiB: without the gaps, the third one would not fit.
        for _ in 0..3 {
            let mut pieces = Pool::<16>::new();
            let make = |from, bits| memory.make(from, bits);
            pool.cut_pieces(5 << 20, &mut pieces, make).unwrap();
        }
        assert!(pool.choose(20).is_some());
    }

    /// Of 512 MiB, of which many small ones have taken parts. All have CNodes.
    #[test]
    fn a_large_arena_takes_what_small_ones_leave() {
        let mut pool = Pool::<320>::new();
        let mut memory = Memory::of(&mut pool, 0x30_0000, 0x2000_0000);
        let mut make = |from, bits| memory.make(from, bits);
        let mut arena = |bytes, cnode_bits| {
            let mut pieces = Pool::<PIECES>::new();
            pool.cut_one(cnode_bits, &mut pieces, &mut make).unwrap();
            pool.cut_pieces(bytes, &mut pieces, &mut make).unwrap();
            pieces.regions.iter().flatten().count()
        };
        for _ in 0..38 {
            arena(0x1b_0000, 13);
        }
        let pieces = arena(436 << 20, 22);
        assert!((17..=PIECES).contains(&pieces), "{pieces}");
    }

    #[test]
    fn pieces_are_smaller_if_there_are_no_large_ones() {
        let mut pool = Pool::<320>::new();
        let mut memory = Memory::of(&mut pool, 2 << 20, 6 << 20);
        let mut make = |from, bits| memory.make(from, bits);
        let mut few = Pool::<1>::new();
        let full = pool.cut_pieces(4 << 20, &mut few, &mut make);
        assert_eq!(full, Err(Error::OutOfResources));
        // What is given back is used again.
        let (untyped, bits) = few.take_any().unwrap();
        pool.keep(untyped, bits);
        let mut pieces = Pool::<4>::new();
        pool.cut_pieces(4 << 20, &mut pieces, &mut make).unwrap();
        assert_eq!(pieces.regions.iter().flatten().count(), 2);
        let none = pool.cut_one(14, &mut pieces, make);
        assert_eq!(none, Err(Error::OutOfResources));
    }
}
