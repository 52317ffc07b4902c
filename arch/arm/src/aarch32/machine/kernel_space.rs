//! The kernel's part of every address space.
//!
//! | from | what |
//! |---|---|
//! | [`KERNEL_BASE`] | the first [`WINDOW_SIZE`] bytes of RAM, image included, by sections |
//! | [`DEVICE_BASE`] | the devices of the platform, by sections |
//! | [`PROBE_BASE`] | memory that is probed during boot |
//! | `version::FIXED_VECTORS` | the page with the exception vectors, on cores with a fixed vector address |
//!
//! Boot code maps the window with all permissions; [`protect`] then removes those that are not needed. The
//! mappings do not change after boot, so each new directory gets a copy of these entries, and they are
//! global.

use core::cell::UnsafeCell;

use kernel::arch::{Arch, PhysAddr};

use super::translation::invalidate_all;
use super::{Machine, version};
use crate::aarch32::descriptor::{
    Access, Attributes, DIRECTORY_BITS, DIRECTORY_ENTRIES, FirstLevel, Memory, SECTION_BITS,
    SMALL_PAGE_BITS, SecondLevel, TABLE_BITS, TABLE_ENTRIES,
};
use crate::aarch32::ram::Words;
use crate::aarch32::{Directory, Table, USER_TOP, directory_index, table_index};
use crate::platform::Platform;

/// The kernel's address of the start of RAM.
pub const KERNEL_BASE: usize = USER_TOP;
/// The bytes of RAM that the kernel maps.
pub const WINDOW_SIZE: usize = 480 << 20;
/// The kernel's address of the first device section.
pub const DEVICE_BASE: usize = KERNEL_BASE + WINDOW_SIZE;
const PROBE_BASE: usize = 0xffe0_0000;

const SECTION: usize = 1 << SECTION_BITS;
const PAGE: usize = 1 << SMALL_PAGE_BITS;
const LARGE_PAGE: usize = 1 << 16;
/// The maximum size of the kernel's image in MiB.
const IMAGE_SECTIONS: usize = 2 + kernel::config::QUEUES_SIZE.div_ceil(SECTION);
/// One for each MiB of the image, and one for the vectors.
const TABLES: usize = IMAGE_SECTIONS + 1;

core::arch::global_asm!(
    // For the link script.
    ".global image_size_limit",
    ".set image_size_limit, {limit}",
    limit = const IMAGE_SECTIONS * SECTION,
);

#[repr(C, align(16384))]
struct DirectoryMemory(UnsafeCell<[FirstLevel; DIRECTORY_ENTRIES]>);
#[repr(C, align(1024))]
struct TableMemory(UnsafeCell<[[SecondLevel; TABLE_ENTRIES]; TABLES]>);

const _: () = assert!(align_of::<DirectoryMemory>() == 1 << DIRECTORY_BITS);
const _: () = assert!(align_of::<TableMemory>() == 1 << TABLE_BITS);

// SAFETY: accessed by `Directory` and `Table` only, during boot or to be copied from.
unsafe impl Sync for DirectoryMemory {}
// SAFETY: as above.
unsafe impl Sync for TableMemory {}

/// Filled by boot code, before Rust code runs.
#[unsafe(no_mangle)]
static kernel_directory: DirectoryMemory =
    DirectoryMemory(UnsafeCell::new([FirstLevel::FAULT; DIRECTORY_ENTRIES]));
static KERNEL_TABLES: TableMemory = TableMemory(UnsafeCell::new(
    [[SecondLevel::FAULT; TABLE_ENTRIES]; TABLES],
));

// Addresses in the image; see the linker script.
unsafe extern "C" {
    static text_end: u8;
    static rodata_end: u8;
    static stack_guard: u8;
    static image_end: u8;
}

// Constants of the platform's linker script, as addresses.
unsafe extern "C" {
    static RAM_START: u8;
    #[link_name = "KERNEL_BASE"]
    static LINKED_BASE: u8;
    static WINDOW_SECTIONS: u8;
}

/// The kernel's address of a device, given the sections that the platform maps.
///
/// # Panics
/// If it is in none of them.
pub const fn device_address(sections: &[PhysAddr], address: usize) -> usize {
    let mut index = 0;
    while index < sections.len() {
        if address >> SECTION_BITS == sections[index].0 >> SECTION_BITS {
            return DEVICE_BASE + (index << SECTION_BITS) + address % SECTION;
        }
        index += 1;
    }
    panic!("the platform does not map this device");
}

/// The end of the kernel's image.
pub(crate) fn image_end_address() -> usize {
    &raw const image_end as usize
}

/// The directory that maps only the kernel.
pub(crate) fn directory<P: Platform>() -> Directory<Machine<P>> {
    let address = Machine::<P>::to_physical(kernel_directory.0.get() as usize);
    // SAFETY: it is static, and written during boot only.
    unsafe { Directory::at(address) }
}

const fn attributes(access: Access, executable: bool) -> Attributes {
    Attributes {
        memory: Memory::Cached,
        access,
        executable,
        global: true,
        parity: false,
    }
}

/// Allows the kernel to execute its code, to read its constants, and to read and write the remaining RAM;
/// maps devices; and removes the identity mapping that boot code made.
#[cfg_attr(target_os = "none", optimize(size))]
pub(crate) fn protect<P: Platform>() {
    assert_eq!(&raw const RAM_START as usize, P::DATA.ram.start.0);
    assert_eq!(&raw const LINKED_BASE as usize, KERNEL_BASE);
    assert_eq!(&raw const WINDOW_SECTIONS as usize, WINDOW_SIZE / SECTION);
    let directory = directory::<P>();
    let image = (image_end_address() - KERNEL_BASE).div_ceil(SECTION);
    let first = KERNEL_BASE >> SECTION_BITS;
    let physical = |index: usize| Machine::<P>::to_physical(index << SECTION_BITS);

    for section in 0..image {
        let table = kernel_table::<P>(section);
        table.fill(0..TABLE_ENTRIES, |index| {
            let address = KERNEL_BASE + section * SECTION + index * PAGE;
            let large = address / LARGE_PAGE * LARGE_PAGE;
            if is_guard(address) {
                SecondLevel::FAULT
            } else if (large..large + LARGE_PAGE).step_by(PAGE).any(is_guard) {
                let page = Machine::<P>::to_physical(address);
                SecondLevel::small(page, image_attributes(address))
            } else {
                let page = Machine::<P>::to_physical(large);
                SecondLevel::large(page, image_attributes(large))
            }
        });
        let entry = FirstLevel::table(table.address(), false);
        directory.fill(first + section..first + section + 1, |_| entry);
    }
    let window = first + image..first + WINDOW_SIZE / SECTION;
    let data = attributes(Access::Kernel, false);
    directory.fill(window, |index| FirstLevel::section(physical(index), data));

    let device = Attributes {
        memory: Memory::Device,
        ..data
    };
    let devices = DEVICE_BASE >> SECTION_BITS;
    directory.fill(devices..devices + P::DATA.devices.len(), |index| {
        FirstLevel::section(P::DATA.devices[index - devices], device)
    });
    if let Some(vectors) = version::FIXED_VECTORS {
        map_vectors::<P>(vectors);
    }
    directory.fill(0..first, |_| FirstLevel::FAULT);
    invalidate_all();
}

/// The end of the boot core's stack.
#[cfg(feature = "smp")]
pub(crate) fn stack_end_address() -> usize {
    unsafe extern "C" {
        static stack_end: u8;
    }
    &raw const stack_end as usize
}

/// The entry point of secondary cores.
#[cfg(feature = "smp")]
pub(crate) fn core_entry<P: Platform>() -> PhysAddr {
    unsafe extern "C" {
        static core_boot_entry: u8;
    }
    Machine::<P>::to_physical(&raw const core_boot_entry as usize)
}

/// Adds or removes an identity mapping of the section with the entry point of secondary cores.
#[cfg(feature = "smp")]
pub(crate) fn map_core_entry<P: Platform>(mapped: bool) {
    let section = core_entry::<P>().0 >> SECTION_BITS;
    let entry = if mapped {
        FirstLevel::section(
            PhysAddr(section << SECTION_BITS),
            attributes(Access::KernelRead, true),
        )
    } else {
        FirstLevel::FAULT
    };
    directory::<P>().fill(section..section + 1, |_| entry);
    invalidate_all();
}

/// Maps the first page of the image, which begins with the vectors, also at `address`.
#[cfg_attr(target_os = "none", optimize(size))]
fn map_vectors<P: Platform>(address: usize) {
    let table = kernel_table::<P>(IMAGE_SECTIONS);
    let code = Machine::<P>::to_physical(KERNEL_BASE);
    let page = table_index(address);
    table.fill(page..page + 1, |_| {
        SecondLevel::small(code, attributes(Access::KernelRead, true))
    });
    let section = directory_index(address);
    let entry = FirstLevel::table(table.address(), false);
    directory::<P>().fill(section..section + 1, |_| entry);
}

fn kernel_table<P: Platform>(index: usize) -> Table<Machine<P>> {
    assert!(index < TABLES);
    let address = KERNEL_TABLES.0.get() as usize + (index << TABLE_BITS);
    // SAFETY: it is static, and the index is in range.
    unsafe { Table::at(Machine::<P>::to_physical(address)) }
}

/// Whether the page at an address of the image is the guard page of a stack, which must not be mapped.
fn is_guard(address: usize) -> bool {
    #[cfg(feature = "smp")]
    if crate::smp::guards().any(|guard| guard.contains(&address)) {
        return true;
    }
    address == &raw const stack_guard as usize
}

fn image_attributes(address: usize) -> Attributes {
    if address < &raw const text_end as usize {
        attributes(Access::KernelRead, true)
    } else if address < &raw const rodata_end as usize {
        attributes(Access::KernelRead, false)
    } else {
        attributes(Access::Kernel, false)
    }
}

/// Removes the part of the window beyond the end of RAM.
#[cfg_attr(target_os = "none", optimize(size))]
pub(crate) fn limit_window<P: Platform>(end: PhysAddr) {
    let last = (KERNEL_BASE + WINDOW_SIZE) >> SECTION_BITS;
    let first = (Machine::<P>::to_virtual(end) >> SECTION_BITS).min(last);
    directory::<P>().fill(first..last, |_| FirstLevel::FAULT);
    invalidate_all();
}

/// Uncached access to single words of physical memory during boot.
pub(crate) struct Probe<P: Platform>(Directory<Machine<P>>);

impl<P: Platform> Probe<P> {
    pub(crate) fn new() -> Self {
        Self(directory())
    }

    fn map(&self, address: PhysAddr) -> *mut usize {
        let section = PhysAddr(address.0 >> SECTION_BITS << SECTION_BITS);
        let uncached = Attributes {
            memory: Memory::Device,
            ..attributes(Access::Kernel, false)
        };
        let index = PROBE_BASE >> SECTION_BITS;
        self.0
            .fill(index..index + 1, |_| FirstLevel::section(section, uncached));
        invalidate_all();
        core::ptr::with_exposed_provenance_mut(PROBE_BASE + address.0 % SECTION)
    }
}

impl<P: Platform> Words for Probe<P> {
    fn read(&self, address: PhysAddr) -> usize {
        // SAFETY: it was just mapped, and reading RAM has no side effects.
        unsafe { self.map(address).read_volatile() }
    }

    /// The caller restores words that are in use.
    fn write(&self, address: PhysAddr, word: usize) {
        // SAFETY: it was just mapped.
        unsafe { self.map(address).write_volatile(word) };
    }
}

impl<P: Platform> Drop for Probe<P> {
    fn drop(&mut self) {
        let index = PROBE_BASE >> SECTION_BITS;
        self.0.fill(index..index + 1, |_| FirstLevel::FAULT);
        invalidate_all();
    }
}
