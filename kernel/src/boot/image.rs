//! Where the root task is.

use core::ops::Range;

use crate::arch::PhysAddr;

/// The record by which whoever assembles the boot image tells the kernel about the root task. The
/// platform exports one as the symbol `ROOT_TASK`, in data that is loaded.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RootTaskImage {
    magic: u64,
    physical_start: u64,
    physical_end: u64,
    virtual_start: u64,
    virtual_end: u64,
    entry: u64,
}

impl RootTaskImage {
    /// "ESCAPEMT".
    const MAGIC: u64 = 0x4553_4341_5045_4d54;

    /// The record before anybody has filled it in.
    pub const EMPTY: Self = Self {
        magic: Self::MAGIC,
        physical_start: 0,
        physical_end: 0,
        virtual_start: 0,
        virtual_end: 0,
        entry: 0,
    };

    /// The record of a root task in memory at `physical`, linked at `virtual_start`; both page
    /// aligned. For those who make their boot image themselves.
    pub const fn new(physical: Range<PhysAddr>, virtual_start: usize, entry: usize) -> Self {
        let size = physical.end.0 - physical.start.0;
        Self {
            physical_start: physical.start.0 as u64,
            physical_end: physical.end.0 as u64,
            virtual_start: virtual_start as u64,
            virtual_end: (virtual_start + size) as u64,
            entry: entry as u64,
            ..Self::EMPTY
        }
    }

    /// Whether there is a root task.
    pub const fn is_present(&self) -> bool {
        self.magic == Self::MAGIC && self.physical_end > self.physical_start
    }

    /// The memory that it occupies, page aligned.
    pub const fn physical(&self) -> Range<PhysAddr> {
        PhysAddr(self.physical_start as usize)..PhysAddr(self.physical_end as usize)
    }

    /// The addresses at which it is linked, page aligned.
    pub const fn addresses(&self) -> Range<usize> {
        self.virtual_start as usize..self.virtual_end as usize
    }

    /// Where it starts.
    pub const fn entry(&self) -> usize {
        self.entry as usize
    }
}
