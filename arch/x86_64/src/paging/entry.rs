//! One entry of a page table, and 512 of them.

use bitflags::bitflags;
use kernel::arch::PhysAddr;

bitflags! {
    /// The bits of an entry other than its address (Intel SDM vol. 3, tables 5-15 to 5-20).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Flags: u64 {
        /// The entry is valid.
        const PRESENT = 1 << 0;
        /// Writes are allowed.
        const WRITE = 1 << 1;
        /// User mode may access it.
        const USER = 1 << 2;
        /// Memory type, bit 0.
        const WRITE_THROUGH = 1 << 3;
        /// Memory type, bit 1.
        const CACHE_DISABLE = 1 << 4;
        /// Above the lowest level: a page, not a table.
        const LARGE = 1 << 7;
        /// At the lowest level, where `LARGE` does not exist: memory type, bit 2.
        const SMALL_PAT = 1 << 7;
        /// Stays in the TLB at address space switches.
        const GLOBAL = 1 << 8;
        /// In large pages: memory type, bit 2.
        const LARGE_PAT = 1 << 12;
        /// Instructions cannot be fetched from it.
        const NO_EXECUTE = 1 << 63;
    }
}

/// The bits that hold an address.
const ADDRESS: u64 = 0x000f_ffff_ffff_f000;

/// One entry of a page table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Entry(u64);

impl Entry {
    /// An entry that is not present.
    pub const EMPTY: Self = Self(0);

    /// An entry for the table or page at `address`.
    pub const fn new(address: PhysAddr, flags: Flags) -> Self {
        Self(address.0 as u64 | flags.bits())
    }

    /// An entry for a lower table of a user's address space; only the page's entry restricts permissions.
    pub const fn user_table(address: PhysAddr) -> Self {
        Self::new(
            address,
            Flags::PRESENT.union(Flags::WRITE).union(Flags::USER),
        )
    }

    /// Whether the entry is valid.
    pub const fn is_present(self) -> bool {
        self.0 & Flags::PRESENT.bits() != 0
    }

    /// The table to which an entry above the lowest level refers, if any.
    pub const fn table(self) -> Option<PhysAddr> {
        if self.0 & (Flags::PRESENT.bits() | Flags::LARGE.bits()) == Flags::PRESENT.bits() {
            Some(PhysAddr((self.0 & ADDRESS) as usize))
        } else {
            None
        }
    }

    /// The page of `2^bits` bytes that the entry maps, if any.
    pub const fn page(self, bits: usize) -> Option<PhysAddr> {
        let is_page = bits == 12 || self.0 & Flags::LARGE.bits() != 0;
        if self.is_present() && is_page {
            // The bit below the address of a large page belongs to its memory type.
            Some(PhysAddr((self.0 & ADDRESS) as usize >> bits << bits))
        } else {
            None
        }
    }
}

/// A table of any level.
#[derive(Debug)]
#[repr(C, align(4096))]
pub struct PageTable {
    /// The entries, by nine bits of the address.
    pub entries: [Entry; 512],
}

impl PageTable {
    /// A table without entries.
    pub const EMPTY: Self = Self {
        entries: [Entry::EMPTY; 512],
    };
}
