//! Bookkeeping of free untyped memory.
//!
//! The kernel allocates in an untyped from its start on, each object at a multiple of its size, and frees
//! nothing until all of it is revoked. The pool tracks that watermark, so that it knows before an invocation
//! whether an object fits, and in which region with the least waste.

mod pieces;

pub use pieces::arena_bytes;

use crate::cap::Untyped;

/// A region of untyped memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    untyped: Untyped,
    size_bits: usize,
    /// Bytes from the start that are used, or wasted by alignment.
    used: usize,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Memory for objects.
    Memory,
    /// The memory of a reclaimed arena, which is reused as a whole.
    Kept,
    /// Device memory at this physical address.
    Device(usize),
}

/// The region for a new object: see [`Pool::choose`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The untyped to retype.
    pub untyped: Untyped,
    region: usize,
    used: usize,
}

/// Up to `CAPACITY` regions of untyped memory.
pub struct Pool<const CAPACITY: usize> {
    regions: [Option<Region>; CAPACITY],
}

impl<const CAPACITY: usize> Default for Pool<CAPACITY> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const CAPACITY: usize> Pool<CAPACITY> {
    /// An empty pool.
    pub const fn new() -> Self {
        Self {
            regions: [None; CAPACITY],
        }
    }

    fn insert(&mut self, untyped: Untyped, size_bits: usize, kind: Kind) {
        let region = Region {
            untyped,
            size_bits,
            used: 0,
            kind,
        };
        // If all entries are in use, the memory stays unused; this is not an error.
        if let Some(free) = self.regions.iter_mut().find(|region| region.is_none()) {
            *free = Some(region);
        }
    }

    /// Adds memory.
    pub fn add(&mut self, untyped: Untyped, size_bits: usize) {
        self.insert(untyped, size_bits, Kind::Memory);
    }

    /// Adds device memory.
    pub fn add_device(&mut self, untyped: Untyped, physical_address: usize, size_bits: usize) {
        self.insert(untyped, size_bits, Kind::Device(physical_address));
    }

    /// Keeps an untyped without objects for [`reuse`](Self::reuse).
    pub fn keep(&mut self, untyped: Untyped, size_bits: usize) {
        self.insert(untyped, size_bits, Kind::Kept);
    }

    /// Removes and returns a kept untyped of exactly this size.
    pub fn reuse(&mut self, size_bits: usize) -> Option<Untyped> {
        self.remove(|region| region.kind == Kind::Kept && region.size_bits == size_bits)
            .map(|region| region.untyped)
    }

    fn remove(&mut self, wanted: impl Fn(&Region) -> bool) -> Option<Region> {
        let place = self
            .regions
            .iter_mut()
            .find(|region| region.as_ref().is_some_and(&wanted))?;
        place.take()
    }

    /// Removes any region; returns its untyped, and log2 of its size.
    pub fn take_any(&mut self) -> Option<(Untyped, usize)> {
        let region = self.remove(|_| true)?;
        Some((region.untyped, region.size_bits))
    }

    /// The region in which an object of 2^`bits` bytes wastes the least: first the least for alignment, then
    /// the smallest remainder.
    pub fn choose(&self, bits: usize) -> Option<Choice> {
        let size = 1usize.checked_shl(bits as u32)?;
        let mut best: Option<((usize, usize), Choice)> = None;
        for (index, region) in self.regions.iter().enumerate() {
            let Some(region) = region else { continue };
            if region.kind != Kind::Memory || region.size_bits < bits {
                continue;
            }
            let start = region.used.next_multiple_of(size);
            let whole = 1usize << region.size_bits;
            if start > whole - size {
                continue;
            }
            let cost = (start - region.used, whole - start);
            if best.is_none_or(|(least, _)| cost < least) {
                let choice = Choice {
                    untyped: region.untyped,
                    region: index,
                    used: start + size,
                };
                best = Some((cost, choice));
            }
        }
        best.map(|(_, choice)| choice)
    }

    /// The region for the first of `count` objects, and how many of them fit there, one after the other.
    pub fn choose_some(&self, bits: usize, count: usize) -> Option<(Choice, usize)> {
        let choice = self.choose(bits)?;
        let region = self.regions[choice.region].as_ref()?;
        let more = ((1 << region.size_bits) - choice.used) >> bits;
        let more = more.min(count.saturating_sub(1));
        let used = choice.used + (more << bits);
        Some((Choice { used, ..choice }, 1 + more))
    }

    /// Records that the kernel has created the object of a choice.
    pub fn take(&mut self, choice: Choice) {
        if let Some(region) = &mut self.regions[choice.region] {
            region.used = choice.used;
        }
    }

    /// Removes the device region that covers the page at `physical_address`; returns its untyped and size.
    pub fn take_device(
        &mut self,
        physical_address: usize,
        page_bits: usize,
    ) -> Option<(Untyped, usize)> {
        let region = self.remove(|region| match region.kind {
            Kind::Device(base) => {
                region.size_bits >= page_bits
                    && physical_address
                        .checked_sub(base)
                        .is_some_and(|offset| offset >> region.size_bits == 0)
            }
            _ => false,
        })?;
        Some((region.untyped, region.size_bits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cap::CPtr;

    fn place(pool: &mut Pool<2>, bits: usize) -> Option<usize> {
        let choice = pool.choose(bits)?;
        pool.take(choice);
        Some(choice.untyped.0.0)
    }

    #[test]
    fn objects_go_where_they_fit_best() {
        let mut pool = Pool::<2>::new();
        pool.add(Untyped(CPtr(1)), 20);
        pool.add(Untyped(CPtr(2)), 13);
        assert_eq!(place(&mut pool, 12), Some(2));
        assert_eq!(place(&mut pool, 12), Some(2));
        assert_eq!(place(&mut pool, 12), Some(1), "the small one is full");
        assert_eq!(place(&mut pool, 20), None);
        assert_eq!(place(&mut pool, 19), Some(1));
        assert_eq!(place(&mut pool, 19), None);
    }

    #[test]
    fn alignment_is_lost_as_the_kernel_loses_it() {
        let mut pool = Pool::<2>::new();
        pool.add(Untyped(CPtr(1)), 13);
        assert_eq!(place(&mut pool, 4), Some(1));
        assert_eq!(place(&mut pool, 12), Some(1));
        assert_eq!(place(&mut pool, 4), None, "the watermark is at the end");
    }

    #[test]
    fn arenas_are_reused_whole() {
        let mut pool = Pool::<2>::new();
        pool.keep(Untyped(CPtr(3)), 16);
        assert_eq!(place(&mut pool, 12), None);
        assert_eq!(pool.reuse(17), None);
        assert_eq!(pool.reuse(16), Some(Untyped(CPtr(3))));
        assert_eq!(pool.reuse(16), None);
    }

    #[test]
    fn device_memory_is_found_by_address() {
        let mut pool = Pool::<2>::new();
        pool.add_device(Untyped(CPtr(4)), 0x10_0000, 20);
        assert_eq!(pool.choose(12), None);
        assert_eq!(pool.take_device(0x20_0000, 12), None);
        assert_eq!(
            pool.take_device(0x1f_f000, 12),
            Some((Untyped(CPtr(4)), 20))
        );
        assert_eq!(pool.take_device(0x1f_f000, 12), None);
    }

    #[test]
    fn all_memory_can_be_given_up() {
        let mut pool = Pool::<2>::new();
        pool.add(Untyped(CPtr(1)), 20);
        pool.add_device(Untyped(CPtr(2)), 0x10_0000, 20);
        assert_eq!(pool.take_any(), Some((Untyped(CPtr(1)), 20)));
        assert_eq!(pool.take_any(), Some((Untyped(CPtr(2)), 20)));
        assert_eq!(pool.take_any(), None);
        assert_eq!(pool.choose(12), None);
    }

    #[test]
    fn several_objects_are_chosen_up_to_the_end_of_a_region() {
        let mut pool = Pool::<2>::new();
        pool.add(Untyped(CPtr(1)), 14);
        pool.add(Untyped(CPtr(2)), 20);
        assert_eq!(place(&mut pool, 12), Some(1));
        let (choice, count) = pool.choose_some(12, 100).unwrap();
        assert_eq!((choice.untyped, count), (Untyped(CPtr(1)), 3));
        pool.take(choice);
        let (choice, count) = pool.choose_some(12, 100).unwrap();
        assert_eq!((choice.untyped, count), (Untyped(CPtr(2)), 100));
        pool.take(choice);
        assert_eq!(pool.choose_some(12, 200).unwrap().1, 156);
        assert_eq!(pool.choose_some(21, 1), None);
    }
}
