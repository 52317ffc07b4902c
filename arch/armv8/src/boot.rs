//! Boot: from the first Rust code to the initial thread.

use core::ops::Range;
#[cfg(feature = "smp")]
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::{AtomicBool, Ordering};

use aarch64_cpu::registers::{ID_AA64MMFR0_EL1, Readable};
use arch_arm::psci::Conduit;
#[cfg(feature = "smp")]
use arch_arm::smp;
#[cfg(feature = "log")]
use arch_arm::timer::Timer;
use kernel::Kernels;
use kernel::arch::PhysAddr;
use kernel::boot::{BootParameters, Ranges, RootTaskImage, start};
use kernel::cores::{CoreHandle, Irqs};

use crate::cache;
use crate::device_tree::DeviceTree;
#[cfg(feature = "smp")]
use crate::kernel_space::{self, core_entry};
use crate::kernel_space::{Builder, image, window};
use crate::{Armv8, Platform, core_local, initial_space, trap, user_access};

const PAGE: usize = 4096;
/// Memory maps have only a few regions.
const REGIONS: usize = 32;

/// The values that the boot loader passed.
pub struct Entered {
    /// The address of a device tree, or 0.
    pub device_tree: PhysAddr,
    /// The exception level at which the boot loader entered the kernel.
    pub level: usize,
    /// The initial task that the loader has put into memory beside the kernel, if there is one.
    pub task: RootTaskImage,
}

/// Whether a monitor runs below the kernel, and no hypervisor.
static HAS_MONITOR: AtomicBool = AtomicBool::new(false);

/// How firmware is called: if the kernel was entered at level 2, a monitor runs below it, otherwise a hypervisor. A loader
/// that brings the initial task begins at level 2 or above, and has left it.
pub fn conduit() -> Conduit {
    if HAS_MONITOR.load(Ordering::Relaxed) {
        Conduit::Monitor
    } else {
        Conduit::Hypervisor
    }
}

/// Sets up the machine, then the kernel and the initial thread.
#[cfg_attr(target_os = "none", optimize(size))]
#[inline(never)]
pub(crate) fn boot<P: Platform>(
    kernels: &'static Kernels<Armv8<P>>,
    irqs: Irqs<Armv8<P>>,
    root_task: &RootTaskImage,
    entered: &Entered,
) -> CoreHandle<Armv8<P>> {
    let is_loaded = entered.task.is_present();
    let root_task = if is_loaded { &entered.task } else { root_task };
    HAS_MONITOR.store(is_loaded || entered.level == 2, Ordering::Relaxed);
    core_local::start();
    trap::start();
    check_processor();

    // Such a loader passes the tree's address, or 0 if users may get the tree's memory.
    let elsewhere = P::DATA.loaded_device_tree.filter(|_| !is_loaded);
    let tree = [Some(entered.device_tree), elsewhere]
        .into_iter()
        .flatten()
        // SAFETY: RAM is at the address of a device tree that the loader or the platform gives.
        .find_map(|address| unsafe { DeviceTree::at(address) });
    let all = map_memory::<P>(tree);
    if is_loaded {
        // The loader has written it as data.
        let Range { start, end } = root_task.physical();
        cache::publish_instructions(window(start)..window(end));
    }
    let devices = P::start();
    user_access::limit();
    let mut free = all.clone();
    let used = [image(), root_task.physical()];
    for used in used.into_iter().chain(tree.map(DeviceTree::memory)) {
        free.remove(&pages(&used));
    }
    free.sort();

    #[cfg(feature = "log")]
    defmt::info!(
        "core 0: entered at level {=usize}, RAM up to {=usize:#x}, a timer of {=u64} kHz",
        entered.level,
        all.as_slice().last().map_or(0, |last| last.end.0),
        devices.1.clock().frequency() / 1000
    );

    // SAFETY: this is called once.
    let mut core = unsafe { kernels.make(0, Armv8::new(devices), irqs) };
    let mut kernel = core.enter_exclusive();
    #[cfg(not(feature = "smp"))]
    let nodes = 1;
    #[cfg(feature = "smp")]
    let nodes = {
        core_local::own().set_kernel(kernels.address(0));
        kernel.arch.lines.join();
        let entry = core_entry();
        smp::start_others(&kernel.arch.timer, |core| match is_loaded {
            true => release(core),
            false => P::power_on(core, entry),
        })
    };
    let mut reserved = all;
    P::DATA
        .reserved
        .iter()
        .for_each(|range| reserved.add(range.clone()));
    let description = tree.map_or(P::DATA.device_tree, DeviceTree::data);
    let record = [(abi::BootInfoRecord::DeviceTree, description)];
    start(
        &mut kernel,
        &BootParameters {
            root_task: *root_task,
            ram: free.as_slice(),
            reserved: reserved.as_slice(),
            device_top: device_top(),
            extra: if description.is_empty() { &[] } else { &record },
            nodes,
            io_page_table_levels: 0,
            laid_out: is_loaded.then(|| initial_space::bytes(root_task)),
        },
    );
    drop(kernel);
    #[cfg(feature = "smp")]
    smp::release_cores();
    core
}

/// The secondary core that may leave the loop in which boot code holds the cores that a loader has started; 0 for none. Part
/// of the loaded image, because such a core may read it before the boot core has zeroed the variables: memory that is not
/// loaded has an unknown content at reset, and the reads are not cached while the MMU is off (Arm ARM, section D8.2).
#[cfg(feature = "smp")]
#[unsafe(no_mangle)]
#[unsafe(link_section = ".data")]
static released_core: AtomicUsize = AtomicUsize::new(0);

/// Releases a core that waits in boot code with its cache disabled. The loader has started all cores that the
/// kernel is built for.
#[cfg(feature = "smp")]
fn release(core: usize) -> bool {
    released_core.store(core, Ordering::Release);
    let place = &raw const released_core as usize;
    cache::clean(place..place + size_of::<usize>());
    aarch64_cpu::asm::sev();
    true
}

/// Sets up a secondary core and its kernel; then waits until the boot core releases it.
#[cfg(feature = "smp")]
#[cfg_attr(target_os = "none", optimize(size))]
pub(crate) fn boot_core<P: Platform>(
    kernels: &'static Kernels<Armv8<P>>,
    number: usize,
) -> CoreHandle<Armv8<P>> {
    core_local::start_core(number, smp::stack_end(number));
    trap::start();
    kernel_space::use_tables();
    user_access::limit();
    let arch = Armv8::of(number, P::start_core(number));
    let own = core_local::own();
    // SAFETY: this is called once on each core, one after the other.
    unsafe { smp::join(kernels, number, arch, |kernel| own.set_kernel(kernel)) }
}

/// The whole pages that contain a range.
fn pages(range: &Range<PhysAddr>) -> Range<PhysAddr> {
    PhysAddr(range.start.0 & !(PAGE - 1))..PhysAddr(range.end.0.next_multiple_of(PAGE))
}

/// Maps RAM and devices in the kernel's address space; returns the mapped RAM.
#[cfg_attr(target_os = "none", optimize(size))]
fn map_memory<P: Platform>(tree: Option<DeviceTree>) -> Ranges<REGIONS> {
    let mut builder = Builder::new();
    let mut all = Ranges::new();
    let mut add = |range: Range<PhysAddr>| all.add(builder.map_ram(&range));
    match tree {
        Some(tree) => tree.ram().for_each(add),
        None => add(P::DATA.ram),
    }
    builder.install(P::DATA.devices);
    all
}

/// # Panics
/// If the core lacks a feature that the kernel needs.
#[cfg_attr(target_os = "none", optimize(size))]
fn check_processor() {
    assert!(
        ID_AA64MMFR0_EL1.matches_all(ID_AA64MMFR0_EL1::ASIDBits::Bits_16),
        "the processor has no 16-bit ASIDs"
    );
}

/// The end of the physical address space.
fn device_top() -> u64 {
    /// By `ID_AA64MMFR0_EL1.PARange`; the 4 KiB granule has 48 bits.
    const BITS: [u32; 6] = [32, 36, 40, 42, 44, 48];
    let range = ID_AA64MMFR0_EL1.read(ID_AA64MMFR0_EL1::PARange) as usize;
    1 << BITS[range.min(BITS.len() - 1)]
}
