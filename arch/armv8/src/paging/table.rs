//! Tables in memory. Table walks by the hardware are cached.

use aarch64_cpu::asm::barrier::{ISHST, SY, dsb, isb};
use kernel::arch::PhysAddr;

use super::descriptor::{Entry, Kind, Level};
use crate::kernel_space::window;

/// log2 of the size of a table.
pub(crate) const TABLE_BITS: usize = 12;
/// Entries of a table.
pub(crate) const TABLE_ENTRIES: usize = 1 << (TABLE_BITS - 3);

/// A table of any level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Table(PhysAddr);

impl Table {
    /// The table at `address`.
    ///
    /// # Safety
    /// A table is there, in RAM that the kernel maps, for as long as the value is used.
    pub(crate) const unsafe fn at(address: PhysAddr) -> Self {
        Self(address)
    }

    /// Its physical address.
    pub(crate) const fn address(self) -> PhysAddr {
        self.0
    }

    fn entry(self, index: usize) -> *mut Entry {
        assert!(index < TABLE_ENTRIES);
        core::ptr::with_exposed_provenance_mut::<Entry>(window(self.0)).wrapping_add(index)
    }

    pub(crate) fn get(self, index: usize) -> Entry {
        // SAFETY: by the contract of `at`, and the index is in range.
        unsafe { self.entry(index).read_volatile() }
    }

    /// Changes an entry; table walks see the change after this (Arm ARM, section D8.2.6).
    pub(crate) fn set(self, index: usize, entry: Entry) {
        // SAFETY: as for `get`; the hardware only reads it.
        unsafe { self.entry(index).write_volatile(entry) };
        dsb(ISHST);
        isb(SY);
    }

    /// Clears a table that no walk reaches.
    pub(crate) fn clear(self) {
        for index in 0..TABLE_ENTRIES {
            // SAFETY: as for `get`.
            unsafe { self.entry(index).write_volatile(Entry::EMPTY) };
        }
        dsb(ISHST);
    }
}

/// An entry of a table, found by a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) table: Table,
    pub(crate) level: Level,
    pub(crate) index: usize,
}

impl Place {
    pub(crate) fn get(self) -> Entry {
        self.table.get(self.index)
    }

    pub(crate) fn set(self, entry: Entry) {
        self.table.set(self.index, entry);
    }

    pub(crate) fn kind(self) -> Kind {
        self.get().kind(self.level)
    }

    /// Walks from `root` towards a user's `address`: all entries on the path, of which the last refers to no
    /// table.
    pub(crate) fn walk(root: Table, address: usize) -> impl Iterator<Item = Self> {
        let place = move |table, level: Level| Self {
            table,
            level,
            index: level.index(address),
        };
        core::iter::successors(Some(place(root, Level::Root)), move |last| {
            let Kind::Table(next) = last.kind() else {
                return None;
            };
            // SAFETY: a mapped table is removed from its parent before its memory is reused.
            Some(place(unsafe { Table::at(next) }, last.level.below()?))
        })
    }

    /// The last entry on the path to `address`.
    pub(crate) fn find(root: Table, address: usize) -> Self {
        let level = Level::Root;
        let mut place = Self {
            table: root,
            level,
            index: level.index(address),
        };
        while let Kind::Table(next) = place.kind()
            && let Some(level) = place.level.below()
        {
            place = Self {
                // SAFETY: as in `walk`.
                table: unsafe { Table::at(next) },
                level,
                index: level.index(address),
            };
        }
        place
    }
}
