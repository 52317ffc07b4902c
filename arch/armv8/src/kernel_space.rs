//! The kernel's part of every address space, which TTBR1_EL1 translates: 512 GiB of addresses.
//!
//! | from | what |
//! |---|---|
//! | [`KERNEL_WINDOW`] | physical memory: RAM by blocks, the kernel's image in it by pages |
//! | `IMAGE_BASE`, the last GiB but one | the kernel's image, in the GiB of RAM that contains it |
//! | [`DEVICE_BASE`], the last GiB | the devices of the platform, by blocks |
//!
//! Boot code maps the GiB of the image with all permissions, and also makes an identity mapping of it.
//! [`Builder`] makes a table of the mappings that are needed, which replaces boot code's. The mappings do not
//! change after boot. User addresses are translated by TTBR0_EL1, so users' tables have no kernel mappings.

use core::cell::UnsafeCell;
use core::ops::Range;

use kernel::arch::PhysAddr;

use crate::paging::descriptor::{
    Access, Attributes, Entry, Kind, Level, MEMORY_ATTRIBUTES, Memory,
};
use crate::paging::table::{TABLE_ENTRIES, Table};

/// The kernel's address of physical address 0.
pub const KERNEL_WINDOW: usize = 0xffff_ff80_0000_0000;
/// The address to which the GiB of RAM with the kernel's image is linked; see `kernel.ld`.
const IMAGE_BASE: usize = 0xffff_ffff_8000_0000;
/// The kernel's address of the first device block.
pub const DEVICE_BASE: usize = 0xffff_ffff_c000_0000;
/// The end of physical memory that the kernel can map.
pub(crate) const WINDOW_TOP: PhysAddr = PhysAddr(IMAGE_BASE - KERNEL_WINDOW);

/// Tables for the GiBs of RAM that are not complete, that of the image, and that of the devices.
const LARGE_TABLES: usize = 8;
/// The maximum number of 2 MiB blocks of the kernel's image.
const IMAGE_TABLES: usize = 2 + kernel::config::QUEUES_SIZE.div_ceil(Level::Large.bytes());

/// Sizes, granule and attributes of table walks (Arm ARM, `TCR_EL1`): 4 KiB granule, walks cached and inner
/// shareable, ASIDs of 16 bits; the upper range has 39 bits. Boot code adds the size of physical addresses.
const TRANSLATION_CONTROL: u64 = {
    const WALKS: u64 = 0b11_01_01 << 8;
    WALKS | WALKS << 16 | 0b10 << 30 | 25 << 16 | 1 << 36
};
/// The lower range also has 39 bits, so that one table serves both ranges.
const BOOT_TRANSLATION_CONTROL: u64 = TRANSLATION_CONTROL | 25;
/// The lower range has 48 bits.
const USER_BITS: u64 = 64 - 48;

/// Arm ARM, `SCTLR_EL1`: the bits that are reserved as one; MMU and caches enabled; alignment checks of both
/// stack pointers; users may wait (`wfi`, `wfe`), zero cache lines, and maintain caches by their own
/// addresses.
const SYSTEM_CONTROL: u64 = 0x30d0_0800
    | 1 << 26
    | 1 << 18
    | 1 << 16
    | 1 << 15
    | 1 << 14
    | 1 << 12
    | 1 << 4
    | 1 << 3
    | 1 << 2
    | 1;

core::arch::global_asm!(
    // For the link script.
    ".global image_size_limit",
    ".set image_size_limit, {limit}",
    limit = const IMAGE_TABLES * Level::Large.bytes(),
);

core::arch::global_asm!(
    include_str!("start.s"),
    memory_attributes = const MEMORY_ATTRIBUTES,
    boot_translation_control = const BOOT_TRANSLATION_CONTROL,
    system_control = const SYSTEM_CONTROL,
    image_index = const Level::Huge.index(IMAGE_BASE),
    several_cores = const cfg!(feature = "smp") as usize,
);

core::arch::global_asm!(
    // Changes block sizes, which requires break-before-make (Arm ARM, section D8.16.1): between the old and
    // the new upper table an empty one is used, and this code executes at its physical address. x0: the new
    // table; x1: an empty one, which remains the lower table; x2: the final TCR_EL1.
    ".section .boot, \"ax\"",
    ".global install_tables",
    "install_tables:",
    "msr     ttbr1_el1, x1",
    "isb",
    "tlbi    vmalle1",
    "dsb     ish",
    "isb",
    "msr     ttbr1_el1, x0",
    "isb",
    "ldr     x3, =1f",
    "br      x3",
    "1:",
    "msr     ttbr0_el1, x1",
    "isb",
    "msr     tcr_el1, x2",
    "isb",
    "tlbi    vmalle1",
    "dsb     ish",
    "isb",
    "ret",
    ".ltorg",
    ".text",
);

#[repr(C, align(4096))]
struct Memories<const N: usize>(UnsafeCell<[[Entry; TABLE_ENTRIES]; N]>);

impl<const N: usize> Memories<N> {
    const fn new() -> Self {
        Self(UnsafeCell::new([[Entry::EMPTY; TABLE_ENTRIES]; N]))
    }

    fn table(&self, index: usize) -> Table {
        assert!(index < N, "memory is in too many pieces to be mapped");
        let address = self.0.get() as usize + index * size_of::<[Entry; TABLE_ENTRIES]>();
        // SAFETY: it is static.
        unsafe { Table::at(image_physical(address)) }
    }
}

// SAFETY: accessed by `Table` only, during boot.
unsafe impl<const N: usize> Sync for Memories<N> {}

/// Used by boot code, before Rust code runs.
#[unsafe(no_mangle)]
static kernel_table: Memories<1> = Memories::new();
static WINDOW: Memories<1> = Memories::new();
static LARGE: Memories<LARGE_TABLES> = Memories::new();
static IMAGE: Memories<IMAGE_TABLES> = Memories::new();
static NOTHING: Memories<1> = Memories::new();

// Addresses in the image, and their difference from physical addresses; see `kernel.ld`.
unsafe extern "C" {
    static IMAGE_OFFSET: u8;
    static image_start: u8;
    static text_end: u8;
    static rodata_end: u8;
    static stack_guard: u8;
    static image_end: u8;
    static install_tables: u8;
}

/// The kernel's address of a physical address of RAM.
#[inline(always)]
pub(crate) const fn window(address: PhysAddr) -> usize {
    KERNEL_WINDOW.wrapping_add(address.0)
}

/// The kernel's address of a device, given the blocks of 2 MiB that the platform maps.
///
/// # Panics
/// If it is in none of them.
pub const fn device_address(blocks: &[PhysAddr], address: usize) -> usize {
    let mut index = 0;
    while index < blocks.len() {
        if address >> Level::Large.bits() == blocks[index].0 >> Level::Large.bits() {
            return DEVICE_BASE + (index << Level::Large.bits()) + address % Level::Large.bytes();
        }
        index += 1;
    }
    panic!("the platform does not map this device");
}

/// The physical address of an address in the image.
fn image_physical(address: usize) -> PhysAddr {
    PhysAddr(address - &raw const IMAGE_OFFSET as usize)
}

/// The memory of the kernel's image.
pub(crate) fn image() -> Range<PhysAddr> {
    let physical = |address: *const u8| image_physical(address as usize);
    physical(&raw const image_start)..physical(&raw const image_end)
}

/// A root for users that maps nothing.
pub(crate) fn nothing() -> Table {
    NOTHING.table(0)
}

/// Maps the GiB of RAM around a physical address in boot code's table.
pub(crate) fn map_during_boot(address: PhysAddr) {
    let table = kernel_table.table(0);
    let index = Level::Huge.index(address.0);
    if table.get(index) == Entry::EMPTY {
        let start = PhysAddr(index << Level::Huge.bits());
        table.set(index, block(Level::Huge, start, Access::Kernel, false));
    }
}

const fn attributes(access: Access, executable: bool) -> Attributes {
    Attributes {
        memory: Memory::Cached,
        access,
        executable,
    }
}

fn block(level: Level, address: PhysAddr, access: Access, executable: bool) -> Entry {
    Entry::kernel_frame(level, address, attributes(access, executable))
}

/// Builds the kernel's table.
pub(crate) struct Builder {
    root: Table,
    large_tables: usize,
}

impl Builder {
    /// A table that maps the kernel's image, each part with the permissions that it needs.
    pub(crate) fn new() -> Self {
        let mut builder = Self {
            root: WINDOW.table(0),
            large_tables: 0,
        };
        let image = image();
        let (first, last) = (image.start.0, image.end.0 - 1);
        for (number, index) in (Level::Large.index(first)..=Level::Large.index(last)).enumerate() {
            let table = IMAGE.table(number);
            let start = (first & !(Level::Huge.bytes() - 1)) + (index << Level::Large.bits());
            for page in 0..TABLE_ENTRIES {
                let address = PhysAddr(start + (page << Level::Pages.bits()));
                table.set(page, image_page(address));
            }
            // The window has the same pages, with the same permissions.
            for place in [image.start, PhysAddr(IMAGE_BASE - KERNEL_WINDOW)] {
                let large = builder.large_table(place);
                large.set(index, Entry::table(table.address()));
            }
        }
        builder
    }

    /// The table of the GiB around a physical address.
    #[cfg_attr(target_os = "none", optimize(size))]
    fn large_table(&mut self, address: PhysAddr) -> Table {
        let index = Level::Huge.index(address.0);
        if let Kind::Table(table) = self.root.get(index).kind(Level::Huge) {
            // SAFETY: it is one of the kernel's tables.
            return unsafe { Table::at(table) };
        }
        let table = LARGE.table(self.large_tables);
        self.large_tables += 1;
        self.root.set(index, Entry::table(table.address()));
        table
    }

    /// Maps the complete blocks of 2 MiB of a range of RAM; returns the mapped range.
    #[cfg_attr(target_os = "none", optimize(size))]
    pub(crate) fn map_ram(&mut self, range: &Range<PhysAddr>) -> Range<PhysAddr> {
        let unit = Level::Large.bytes();
        let start = range.start.0.next_multiple_of(unit);
        let end = range.end.0.min(WINDOW_TOP.0) & !(unit - 1);
        let mut address = start;
        while address < end {
            let huge = Level::Huge.bytes();
            let index = Level::Huge.index(address);
            if address.is_multiple_of(huge)
                && end - address >= huge
                && self.root.get(index) == Entry::EMPTY
            {
                let entry = block(Level::Huge, PhysAddr(address), Access::Kernel, false);
                self.root.set(index, entry);
                address += huge;
                continue;
            }
            let table = self.large_table(PhysAddr(address));
            let index = Level::Large.index(address);
            // An existing entry is that of the image.
            if table.get(index) == Entry::EMPTY {
                let entry = block(Level::Large, PhysAddr(address), Access::Kernel, false);
                table.set(index, entry);
            }
            address += unit;
        }
        PhysAddr(start)..PhysAddr(end.max(start))
    }

    /// Maps the platform's devices, and switches this core to the new table. There are no user mappings.
    #[cfg_attr(target_os = "none", optimize(size))]
    pub(crate) fn install(mut self, devices: &[PhysAddr]) {
        let table = self.large_table(PhysAddr(DEVICE_BASE - KERNEL_WINDOW));
        let device = Attributes {
            memory: Memory::Device,
            ..attributes(Access::Kernel, false)
        };
        for (index, &address) in devices.iter().enumerate() {
            let entry = Entry::kernel_frame(Level::Large, address, device);
            table.set(index, entry);
        }
        use_tables();
    }
}

/// Switches this core to the complete table. There are no user mappings.
pub(crate) fn use_tables() {
    use aarch64_cpu::registers::{Readable, TCR_EL1};

    let control = TCR_EL1.get() & !0x3f | USER_BITS;
    let code = image_physical(&raw const install_tables as usize).0;
    // SAFETY: the code is at this address, which boot code's table maps. The new table maps all memory that
    // the kernel uses: its image, and RAM.
    unsafe {
        let code: extern "C" fn(usize, usize, u64) = core::mem::transmute(code);
        code(WINDOW.table(0).address().0, nothing().address().0, control);
    }
}

/// The entry point of secondary cores.
#[cfg(feature = "smp")]
pub(crate) fn core_entry() -> PhysAddr {
    unsafe extern "C" {
        static core_boot_entry: u8;
    }
    image_physical(&raw const core_boot_entry as usize)
}

fn image_page(address: PhysAddr) -> Entry {
    let place = address.0 + &raw const IMAGE_OFFSET as usize;
    if is_guard(place) {
        return Entry::EMPTY;
    }
    let (access, executable) = if place < &raw const text_end as usize {
        (Access::KernelRead, true)
    } else if place < &raw const rodata_end as usize {
        (Access::KernelRead, false)
    } else {
        (Access::Kernel, false)
    };
    block(Level::Pages, address, access, executable)
}

/// Whether the page at an address of the image is the guard page of a stack, which must not be mapped.
fn is_guard(place: usize) -> bool {
    #[cfg(feature = "smp")]
    if arch_arm::smp::guards().any(|guard| guard.contains(&place)) {
        return true;
    }
    place == &raw const stack_guard as usize
}
