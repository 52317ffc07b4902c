//! The boot loader's information (Multiboot Specification 0.6.96, section 3.3).

use core::ops::Range;

use kernel::arch::PhysAddr;

use super::physical::{bytes, number};

const SIZE: usize = 116;

mod flag {
    pub const MODULES: usize = 1 << 3;
    pub const MEMORY_MAP: usize = 1 << 6;
    pub const VBE: usize = 1 << 11;
    pub const FRAME_BUFFER: usize = 1 << 12;
}

/// The loader's information structure.
pub struct Information {
    bytes: &'static [u8],
}

/// A region of the memory map.
pub struct Region {
    /// Its addresses.
    pub range: Range<PhysAddr>,
    /// Whether it is available RAM.
    pub usable: bool,
}

impl Information {
    /// The information structure at a physical address.
    ///
    /// # Safety
    /// A multiboot loader has stored it there, and the memory that it refers to is still unused.
    pub unsafe fn new(address: usize) -> Self {
        // SAFETY: loaders store it below 1 GiB, which the boot page tables map.
        let bytes = unsafe { bytes(address, SIZE) };
        Self { bytes }
    }

    fn has(&self, flag: usize) -> bool {
        number::<4>(self.bytes, 0) & flag != 0
    }

    /// The memory of the first module.
    #[cfg_attr(target_os = "none", optimize(size))]
    pub fn module(&self) -> Option<Range<PhysAddr>> {
        if !self.has(flag::MODULES) || number::<4>(self.bytes, 20) == 0 {
            return None;
        }
        // SAFETY: the loader stored the list there, below 1 GiB.
        let first = unsafe { bytes(number::<4>(self.bytes, 24), 8) };
        let module = PhysAddr(number::<4>(first, 0))..PhysAddr(number::<4>(first, 4));
        (module.start < module.end).then_some(module)
    }

    /// The memory map in the loader's format: entries of variable size.
    #[cfg_attr(target_os = "none", optimize(size))]
    fn raw_map(&self) -> &'static [u8] {
        if !self.has(flag::MEMORY_MAP) {
            return &[];
        }
        // SAFETY: the loader stored it there, below 1 GiB.
        unsafe { bytes(number::<4>(self.bytes, 48), number::<4>(self.bytes, 44)) }
    }

    /// The entries of the memory map: base, length and type, 20 bytes each.
    #[cfg_attr(target_os = "none", optimize(size))]
    fn entries(&self) -> impl Iterator<Item = &'static [u8]> {
        let mut rest = self.raw_map();
        core::iter::from_fn(move || {
            let size = number::<4>(rest, 0);
            let entry = rest.get(4..4 + size).filter(|entry| entry.len() >= 20)?;
            rest = &rest[4 + size..];
            Some(&entry[..20])
        })
    }

    /// The memory map.
    #[cfg_attr(target_os = "none", optimize(size))]
    pub fn regions(&self) -> impl Iterator<Item = Region> {
        const AVAILABLE: usize = 1;
        self.entries().map(|entry| {
            let start = number::<8>(entry, 0);
            let end = start.saturating_add(number::<8>(entry, 8));
            let usable = number::<4>(entry, 16) == AVAILABLE;
            Region {
                range: PhysAddr(start)..PhysAddr(end),
                usable,
            }
        })
    }

    /// The memory map in the format that users get.
    pub fn memory_map_record(&self) -> MemoryMapRecord {
        let mut record = [0; _];
        let (length, list) = record.split_at_mut(4);
        let mut used = 0;
        for (place, entry) in list.chunks_exact_mut(RECORD_ENTRY).zip(self.entries()) {
            place[..4].copy_from_slice(&20_u32.to_le_bytes());
            place[4..].copy_from_slice(entry);
            used += RECORD_ENTRY as u32;
        }
        length.copy_from_slice(&used.to_le_bytes());
        record
    }

    /// The frame buffer: address, pitch, width, height, depth and type, in the format that users get.
    pub fn frame_buffer(&self) -> Option<&'static [u8]> {
        self.has(flag::FRAME_BUFFER).then(|| &self.bytes[88..110])
    }

    /// The VESA BIOS extension: control block, mode block, and four numbers.
    pub fn vbe_record(&self) -> Option<VbeRecord> {
        if !self.has(flag::VBE) {
            return None;
        }
        let (control, mode) = (number::<4>(self.bytes, 72), number::<4>(self.bytes, 76));
        let mut record = [0; _];
        // SAFETY: the loader stored them there, below 1 GiB.
        unsafe {
            record[..512].copy_from_slice(bytes(control, 512));
            record[512..768].copy_from_slice(bytes(mode, 256));
        }
        record[768..].copy_from_slice(&self.bytes[80..88]);
        Some(record)
    }
}

const RECORD_ENTRIES: usize = 50;
const RECORD_ENTRY: usize = 24;

/// The used length, and 50 entries of size, base, length and type.
pub type MemoryMapRecord = [u8; 4 + RECORD_ENTRIES * RECORD_ENTRY];

/// The blocks of 512 and 256 bytes, then mode and interface.
pub type VbeRecord = [u8; 512 + 256 + 8];
