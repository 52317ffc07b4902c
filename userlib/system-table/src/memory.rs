//! The memory that the initialiser takes. The tool counts it by the same functions, and refuses a system that does not fit into
//! the machine.

use crate::{Gift, Gifts, Table};

const PAGE: u64 = 4096;
/// Bytes of a slot for a capability, at the most.
const SLOT: u64 = 32;

/// Pages that a component may get beside what the table says: that of the clock, and that with the times that timeouts have
/// reported.
pub const MORE_PAGES: u32 = 2;

/// Objects that are made together, from an arena of userlib's allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArenaSize {
    /// The pages that they take.
    pub pages: u64,
    /// The slots for their capabilities.
    pub slots: u64,
}

impl ArenaSize {
    /// That of so many pages of shared memory.
    pub const fn of_frames(pages: u64) -> Self {
        let slots = pages;
        Self { pages, slots }
    }

    /// That of a component: `own` pages are those of its program, its stack and its heap, and `mapped` ones those of its
    /// shared memory and its registers.
    pub const fn of_component(own: u64, mapped: u64) -> Self {
        /// Pages of the CNode, the thread, the IPC buffer, the startup page, and the first paging structures, with their
        /// alignment.
        const OBJECTS: u64 = 28;
        /// Pages that a table of pages maps, at the least.
        const PAGES_OF_TABLE: u64 = 256;
        let all = own + mapped + MORE_PAGES as u64;
        let tables = all.div_ceil(PAGES_OF_TABLE);
        Self {
            pages: own + tables + OBJECTS,
            // Some objects are smaller than pages.
            slots: all + tables + 2 * OBJECTS,
        }
    }

    /// Bytes of the pages, if there can be so many.
    pub fn bytes(self) -> Option<usize> {
        usize::try_from(self.pages.checked_mul(PAGE)?).ok()
    }

    /// The pages that the arena takes of the machine's memory, at the most: the allocator rounds up, and makes a CNode for
    /// the slots. The initialiser checks this when it is compiled.
    pub const fn most_pages(self) -> u64 {
        let cnode = (self.slots.next_power_of_two() * SLOT).div_ceil(PAGE);
        self.pages + self.pages / 64 + 4 + cnode
    }
}

impl Table<'_> {
    /// The pages of the shared memory and the registers among these gifts.
    pub fn mapped_pages(&self, gifts: Gifts<'_>) -> u64 {
        let of_gift = |gift: Gift<'_>| match gift {
            Gift::Memory { region, .. } => {
                let region = self.regions().nth(region.into());
                region.map_or(0, |region| u64::from(region.pages))
            }
            Gift::Registers { pages, .. } => u64::from(pages),
            _ => 0,
        };
        gifts.iter().map(of_gift).sum()
    }
}
