//! From the first Rust code to the initial thread.

use core::mem::MaybeUninit;

use abi::BootInfoRecord;
use kernel::Kernel;
use kernel::arch::{Arch, PhysAddr};
use kernel::boot::{BootParameters, RootTaskImage, start};
use kernel::object::IrqEntry;

use super::kernel_space::{self, Probe, WINDOW_SIZE};
use super::{Machine, Version, trap};
use crate::aarch32::ram;
use crate::platform::Platform;
#[cfg(feature = "log")]
use crate::timer::Timer;

const PAGE: usize = 4096;
/// All that 32 bits can address.
const DEVICE_TOP: u64 = 1 << 32;

/// Makes the machine ready, then the kernel and the initial thread.
pub(crate) fn boot<'a, V: Version, P: Platform>(
    memory: &'a mut MaybeUninit<Kernel<Machine<V, P>>>,
    irqs: &'static mut [IrqEntry<Machine<V, P>>],
    root_task: &RootTaskImage,
) -> &'a mut Kernel<Machine<V, P>> {
    // SAFETY: boot code switched the cache off, or found it off.
    unsafe { V::enable_caches() };
    trap::start::<V>();
    kernel_space::protect::<V, P>();
    let devices = P::start();
    if cfg!(feature = "bench") {
        V::give_counters_to_users();
    }

    let image_end = Machine::<V, P>::to_physical(kernel_space::image_end_address());
    let used = root_task.physical();
    let used_end = image_end.max(used.end);
    // What lies behind the window is device memory to users, be it RAM or not.
    let window_end = PhysAddr(P::RAM.start.0 + WINDOW_SIZE).min(P::RAM.end);
    let window_end = {
        let probe = Probe::<V, P>::new();
        ram::find_end(P::RAM.start, used_end..window_end, &probe)
    };
    kernel_space::limit_window::<V, P>(window_end);

    #[cfg(feature = "log")]
    defmt::info!(
        "RAM up to {=usize:#x}, a timer of {=u64} MHz",
        window_end.0,
        devices.1.clock().frequency() / 1_000_000
    );

    // SAFETY: this is called once.
    let kernel = unsafe { Kernel::make_in(memory, Machine::new(devices), irqs) };
    let up = |address: PhysAddr| PhysAddr(address.0.next_multiple_of(PAGE));
    let ram = [up(image_end)..used.start, up(used_end)..window_end];
    let mut reserved = [const { PhysAddr(0)..PhysAddr(0) }; MAX_RESERVED + 1];
    reserved[0] = P::RAM.start..window_end;
    reserved[1..=P::RESERVED.len()].clone_from_slice(P::RESERVED);
    let tree = [(BootInfoRecord::DeviceTree, P::DEVICE_TREE)];
    start(
        kernel,
        &BootParameters {
            root_task: *root_task,
            ram: &ram,
            reserved: &reserved[..=P::RESERVED.len()],
            device_top: DEVICE_TOP,
            extra: if P::DEVICE_TREE.is_empty() {
                &[]
            } else {
                &tree
            },
            nodes: 1,
            io_page_table_levels: 0,
        },
    );
    kernel
}

/// How many ranges of devices a platform may keep for the kernel.
const MAX_RESERVED: usize = 8;
