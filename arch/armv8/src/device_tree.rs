//! The boot loader's description of the machine: a flattened device tree (*Devicetree Specification*,
//! chapter 5).

use core::ops::Range;

use dtoolkit::Node;
use dtoolkit::fdt::Fdt;
use kernel::arch::PhysAddr;

use crate::kernel_space::{WINDOW_TOP, see_during_boot, window};

/// Words of the header, by their index.
mod header {
    pub(super) const MAGIC: usize = 0;
    pub(super) const TOTAL_SIZE: usize = 1;
    pub(super) const STRUCTURE: usize = 2;
    pub(super) const STRINGS: usize = 3;
    pub(super) const STRINGS_SIZE: usize = 8;
    pub(super) const STRUCTURE_SIZE: usize = 9;
    pub(super) const BYTES: usize = 40;
}
const MAGIC: u32 = 0xd00d_feed;
/// An upper bound of the size of real device trees.
const LARGEST: usize = 2 << 20;

/// A device tree in RAM.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceTree {
    address: PhysAddr,
    data: &'static [u8],
}

impl DeviceTree {
    /// The tree at `address`, if there is one; none at address 0. Free space behind its content is cut off.
    ///
    /// # Safety
    /// If the address is not 0, it is in RAM that no other code changes.
    pub(crate) unsafe fn at(address: PhysAddr) -> Option<Self> {
        let possible = 8..WINDOW_TOP.0 - LARGEST;
        if !address.0.is_multiple_of(8) || !possible.contains(&address.0) {
            return None;
        }
        see_during_boot(address);
        see_during_boot(PhysAddr(address.0 + LARGEST));
        let start = core::ptr::with_exposed_provenance_mut::<u32>(window(address));
        // SAFETY: by contract.
        let word = |index| u32::from_be(unsafe { start.add(index).read() });
        if word(header::MAGIC) != MAGIC {
            return None;
        }
        let end = |offset, size| (word(offset) as usize).saturating_add(word(size) as usize);
        let length = end(header::STRUCTURE, header::STRUCTURE_SIZE)
            .max(end(header::STRINGS, header::STRINGS_SIZE));
        let total = (word(header::TOTAL_SIZE) as usize).min(LARGEST);
        if !(header::BYTES..=total).contains(&length) {
            return None;
        }
        // SAFETY: by contract; only the kernel uses the tree from here on.
        let data = unsafe {
            start.add(header::TOTAL_SIZE).write((length as u32).to_be());
            core::slice::from_raw_parts(start.cast::<u8>(), length)
        };
        Fdt::new(data).ok()?;
        Some(Self { address, data })
    }

    /// Its bytes.
    pub(crate) const fn data(self) -> &'static [u8] {
        self.data
    }

    /// The memory that it occupies.
    pub(crate) const fn memory(self) -> Range<PhysAddr> {
        self.address..PhysAddr(self.address.0 + self.data.len())
    }

    /// The ranges of RAM that it describes.
    pub(crate) fn ram(self) -> impl Iterator<Item = Range<PhysAddr>> {
        let tree = Fdt::new(self.data).ok();
        let nodes = tree.into_iter().flat_map(|tree| tree.root().children());
        nodes
            .filter(|node| node.name_without_address() == "memory")
            .filter_map(|node| node.reg().ok().flatten())
            .flatten()
            .filter_map(|place| {
                let start: u64 = place.address().ok()?;
                let size: u64 = place.size().ok()?;
                let end = start.checked_add(size)?;
                Some(PhysAddr(start as usize)..PhysAddr(end as usize))
            })
    }
}
