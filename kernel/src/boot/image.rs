//! The root task's image.

use core::ops::Range;

use crate::arch::PhysAddr;

/// The record that describes the root task to the kernel, filled in by the tool that assembles the boot
/// image. The platform exports one as the symbol `ROOT_TASK`, in loaded data.
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

    /// The record before it is filled in.
    pub const EMPTY: Self = Self {
        magic: Self::MAGIC,
        physical_start: 0,
        physical_end: 0,
        virtual_start: 0,
        virtual_end: 0,
        entry: 0,
    };

    /// The record of a root task in memory at `physical`, linked at `virtual_start`; both page aligned. For
    /// platforms that assemble their boot image themselves.
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

    /// Its memory, page aligned.
    pub const fn physical(&self) -> Range<PhysAddr> {
        PhysAddr(self.physical_start as usize)..PhysAddr(self.physical_end as usize)
    }

    /// Its virtual addresses as linked, page aligned.
    pub const fn addresses(&self) -> Range<usize> {
        self.virtual_start as usize..self.virtual_end as usize
    }

    /// Its entry point.
    pub const fn entry(&self) -> usize {
        self.entry as usize
    }
}
