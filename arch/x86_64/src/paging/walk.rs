//! Lookup of the entry for an address.

use abi::LookupFailure;
use kernel::token::{Objects, Ptr};

use super::{PageTable, window};

/// A level of the tree. Its number is log2 of the bytes that one entry spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// Page table: entries are pages of 4 KiB.
    Table = 12,
    /// Page directory: pages of 2 MiB, or page tables.
    Directory = 21,
    /// Page-directory-pointer table: pages of 1 GiB, or page directories.
    Pointers = 30,
    /// The root.
    Root = 39,
}

impl Level {
    /// The levels from the root down.
    const DOWN: [Self; 4] = [Self::Root, Self::Pointers, Self::Directory, Self::Table];

    /// log2 of the bytes that one entry spans.
    pub const fn bits(self) -> usize {
        self as usize
    }

    /// The entry that `address` selects.
    pub const fn index(self, address: usize) -> usize {
        address >> self.bits() & 0x1ff
    }
}

/// The place of an entry.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The table.
    pub table: Ptr<PageTable>,
    /// The index into it.
    pub index: usize,
}

/// Finds the entry of `level` for a user's `address` under `root`.
///
/// # Errors
/// A table is missing, or a large page is mapped in its place; reports the remaining address bits.
pub fn find(
    objects: &Objects,
    root: Ptr<PageTable>,
    address: usize,
    level: Level,
) -> Result<Place, LookupFailure> {
    let mut table = root;
    for step in Level::DOWN {
        let index = step.index(address);
        if step == level {
            return Ok(Place { table, index });
        }
        let Some(next) = objects[table].entries[index].table() else {
            return Err(LookupFailure::MissingCapability {
                bits_left: step.bits(),
            });
        };
        // SAFETY: an entry refers to a table for as long as that table is a kernel object: the
        // finaliser of the last capability to a table removes it from its parent.
        table = unsafe { window::object(next) };
    }
    unreachable!("every level is on the way down")
}
