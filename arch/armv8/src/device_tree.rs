//! The boot loader's description of the machine: a flattened device tree in RAM.

use core::ops::Range;

use arch_arm::device_tree::{MAGIC, Tree, header};
use kernel::arch::PhysAddr;

use crate::kernel_space::{WINDOW_TOP, map_during_boot, window};

/// An upper bound of the size of real device trees.
const LARGEST: usize = 2 << 20;

/// A device tree in RAM.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceTree {
    address: PhysAddr,
    data: &'static [u8],
}

impl DeviceTree {
    /// The tree at `address`, if there is one; none at address 0. Free space after its content is cut off.
    ///
    /// # Safety
    /// If the address is not 0, it is in RAM that no other code changes.
    #[cfg_attr(target_os = "none", optimize(size))]
    pub(crate) unsafe fn at(address: PhysAddr) -> Option<Self> {
        let possible = 8..WINDOW_TOP.0 - LARGEST;
        if !address.0.is_multiple_of(8) || !possible.contains(&address.0) {
            return None;
        }
        map_during_boot(address);
        map_during_boot(PhysAddr(address.0 + LARGEST));
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
        // A tree without memory is damaged.
        Tree::new(data)?.ram().next()?;
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
        let ranges = Tree::new(self.data).into_iter().flat_map(Tree::ram);
        ranges.map(|range| PhysAddr(range.start as usize)..PhysAddr(range.end as usize))
    }
}
