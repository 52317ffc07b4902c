//! The kernel's part of every address space, which TTBR1_EL1 translates: 512 GiB of addresses.
//!
//! | from | what |
//! |---|---|
//! | [`KERNEL_WINDOW`] | physical memory: RAM by blocks, the kernel's image in it by pages |
//! | `IMAGE_BASE`, the last GiB but one | the GiB of RAM that the image lies in, but only the image |
//! | [`DEVICE_BASE`], the last GiB | the devices that the platform names, by blocks |
//!
//! Boot code maps the GiB of the image with everything allowed, and the same at its physical address.
//! [`Builder`] makes a table of what is needed and puts it in the place of boot code's.
//! Nothing of it changes after boot. Users' addresses are translated by TTBR0_EL1, so their tables
//! know nothing of the kernel.

use core::cell::UnsafeCell;
use core::ops::Range;

use kernel::arch::PhysAddr;

use crate::paging::descriptor::{
    Access, Attributes, Entry, Kind, Level, MEMORY_ATTRIBUTES, Memory,
};
use crate::paging::table::{TABLE_ENTRIES, Table};

/// Where the kernel sees physical address 0.
pub const KERNEL_WINDOW: usize = 0xffff_ff80_0000_0000;
/// Where the GiB of RAM begins that its image is linked to; see `kernel.ld`.
const IMAGE_BASE: usize = 0xffff_ffff_8000_0000;
/// Where it sees devices.
pub const DEVICE_BASE: usize = 0xffff_ffff_c000_0000;
/// The end of physical memory that it sees.
pub(crate) const WINDOW_TOP: PhysAddr = PhysAddr(IMAGE_BASE - KERNEL_WINDOW);

/// Tables for the GiBs of RAM that are not whole, that of the image, and that of the devices.
const LARGE_TABLES: usize = 8;
/// The most times 2 MiB that the kernel's image has.
const IMAGE_TABLES: usize = 2;

/// Sizes, granule and kind of walks (Arm ARM, `TCR_EL1`): 4 KiB granule, walks through the caches and
/// inner shareable, identifiers of 16 bits; the upper range has 39 bits. Boot code adds the size of
/// physical addresses.
const TRANSLATION_CONTROL: u64 = {
    const WALKS: u64 = 0b11_01_01 << 8;
    WALKS | WALKS << 16 | 0b10 << 30 | 25 << 16 | 1 << 36
};
/// The lower range has 39 bits too, so that one table does for both.
const BOOT_TRANSLATION_CONTROL: u64 = TRANSLATION_CONTROL | 25;
/// The lower range has 48 bits.
const USER_BITS: u64 = 64 - 48;

/// Arm ARM, `SCTLR_EL1`: the bits that are reserved as one; translation, caches, checks of both stack
/// pointers; users may wait (`wfi`, `wfe`), zero lines of the cache, and maintain caches by their own
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
    include_str!("start.s"),
    memory_attributes = const MEMORY_ATTRIBUTES,
    boot_translation_control = const BOOT_TRANSLATION_CONTROL,
    system_control = const SYSTEM_CONTROL,
    image_index = const Level::Huge.index(IMAGE_BASE),
    several_cores = const cfg!(feature = "smp") as usize,
);

core::arch::global_asm!(
    // Changes sizes of blocks, which translations must never see half of (Arm ARM, section D8.16.1): so
    // between the old and the new upper table there is none, and this executes at its physical address.
    // x0: the new table; x1: an empty one, which is the lower one in the end; x2: TCR_EL1 in the end.
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

// SAFETY: reached through `Table` only, during boot.
unsafe impl<const N: usize> Sync for Memories<N> {}

/// Boot code uses it before there is Rust.
#[unsafe(no_mangle)]
static kernel_table: Memories<1> = Memories::new();
static WINDOW: Memories<1> = Memories::new();
static LARGE: Memories<LARGE_TABLES> = Memories::new();
static IMAGE: Memories<IMAGE_TABLES> = Memories::new();
static NOTHING: Memories<1> = Memories::new();

// Places in the image, and what they are more than their physical addresses; see `kernel.ld`.
unsafe extern "C" {
    static IMAGE_OFFSET: u8;
    static image_start: u8;
    static text_end: u8;
    static rodata_end: u8;
    static stack_guard: u8;
    static image_end: u8;
    static install_tables: u8;
}

/// Where the kernel sees a physical address of RAM.
#[inline(always)]
pub(crate) const fn window(address: PhysAddr) -> usize {
    KERNEL_WINDOW.wrapping_add(address.0)
}

/// Where the kernel sees a device, given the blocks of 2 MiB that the platform wants to see.
///
/// # Panics
/// Where none of them has it.
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

/// The physical address of a place in the image.
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

/// Lets boot code see the GiB of RAM around a physical address.
pub(crate) fn see_during_boot(address: PhysAddr) {
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

/// Makes the kernel's table.
pub(crate) struct Builder {
    root: Table,
    large_tables: usize,
}

impl Builder {
    /// A table of the kernel's image, each part with the rights that it needs.
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
            // The window has the same pages, with the same rights.
            for place in [image.start, PhysAddr(IMAGE_BASE - KERNEL_WINDOW)] {
                let large = builder.large_table(place);
                large.set(index, Entry::table(table.address()));
            }
        }
        builder
    }

    /// The table of the GiB around a physical address.
    fn large_table(&mut self, address: PhysAddr) -> Table {
        let index = Level::Huge.index(address.0);
        if let Kind::Table(table) = self.root.get(index).kind(Level::Huge) {
            // SAFETY: it is one of ours.
            return unsafe { Table::at(table) };
        }
        let table = LARGE.table(self.large_tables);
        self.large_tables += 1;
        self.root.set(index, Entry::table(table.address()));
        table
    }

    /// Maps RAM, as far as it fills blocks of 2 MiB; returns what is mapped.
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
            // What is there already is the image.
            if table.get(index) == Entry::EMPTY {
                let entry = block(Level::Large, PhysAddr(address), Access::Kernel, false);
                table.set(index, entry);
            }
            address += unit;
        }
        PhysAddr(start)..PhysAddr(end.max(start))
    }

    /// Maps the platform's devices, and makes the table that of all addresses of the kernel. Users have
    /// nothing.
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

/// Makes the table, which is complete, that of this core's kernel. Users have nothing.
pub(crate) fn use_tables() {
    use aarch64_cpu::registers::{Readable, TCR_EL1};

    let control = TCR_EL1.get() & !0x3f | USER_BITS;
    let code = image_physical(&raw const install_tables as usize).0;
    // SAFETY: the code lies there, and boot code mapped it there. The new table has all that the
    // kernel uses: its image, and RAM.
    unsafe {
        let code: extern "C" fn(usize, usize, u64) = core::mem::transmute(code);
        code(WINDOW.table(0).address().0, nothing().address().0, control);
    }
}

/// Where further cores begin.
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

/// Whether the page at a place in the image is one below a stack, which must not be mapped.
fn is_guard(place: usize) -> bool {
    #[cfg(feature = "smp")]
    if arch_arm::smp::guards().any(|guard| guard.contains(&place)) {
        return true;
    }
    place == &raw const stack_guard as usize
}
