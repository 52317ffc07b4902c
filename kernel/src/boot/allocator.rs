//! Allocation of memory and capability slots during the creation of the initial thread.

use core::cmp::Reverse;
use core::ops::Range;

use abi::{GuardData, SlotRegion, WORD_BITS};

use crate::ExclusiveKernel;
use crate::arch::{Arch, PhysAddr};
use crate::cap::{CNode, Cap};
use crate::invoke::emplace;
use crate::slot::Slot;

/// The largest number of separate regions of RAM; memory maps have only a few.
const REGIONS: usize = 64;

/// Allocates RAM and the slots of the initial CNode.
pub struct BootAllocator<A: Arch> {
    regions: [Range<usize>; REGIONS],
    /// The region that is used before all others.
    first: Range<usize>,
    /// The initial CNode, and the index of its first unused slot.
    pub(super) cnode: CNode<A>,
    pub(super) next_slot: usize,
}

impl<A: Arch> BootAllocator<A> {
    /// An allocator over the given RAM, with a new initial CNode of `2^radix` slots in it. With `beside`, the bytes
    /// of further initial objects, CNode and objects lie together; otherwise `take` chooses a place for each.
    ///
    /// # Panics
    /// If there is not enough RAM for the CNode.
    pub(super) fn new(ram: &[Range<PhysAddr>], radix: usize, beside: Option<usize>) -> Self {
        let mut regions = [const { 0..0 }; REGIONS];
        for (region, range) in regions.iter_mut().zip(ram) {
            *region = range.start.0..range.end.0;
        }
        let bits = radix + abi::sizes::SLOT_BITS;
        let first = beside
            .and_then(|beside| split_off(&mut regions, bits, beside))
            .unwrap_or_default();
        let slots = take::<A>(&mut regions, &first, bits);
        let cnode = CNode {
            slots: emplace::<A, _>(slots, Slot::EMPTY),
            radix,
            guard: GuardData {
                guard: 0,
                size: WORD_BITS - radix,
            },
        };
        Self {
            regions,
            first,
            cnode,
            next_slot: abi::slots::FIRST_DYNAMIC,
        }
    }

    /// Cleared RAM of `2^bits` bytes, aligned to its size.
    ///
    /// # Panics
    /// If there is none: the machine cannot boot.
    #[cfg_attr(target_os = "none", optimize(size))]
    pub fn alloc(&mut self, bits: usize) -> PhysAddr {
        take::<A>(&mut self.regions, &self.first, bits)
    }

    /// Puts a capability into the next initial slot.
    #[cfg_attr(target_os = "none", optimize(size))]
    pub fn provide(&mut self, kernel: &mut ExclusiveKernel<A>, cap: A::Cap) {
        self.provide_cap(kernel, Cap::Arch(cap));
    }

    /// Puts any capability into the next initial slot; returns whether one was free.
    #[cfg_attr(target_os = "none", optimize(size))]
    pub(super) fn provide_cap(&mut self, kernel: &mut ExclusiveKernel<A>, cap: Cap<A>) -> bool {
        let free = self.next_slot < self.cnode.slot_count();
        if free {
            kernel.insert_root(self.cnode.slot(self.next_slot), cap);
            self.next_slot += 1;
        }
        free
    }

    /// The slots from `start` on that are in use.
    pub(super) const fn region_from(&self, start: usize) -> SlotRegion {
        SlotRegion {
            start,
            end: self.next_slot,
        }
    }

    /// The first of the remaining regions of RAM that begin at this address or above.
    #[cfg_attr(target_os = "none", optimize(size))]
    pub(super) fn free_region_from(&self, address: usize) -> Option<Range<usize>> {
        let rest = self.regions.iter();
        let rest = rest.filter(|region| region.start >= address && !region.is_empty());
        rest.min_by_key(|region| region.start).cloned()
    }
}

/// Sorts a few ranges by address. The library's sort functions have 4 KiB of code.
pub(super) fn sort(ranges: &mut [Range<PhysAddr>]) {
    for end in 1..ranges.len() {
        for index in (1..=end).rev() {
            if ranges[index - 1].start > ranges[index].start {
                ranges.swap(index - 1, index);
            }
        }
    }
}

/// Makes a separate region for a block of `2^bits` bytes, followed by `beside` bytes: as high as they fit into
/// one region with the block aligned. `None` if they do not fit.
#[cfg_attr(target_os = "none", optimize(size))]
fn split_off(
    regions: &mut [Range<usize>; REGIONS],
    bits: usize,
    beside: usize,
) -> Option<Range<usize>> {
    let size = (1 << bits) + beside;
    let (start, index) = (0..REGIONS)
        .filter_map(|index| Some((last_block(&regions[index], size, bits)?, index)))
        .max()?;
    let place = start..start + size;
    cut(regions, index, place.clone());
    let free = regions.iter_mut().find(|region| region.start >= region.end);
    *free? = place.clone();
    Some(place)
}

/// The start of the last block of `size` bytes in a region that is aligned to `2^bits`.
#[cfg_attr(target_os = "none", optimize(size))]
fn last_block(region: &Range<usize>, size: usize, bits: usize) -> Option<usize> {
    let start = region.end.checked_sub(size)? >> bits << bits;
    (start >= region.start).then_some(start)
}

/// Cuts a block out of a region. Memory after the block becomes a region of its own.
#[cfg_attr(target_os = "none", optimize(size))]
fn cut(regions: &mut [Range<usize>; REGIONS], index: usize, block: Range<usize>) {
    let after = block.end..regions[index].end;
    regions[index].end = block.start;
    if !after.is_empty()
        && let Some(free) = regions.iter_mut().find(|region| region.start >= region.end)
    {
        *free = after;
    }
}

/// Takes an aligned block off the end of a region, and clears it: from a region in `first` if there is one, else from the
/// region with the least aligned end, or the highest of several. This keeps large aligned blocks intact, and low memory,
/// which devices may need.
#[cfg_attr(target_os = "none", optimize(size))]
fn take<A: Arch>(
    regions: &mut [Range<usize>; REGIONS],
    first: &Range<usize>,
    bits: usize,
) -> PhysAddr {
    let size = 1usize << bits;
    let (start, index) = (0..REGIONS)
        .filter_map(|index| Some((last_block(&regions[index], size, bits)?, index)))
        .max_by_key(|(start, index)| {
            let end = regions[*index].end;
            (first.contains(start), Reverse(end.trailing_zeros()), *start)
        })
        .unwrap_or_else(|| panic!("not enough memory to boot: no free block of {size:#x} bytes"));
    cut(regions, index, start..start + size);
    // SAFETY: the block was free RAM and is allocated only once.
    unsafe { (A::to_virtual(PhysAddr(start)) as *mut u8).write_bytes(0, size) };
    A::clean_new_memory(PhysAddr(start), size);
    PhysAddr(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_sorted_by_their_start() {
        let starts = |list: &[usize]| {
            let mut ranges: Vec<_> = list
                .iter()
                .map(|&start| PhysAddr(start)..PhysAddr(start + 1))
                .collect();
            sort(&mut ranges);
            ranges.iter().map(|range| range.start.0).collect::<Vec<_>>()
        };
        assert_eq!(starts(&[5, 1, 4, 2, 3]), [1, 2, 3, 4, 5]);
        assert_eq!(starts(&[3, 2, 1]), [1, 2, 3]);
        assert!(starts(&[]).is_empty());
    }
}
