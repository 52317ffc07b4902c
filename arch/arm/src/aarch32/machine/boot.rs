//! Boot: from the first Rust code to the initial thread.

use abi::BootInfoRecord;
use kernel::Kernels;
use kernel::arch::{Arch, PhysAddr};
use kernel::boot::{BootParameters, RootTaskImage, start};
use kernel::cores::{CoreHandle, Irqs};

#[cfg(feature = "smp")]
use super::core_local;
use super::kernel_space::{self, Probe, WINDOW_SIZE};
use super::{Machine, trap, user_access, version};
use crate::aarch32::ram;
use crate::platform::Platform;
#[cfg(feature = "smp")]
use crate::smp;
#[cfg(feature = "log")]
use crate::timer::Timer;

const PAGE: usize = 4096;
/// The end of the 32-bit address space.
const DEVICE_TOP: u64 = 1 << 32;

/// Sets up the machine, then the kernel and the initial thread.
#[cfg_attr(target_os = "none", optimize(size))]
#[inline(never)]
pub(crate) fn boot<P: Platform>(
    kernels: &'static Kernels<Machine<P>>,
    irqs: Irqs<Machine<P>>,
    root_task: &RootTaskImage,
) -> CoreHandle<Machine<P>> {
    #[cfg(feature = "smp")]
    core_local::start(0, kernel_space::stack_end_address());
    trap::start();
    kernel_space::protect::<P>();
    #[cfg(feature = "smp")]
    P::join_caches();
    // SAFETY: boot code disabled the cache, or found it disabled.
    unsafe { version::enable_caches() };
    let devices = P::start();
    user_access::limit();

    let image_end = Machine::<P>::to_physical(kernel_space::image_end_address());
    let used = root_task.physical();
    let used_end = image_end.max(used.end);
    // Memory beyond the window is device memory to users, even if it is RAM.
    let window_end = PhysAddr(P::DATA.ram.start.0 + WINDOW_SIZE).min(P::DATA.ram.end);
    let window_end = {
        let probe = Probe::<P>::new();
        ram::find_end(P::DATA.ram.start, used_end..window_end, &probe)
    };
    kernel_space::limit_window::<P>(window_end);

    #[cfg(feature = "log")]
    defmt::info!(
        "core 0: RAM up to {=usize:#x}, a timer of {=u64} MHz",
        window_end.0,
        devices.1.clock().frequency() / 1_000_000
    );

    // SAFETY: this is called once.
    let mut core = unsafe { kernels.make(0, Machine::new(devices), irqs) };
    let mut kernel = core.enter_exclusive();
    #[cfg(not(feature = "smp"))]
    let nodes = 1;
    #[cfg(feature = "smp")]
    let nodes = {
        core_local::own().set_kernel(kernels.address(0));
        kernel.arch.lines.join();
        start_others(&mut kernel)
    };
    let up = |address: PhysAddr| PhysAddr(address.0.next_multiple_of(PAGE));
    let ram = [up(image_end)..used.start, up(used_end)..window_end];
    let mut reserved = [const { PhysAddr(0)..PhysAddr(0) }; MAX_RESERVED + 1];
    reserved[0] = P::DATA.ram.start..window_end;
    reserved[1..=P::DATA.reserved.len()].clone_from_slice(P::DATA.reserved);
    let tree = [(BootInfoRecord::DeviceTree, P::DATA.device_tree)];
    start(
        &mut kernel,
        &BootParameters {
            root_task: *root_task,
            ram: &ram,
            reserved: &reserved[..=P::DATA.reserved.len()],
            device_top: DEVICE_TOP,
            extra: if P::DATA.device_tree.is_empty() {
                &[]
            } else {
                &tree
            },
            nodes,
            io_page_table_levels: 0,
            laid_out: None,
        },
    );
    drop(kernel);
    #[cfg(feature = "smp")]
    smp::release_cores();
    core
}

/// Starts the secondary cores. Returns the number of cores.
#[cfg(feature = "smp")]
fn start_others<P: Platform>(kernel: &mut kernel::Kernel<Machine<P>>) -> usize {
    let entry = kernel_space::core_entry::<P>();
    kernel_space::map_core_entry::<P>(true);
    let count = smp::start_others(&kernel.arch.timer, |core| {
        // The cache of the new core is still disabled when it reads this.
        version::clean(smp::hand_over());
        P::power_on(core, entry)
    });
    kernel_space::map_core_entry::<P>(false);
    count
}

/// Sets up a secondary core and its kernel; then waits until the boot core releases it.
#[cfg(feature = "smp")]
#[cfg_attr(target_os = "none", optimize(size))]
pub(crate) fn boot_core<P: Platform>(
    kernels: &'static Kernels<Machine<P>>,
    number: usize,
) -> CoreHandle<Machine<P>> {
    core_local::start(number, smp::stack_end(number));
    trap::start();
    P::join_caches();
    // SAFETY: boot code found the cache disabled.
    unsafe { version::enable_caches() };
    user_access::limit();
    let arch = Machine::of(number, P::start_core(number));
    let own = core_local::own();
    // SAFETY: this is called once on each core, one after the other.
    unsafe { smp::join(kernels, number, arch, |kernel| own.set_kernel(kernel)) }
}

/// The maximum number of device ranges that a platform may reserve for the kernel.
const MAX_RESERVED: usize = 8;
