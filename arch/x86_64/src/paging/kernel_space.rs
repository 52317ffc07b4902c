//! The kernel's half of every address space.
//!
//! | address | content |
//! |---|---|
//! | `0xffff_8000_0000_0000` | the window onto all memory: large pages, writable, not executable |
//! | `0xffff_ffff_8000_0000` | the kernel's image at this offset: 4 KiB pages, none both writable and executable |
//! | `0xffff_ffff_c000_0000` | device registers: 4 KiB pages, not cached |

use core::ops::Range;

use kernel::arch::PhysAddr;

use super::{Entry, Flags, Level, PageTable, window};

/// The offset of the kernel's image: link address minus physical address.
pub const IMAGE_BASE: usize = 0xffff_ffff_8000_0000;
/// The end of the range of the image's tables, within which the linker script places the image.
pub const IMAGE_END: usize = IMAGE_BASE + IMAGE_TABLES * LARGE_PAGE;
const IMAGE_TABLES: usize = 2 + kernel::config::QUEUES_SIZE.div_ceil(LARGE_PAGE);
const DEVICE_BASE: usize = 0xffff_ffff_c000_0000;

const PAGE: usize = 1 << 12;
const LARGE_PAGE: usize = 1 << 21;
const HUGE_PAGE: usize = 1 << 30;

const TABLE: Flags = Flags::PRESENT.union(Flags::WRITE);
const DATA: Flags = Flags::PRESENT
    .union(Flags::WRITE)
    .union(Flags::GLOBAL)
    .union(Flags::NO_EXECUTE);
const DEVICE: Flags = DATA.union(Flags::WRITE_THROUGH).union(Flags::CACHE_DISABLE);

#[repr(C)]
pub(crate) struct Tables {
    /// First: the stub of fatal exceptions loads it.
    root: PageTable,
    window: PageTable,
    high: PageTable,
    image_directory: PageTable,
    image: [PageTable; IMAGE_TABLES],
    device_directory: PageTable,
    devices: PageTable,
    #[cfg(feature = "harden-meltdown")]
    visible: VisibleTables,
}

/// The kernel's half of users' roots if the kernel is hidden, see [`crate::isolation`].
#[cfg(feature = "harden-meltdown")]
#[repr(C)]
struct VisibleTables {
    high: PageTable,
    directory: PageTable,
    image: [PageTable; IMAGE_TABLES],
}

pub(crate) static mut TABLES: Tables = Tables {
    root: PageTable::EMPTY,
    window: PageTable::EMPTY,
    high: PageTable::EMPTY,
    image_directory: PageTable::EMPTY,
    image: [PageTable::EMPTY; IMAGE_TABLES],
    device_directory: PageTable::EMPTY,
    devices: PageTable::EMPTY,
    #[cfg(feature = "harden-meltdown")]
    visible: VisibleTables {
        high: PageTable::EMPTY,
        directory: PageTable::EMPTY,
        image: [PageTable::EMPTY; IMAGE_TABLES],
    },
};

/// The permissions of a part of the kernel's image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Instructions.
    Execute,
    /// Constants.
    Read,
    /// Variables.
    Write,
}

/// The kernel's tables.
pub struct KernelSpace {
    tables: &'static mut Tables,
    devices: usize,
    #[cfg(feature = "harden-meltdown")]
    is_hidden: bool,
}

impl KernelSpace {
    /// Builds the tables: the `sections` of the image, and a window up to `memory_end`. If the processor has
    /// no pages of 1 GiB, `spare` provides a zeroed page of memory for every GiB.
    ///
    /// # Safety
    /// Called once, with boot tables that map the first GiB of memory in the window and the image; the pages
    /// of `spare` have no other use.
    #[cfg_attr(target_os = "none", optimize(size))]
    pub unsafe fn build(
        sections: &[(Range<usize>, Access)],
        memory_end: usize,
        huge_pages: bool,
        mut spare: impl FnMut() -> PhysAddr,
    ) -> Self {
        let tables = &raw mut TABLES;
        // SAFETY: by contract, this is the only call, hence the only reference.
        let tables = unsafe { &mut *tables };

        for (range, access) in sections {
            let flags = Flags::PRESENT
                | Flags::GLOBAL
                | match access {
                    Access::Execute => Flags::empty(),
                    Access::Read => Flags::NO_EXECUTE,
                    Access::Write => Flags::WRITE | Flags::NO_EXECUTE,
                };
            for page in range.clone().step_by(PAGE) {
                let table = &mut tables.image[(page - IMAGE_BASE) / LARGE_PAGE];
                let physical = PhysAddr(page - IMAGE_BASE);
                table.entries[Level::Table.index(page)] = Entry::new(physical, flags);
            }
        }

        for gigabyte in 0..memory_end.min(window::SIZE).div_ceil(HUGE_PAGE) {
            let start = gigabyte * HUGE_PAGE;
            tables.window.entries[gigabyte] = if huge_pages {
                Entry::new(PhysAddr(start), DATA | Flags::LARGE)
            } else {
                let directory = spare();
                // SAFETY: the page has no other use, and zero is a valid table.
                let table = unsafe { &mut *window::object::<PageTable>(directory).as_ptr() };
                for (index, entry) in table.entries.iter_mut().enumerate() {
                    *entry = Entry::new(PhysAddr(start + index * LARGE_PAGE), DATA | Flags::LARGE);
                }
                Entry::new(directory, TABLE)
            };
        }

        for (index, table) in tables.image.iter().enumerate() {
            tables.image_directory.entries[index] = Entry::new(physical(table), TABLE);
        }
        tables.device_directory.entries[0] = Entry::new(physical(&tables.devices), TABLE);
        let level = Level::Pointers;
        tables.high.entries[level.index(IMAGE_BASE)] =
            Entry::new(physical(&tables.image_directory), TABLE);
        tables.high.entries[level.index(DEVICE_BASE)] =
            Entry::new(physical(&tables.device_directory), TABLE);
        let level = Level::Root;
        tables.root.entries[level.index(window::BASE)] =
            Entry::new(physical(&tables.window), TABLE);
        tables.root.entries[level.index(IMAGE_BASE)] = Entry::new(physical(&tables.high), TABLE);
        Self {
            tables,
            devices: 0,
            #[cfg(feature = "harden-meltdown")]
            is_hidden: false,
        }
    }

    /// Restricts the kernel's half of users' roots to the parts that user mode needs: the code of
    /// `entries`, and the data that this crate knows of. Applies to roots that are installed from now on.
    #[cfg(feature = "harden-meltdown")]
    pub fn hide(&mut self, entries: Range<usize>) {
        let parts = [
            entries,
            crate::trap::visible_table(),
            crate::segments::visible_stacks(),
            crate::core_local::CoreLocal::visible(),
        ];
        let Tables { image, visible, .. } = &mut *self.tables;
        for range in parts {
            for page in (range.start / PAGE * PAGE..range.end).step_by(PAGE) {
                let (table, index) = ((page - IMAGE_BASE) / LARGE_PAGE, Level::Table.index(page));
                visible.image[table].entries[index] = image[table].entries[index];
            }
        }
        for (index, table) in visible.image.iter().enumerate() {
            visible.directory.entries[index] = Entry::new(physical(table), TABLE);
        }
        visible.high.entries[Level::Pointers.index(IMAGE_BASE)] =
            Entry::new(physical(&visible.directory), TABLE);
        self.is_hidden = true;
    }

    /// The root of the address space without a user half.
    pub fn root(&self) -> PhysAddr {
        physical(&self.tables.root)
    }

    /// Installs the kernel's half in the root of a user's address space. The tables below are shared.
    pub fn install(&self, root: &mut PageTable) {
        #[cfg(feature = "harden-meltdown")]
        if self.is_hidden {
            root.entries[256..].fill(Entry::EMPTY);
            root.entries[Level::Root.index(IMAGE_BASE)] =
                Entry::new(physical(&self.tables.visible.high), TABLE);
            return;
        }
        root.entries[256..].copy_from_slice(&self.tables.root.entries[256..]);
    }

    /// Maps a page of device registers and returns its address.
    ///
    /// # Panics
    /// If there are more than 512, which can happen only at boot.
    #[cfg_attr(target_os = "none", optimize(size))]
    pub fn map_device(&mut self, page: PhysAddr) -> usize {
        self.tables.devices.entries[self.devices] = Entry::new(page, DEVICE);
        self.devices += 1;
        DEVICE_BASE + (self.devices - 1) * PAGE
    }
}

/// The physical address of a table within the image.
fn physical(table: &PageTable) -> PhysAddr {
    PhysAddr(core::ptr::from_ref(table) as usize - IMAGE_BASE)
}
