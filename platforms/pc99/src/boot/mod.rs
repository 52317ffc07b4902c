//! From the boot loader to the first user instruction.

mod acpi;
mod entry;
mod module;
mod multiboot;
mod physical;
#[cfg(feature = "smp")]
mod smp;

#[cfg(feature = "debug")]
use core::fmt::Write;
use core::ops::Range;

use abi::BootInfoRecord;
use arch_x86_64::apic::{IoApic, LocalApic};
use arch_x86_64::cpu::Features;
use arch_x86_64::paging::{Access, IMAGE_BASE, KernelSpace, tlb, window};
#[cfg(feature = "debug")]
use arch_x86_64::speculation::Speculation;
use arch_x86_64::timer::Starting;
use arch_x86_64::{Machine, X86_64, trap};
use kernel::arch::PhysAddr;
use kernel::boot::{BootParameters, Ranges, RootTaskImage};
#[cfg(feature = "debug")]
use kernel::console::Console;

use crate::clock::{self, Counters, EventTimer};
use crate::{Pc99, pic, state};
use acpi::Acpi;
use multiboot::Information;

/// End of the memory that the boot page tables map.
const BOOT_WINDOW: PhysAddr = PhysAddr(1 << 30);
/// Memory below this is left to firmware and devices.
const LOW_MEMORY_END: PhysAddr = PhysAddr(1 << 20);
/// The end of device memory for users: the limit of the addresses in untyped capabilities.
const DEVICE_TOP: u64 = 1 << 47;
const PAGE: usize = 1 << 12;
const DEFAULT_IO_APIC: usize = 0xfec0_0000;

/// The maximum number of memory regions during boot.
const REGIONS: usize = 64;

// Symbols of the linker script; only their addresses are used.
unsafe extern "C" {
    static image_text: u8;
    #[cfg(feature = "harden-meltdown")]
    static image_entries_end: u8;
    static image_rodata: u8;
    static image_data: u8;
    static image_guard: u8;
    static image_stack: u8;
    static image_end: u8;
}

macro_rules! address_of {
    ($symbol:ident) => {
        &raw const $symbol as usize
    };
}

/// Boots the kernel and exits to the initial thread.
#[cfg_attr(target_os = "none", optimize(size))]
pub extern "C" fn start(magic: u32, information: u32) -> ! {
    crate::serial::COM1.init();
    #[cfg(feature = "log")]
    crate::serial::COM2.init();
    assert!(
        magic == entry::LOADER_MAGIC,
        "the kernel was not started by a multiboot loader"
    );
    // SAFETY: the loader passes the address of its information structure.
    let information = unsafe { Information::new(information as usize) };

    let image = LOW_MEMORY_END..PhysAddr(address_of!(image_end) - IMAGE_BASE);
    let mut root_task = crate::root_task();
    let mut ram = usable_ram(&information, &image, &root_task);
    let module = information
        .module()
        .filter(|_| !root_task.is_present())
        .map(pages);
    if let Some(module) = &module {
        ram.remove(module);
    }
    let memory_end = memory_end(&information);

    let features = Features::detect();
    #[cfg(feature = "debug")]
    report_vulnerabilities();
    // SAFETY: this is boot, and only the kernel uses the new page tables.
    let mut kernel_space = unsafe {
        features.enable();
        let spare = || spare_page(&mut ram);
        #[cfg_attr(
            not(feature = "harden-meltdown"),
            expect(unused_mut, reason = "only `hide` changes it")
        )]
        let mut space = KernelSpace::build(&sections(), memory_end, features.huge_pages, spare);
        tlb::load_root(space.root());
        #[cfg(feature = "harden-meltdown")]
        if features.speculation.meltdown {
            space.hide(address_of!(image_text)..address_of!(image_entries_end));
        }
        space
    };

    if let (Some(pages), Some(module)) = (module, information.module()) {
        // SAFETY: memory is mapped in the window now, and only the kernel uses it.
        root_task = unsafe { module::load(&module, &mut ram) };
        ram.add(pages);
    }

    // SAFETY: memory is mapped in the window now.
    let acpi = unsafe { Acpi::find(memory_end) };
    let mut reserved = Ranges::<16>::new();
    reserved.add(image.clone());
    reserved.add(root_task.physical());
    let local_apic_page = PhysAddr(LocalApic::physical_base() as usize);
    reserved.add(page(local_apic_page));
    pic::disable();
    // SAFETY: the registers are mapped for this driver only.
    let mut local_apic =
        unsafe { LocalApic::enable(features.x2apic, kernel_space.map_device(local_apic_page)) };
    let io_apics = io_apics(acpi.as_ref(), &mut kernel_space, &mut reserved);

    // Its clock and the time stamp counter are measured at the same time.
    let timer = Starting::new(&mut local_apic, features.tsc_deadline);
    let megahertz = clock::time_stamp_megahertz(|| counters(acpi.as_ref(), &mut kernel_space));
    let ticks_per_second = megahertz * 1_000_000;
    let timer = timer.complete(&mut local_apic, ticks_per_second);
    let machine = Machine {
        features,
        kernel_space,
        ticks_per_second,
        local_apic,
        timer,
        io_apics: io_apics.into_iter().flatten(),
        stack: address_of!(image_end),
    };
    // SAFETY: this is boot; the kernel's page tables are in use and the features enabled.
    let mut core = unsafe { state::init(X86_64::<Pc99>::new(machine)) };
    let mut kernel = core.enter_exclusive();
    #[cfg(not(feature = "smp"))]
    let nodes = 1;
    // SAFETY: the boot core calls this once, and memory below 1 MiB is not in use.
    #[cfg(feature = "smp")]
    let nodes = unsafe { smp::start_others(&mut kernel, features, acpi.as_ref()) };

    let memory_map = information.memory_map_record();
    let vbe = information.vbe_record();
    let frequency = (megahertz as u32).to_le_bytes();
    let extra = [
        vbe.as_ref().map(|it| (BootInfoRecord::X86Vbe, &it[..])),
        acpi.as_ref()
            .map(|it| (BootInfoRecord::X86AcpiRsdp, it.root_pointer())),
        information
            .frame_buffer()
            .map(|it| (BootInfoRecord::X86FrameBuffer, it)),
        Some((BootInfoRecord::X86MemoryMap, &memory_map[..])),
        Some((BootInfoRecord::X86TscFrequency, &frequency[..])),
    ];
    let mut records = [(BootInfoRecord::Padding, &[][..]); 5];
    let mut count = 0;
    for record in extra.into_iter().flatten() {
        records[count] = record;
        count += 1;
    }
    ram.sort();
    let parameters = BootParameters {
        root_task,
        ram: ram.as_slice(),
        reserved: reserved.as_slice(),
        device_top: DEVICE_TOP,
        extra: &records[..count],
        nodes,
        io_page_table_levels: usize::MAX,
        laid_out: None,
    };
    kernel::boot::start(&mut kernel, &parameters);
    drop(kernel);
    #[cfg(feature = "smp")]
    smp::release_cores();
    // SAFETY: everything is initialised, and the handle is not used after this.
    unsafe { trap::return_to_user() }
}

/// Prints the attacks to which the processor is vulnerable and against which this kernel has no mitigation.
#[cfg(feature = "debug")]
#[cfg_attr(target_os = "none", optimize(size))]
fn report_vulnerabilities() {
    let needs = Speculation::detect();
    for (needed, built, attack) in [
        (
            needs.meltdown,
            cfg!(feature = "harden-meltdown"),
            "meltdown",
        ),
        (needs.buffers, cfg!(feature = "harden-mds"), "mds"),
    ] {
        if needed && !built {
            let _ = writeln!(
                Console::<X86_64<Pc99>>::new(),
                "this processor is vulnerable to {attack}; the kernel was built without --harden {attack}"
            );
        }
    }
}

/// Unused RAM, as far as the window can map it.
#[cfg_attr(target_os = "none", optimize(size))]
fn usable_ram(
    information: &Information,
    image: &Range<PhysAddr>,
    root_task: &RootTaskImage,
) -> Ranges<REGIONS> {
    let mut ram = Ranges::new();
    for region in information.regions().filter(|region| region.usable) {
        let start = region.range.start.0.next_multiple_of(PAGE);
        let end = region.range.end.0.min(window::SIZE) / PAGE * PAGE;
        ram.add(PhysAddr(start)..PhysAddr(end));
    }
    for region in information.regions().filter(|region| !region.usable) {
        ram.remove(&region.range);
    }
    ram.remove(&(PhysAddr(0)..LOW_MEMORY_END));
    ram.remove(image);
    ram.remove(&root_task.physical());
    ram
}

/// The end of the memory that the window must map: RAM, and below 4 GiB also the firmware's tables.
#[cfg_attr(target_os = "none", optimize(size))]
fn memory_end(information: &Information) -> usize {
    const LOW: usize = 1 << 32;
    information
        .regions()
        .filter(|region| region.usable || region.range.end.0 <= LOW)
        .map(|region| region.range.end.0.min(window::SIZE))
        .max()
        .unwrap_or(BOOT_WINDOW.0)
}

/// A cleared page for the kernel's page tables.
#[cfg_attr(target_os = "none", optimize(size))]
fn spare_page(ram: &mut Ranges<REGIONS>) -> PhysAddr {
    let Some(page) = ram.take_below(BOOT_WINDOW, PAGE) else {
        panic!("there is no memory for the kernel's page tables");
    };
    // SAFETY: the page was free, and the boot page tables map it.
    unsafe {
        core::ptr::with_exposed_provenance_mut::<u8>(window::to_virtual(page)).write_bytes(0, PAGE);
    }
    page
}

/// The parts of the image, with the rights that the kernel needs. The guard pages below the stacks are in
/// none of them.
#[cfg(not(feature = "smp"))]
#[cfg_attr(target_os = "none", optimize(size))]
fn sections() -> [(Range<usize>, Access); 4] {
    parts()
}

/// The same; the stacks of secondary cores are among the variables.
#[cfg(feature = "smp")]
#[cfg_attr(target_os = "none", optimize(size))]
fn sections() -> [(Range<usize>, Access); 4 + smp::STACKS] {
    let [text, rodata, data, stack] = parts();
    let mut rest = data.0;
    let pieces: [_; smp::STACKS] = core::array::from_fn(|index| {
        let guard = smp::guard(index);
        let piece = rest.start..guard.start;
        rest.start = guard.end;
        (piece, Access::Write)
    });
    let mut all = [const { (0..0, Access::Write) }; _];
    let last = [text, rodata, (rest, Access::Write), stack];
    for (place, part) in all.iter_mut().zip(pieces.into_iter().chain(last)) {
        *place = part;
    }
    all
}

#[cfg_attr(target_os = "none", optimize(size))]
fn parts() -> [(Range<usize>, Access); 4] {
    [
        (
            address_of!(image_text)..address_of!(image_rodata),
            Access::Execute,
        ),
        (
            address_of!(image_rodata)..address_of!(image_data),
            Access::Read,
        ),
        (
            address_of!(image_data)..address_of!(image_guard),
            Access::Write,
        ),
        (
            address_of!(image_stack)..address_of!(image_end),
            Access::Write,
        ),
    ]
}

#[cfg_attr(target_os = "none", optimize(size))]
fn io_apics(
    acpi: Option<&Acpi>,
    space: &mut KernelSpace,
    reserved: &mut Ranges<16>,
) -> [Option<IoApic>; arch_x86_64::lines::MAX_IO_APICS] {
    let mut list = [const { None }; arch_x86_64::lines::MAX_IO_APICS];
    let mut add = |place: &mut Option<IoApic>, address: usize| {
        reserved.add(page(PhysAddr(address / PAGE * PAGE)));
        let registers = map_registers(space, address);
        // SAFETY: the registers are mapped for this driver only.
        *place = Some(unsafe { IoApic::new(registers) });
    };
    match acpi {
        Some(acpi) => {
            for (place, address) in list.iter_mut().zip(acpi.io_apics()) {
                add(place, address);
            }
        }
        None => add(&mut list[0], DEFAULT_IO_APIC),
    }
    list
}

/// The counters that firmware describes. Users get them after boot.
#[cfg_attr(target_os = "none", optimize(size))]
fn counters(acpi: Option<&Acpi>, space: &mut KernelSpace) -> Counters {
    let registers = acpi.and_then(Acpi::event_timer);
    let registers = registers.map(|address| map_registers(space, address));
    Counters {
        // SAFETY: the registers are mapped for this driver only, and no user runs yet.
        event_timer: registers.and_then(|address| unsafe { EventTimer::new(address) }),
        power_timer: acpi.and_then(Acpi::power_timer),
    }
}

/// Maps the page of a device's registers; returns the virtual address of these.
#[cfg_attr(target_os = "none", optimize(size))]
fn map_registers(space: &mut KernelSpace, address: usize) -> usize {
    space.map_device(PhysAddr(address / PAGE * PAGE)) + address % PAGE
}

/// The pages that overlap `range`.
fn pages(range: Range<PhysAddr>) -> Range<PhysAddr> {
    PhysAddr(range.start.0 / PAGE * PAGE)..PhysAddr(range.end.0.next_multiple_of(PAGE))
}

fn page(address: PhysAddr) -> Range<PhysAddr> {
    address..PhysAddr(address.0 + PAGE)
}
