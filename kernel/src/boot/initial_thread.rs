//! Creation of the initial thread.

use core::ops::Range;

use abi::registers::{CAP, PC};
use abi::sizes::{MIN_SCHED_CONTEXT_BITS, PAGE_BITS, STREAM_RING_BITS, TCB_BITS};
use abi::{
    BootInfo, BootInfoHeader, BootInfoRecord, MAX_BOOT_UNTYPEDS, MAX_CRITICALITY, PRIORITIES,
    SlotRegion, slots,
};

use super::untypeds::Untypeds;
use super::{BootAllocator, RootTaskImage};
use crate::ExclusiveKernel;
use crate::arch::{Arch, BootSpace, PhysAddr, UserContext};
use crate::cap::Cap;
use crate::invoke::emplace;
use crate::object::{SchedContext, Thread, ThreadSlot, ThreadState, thread_slot};
use crate::time::{Microseconds, Ticks};
use crate::token::Ptr;

const PAGE: usize = 1 << PAGE_BITS;
const MAX_PRIORITY: u8 = (PRIORITIES - 1) as u8;

/// The platform's description of the machine.
pub struct BootParameters<'a> {
    /// The root task.
    pub root_task: RootTaskImage,
    /// RAM that the kernel can access and that neither the kernel nor the root task's image uses. Ascending,
    /// page aligned.
    pub ram: &'a [Range<PhysAddr>],
    /// Regions that must not become device memory: RAM in use, and devices of the kernel.
    pub reserved: &'a [Range<PhysAddr>],
    /// The end of the physical addresses that become device memory.
    pub device_top: u64,
    /// Extra boot information.
    pub extra: &'a [(BootInfoRecord, &'a [u8])],
    /// Number of cores.
    pub nodes: usize,
    /// Levels of I/O page tables; all ones if there is no I/O memory management.
    pub io_page_table_levels: usize,
    /// If a tool that computes the free memory itself has laid out the system: the bytes of the initial address
    /// space with all its tables. Such a tool assumes that the initial objects lie together at the end of RAM,
    /// the CNode first.
    pub laid_out: Option<usize>,
}

/// Creates the initial thread and makes it the current thread.
///
/// # Panics
/// If the machine has too little memory, or there is no root task.
#[cfg_attr(target_os = "none", optimize(size))]
pub fn start<A: Arch>(kernel: &mut ExclusiveKernel<A>, parameters: &BootParameters<'_>) {
    const { crate::object::check_sizes::<A>() };
    assert!(
        parameters.root_task.is_present(),
        "there is no root task in the boot image"
    );
    let layout = InitialAddresses::new::<A>(parameters);
    // Beside the CNode: address space, IPC buffer, boot information, thread and scheduling context.
    let beside = parameters
        .laid_out
        .map(|space| space + 2 * PAGE + (1 << TCB_BITS) + (1 << MIN_SCHED_CONTEXT_BITS));
    let mut boot = BootAllocator::new(parameters.ram, layout.cnode_radix(), beside);

    #[cfg(feature = "tracing-from-boot")]
    crate::tracing::reserve(&mut boot, parameters.nodes);
    let thread = emplace::<A, _>(boot.alloc(TCB_BITS), Thread::new(0, 0));
    #[cfg(feature = "debug")]
    kernel.list_thread(thread);
    let context = emplace::<A, _>(boot.alloc(MIN_SCHED_CONTEXT_BITS), SchedContext::new());
    let sched_context = Cap::SchedContext {
        object: context,
        bits: MIN_SCHED_CONTEXT_BITS,
    };
    let fixed = [
        (slots::INIT_THREAD_TCB, Cap::Thread(thread)),
        (slots::INIT_THREAD_CNODE, Cap::CNode(boot.cnode)),
        (slots::IRQ_CONTROL, Cap::IrqControl),
        (slots::DOMAIN, Cap::Domain),
        (slots::INIT_THREAD_SC, sched_context),
    ];
    for (slot, cap) in fixed {
        kernel.insert_root(boot.cnode.slot(slot), cap);
    }
    for slot in 0..slots::FIRST_DYNAMIC {
        if let Some(cap) = A::initial_cap(slot) {
            kernel.insert_root(boot.cnode.slot(slot), Cap::Arch(cap));
        }
    }

    provide_everything(kernel, &mut boot, parameters, &layout);
    start_thread(
        kernel,
        &boot,
        thread,
        context,
        parameters.root_task.entry(),
        &layout,
    );
}

/// Addresses in the initial address space.
struct InitialAddresses {
    image: Range<usize>,
    ipc_buffer: usize,
    boot_info: usize,
    /// Bytes of extra boot information, and of the memory for it.
    extra_length: usize,
    extra: Range<usize>,
    /// Rings of trace events that user level reads.
    rings: Range<usize>,
}

impl InitialAddresses {
    fn new<A: Arch>(parameters: &BootParameters<'_>) -> Self {
        let image = parameters.root_task.addresses();
        let boot_info = image.end + PAGE;
        let length: usize = parameters
            .extra
            .iter()
            .map(|(_, data)| record_length(data))
            .sum();
        // On x86 the size of the area is a power of two, and all of its frames are provided.
        let size = match length {
            0 => 0,
            _ if A::SCHED_CONTROL_FIRST => length.next_power_of_two().max(PAGE),
            _ => length.next_multiple_of(PAGE),
        };
        let extra = boot_info + PAGE..boot_info + PAGE + size;
        let rings = crate::tracing::shared_bytes(parameters.nodes);
        Self {
            ipc_buffer: image.end,
            image,
            boot_info,
            extra_length: length,
            rings: extra.end..extra.end + rings,
            extra,
        }
    }

    /// log2 of the number of slots of the initial CNode: as configured, or more if a large image would take more
    /// than half of them. So at least half are left for the thread's own use, whatever the size of the image.
    fn cnode_radix(&self) -> usize {
        /// Slots for untyped memory, fixed slots, and one SchedControl for each core.
        const OTHERS: usize = MAX_BOOT_UNTYPEDS + slots::FIRST_DYNAMIC + crate::config::CORES;
        let frames = (self.rings.end - self.image.start) / PAGE;
        // A table has at least 2^8 entries; the ends of the image and the upper levels need a few more.
        let tables = frames.div_ceil(1 << 8) + 8;
        let taken = frames + tables + OTHERS;
        let needed = (2 * taken).next_power_of_two().ilog2() as usize;
        // seL4's benchmarks are configured for 2^15 slots and use most of them.
        const CONFIGURED: usize = match abi::config::ROOT_CNODE_BITS {
            0..15 if cfg!(feature = "bench") => 15,
            bits => bits,
        };
        needed.max(CONFIGURED)
    }
}

/// Bytes of a record. The next one follows directly, without alignment.
#[cfg_attr(target_os = "none", optimize(size))]
const fn record_length(data: &[u8]) -> usize {
    size_of::<BootInfoHeader>() + data.len()
}

/// Fills the initial slots in the ABI's order, and writes the boot information.
#[cfg_attr(target_os = "none", optimize(size))]
fn provide_everything<A: Arch>(
    kernel: &mut ExclusiveKernel<A>,
    boot: &mut BootAllocator<A>,
    parameters: &BootParameters<'_>,
    layout: &InitialAddresses,
) {
    let mut sched_control = SlotRegion::default();
    if A::SCHED_CONTROL_FIRST {
        sched_control = provide_sched_control(kernel, boot, parameters.nodes);
    }
    let start = boot.next_slot;
    let space = A::boot_space(kernel, boot, layout.image.start..layout.rings.end);
    let user_image_paging = boot.region_from(start);
    kernel.insert_root(
        boot.cnode.slot(slots::INIT_THREAD_VSPACE),
        Cap::Arch(space.root),
    );
    kernel.insert_root(
        boot.cnode.slot(slots::INIT_THREAD_ASID_POOL),
        Cap::Arch(space.asid_pool),
    );

    let [_, boot_info] = [
        (slots::INIT_THREAD_IPC_BUFFER, layout.ipc_buffer),
        (slots::BOOT_INFO_FRAME, layout.boot_info),
    ]
    .map(|(slot, address)| {
        let frame = boot.alloc(PAGE_BITS);
        let cap = kernel.arch.boot_map(&space, address, frame, false);
        kernel.insert_root(boot.cnode.slot(slot), Cap::Arch(cap));
        frame
    });
    let extra_boot_info_pages = provide_extra(kernel, boot, &space, parameters, layout);
    if !A::SCHED_CONTROL_FIRST {
        sched_control = provide_sched_control(kernel, boot, parameters.nodes);
    }
    let physical = parameters.root_task.physical().start;
    let user_image_frames = provide_frames(kernel, boot, &space, layout.image.clone(), physical);
    let shared_frames = provide_rings(kernel, boot, &space, layout.rings.start);

    let start = boot.next_slot;
    let mut untypeds = Untypeds::new();
    let used = [parameters.reserved, parameters.ram];
    untypeds.add_devices(kernel, boot, &used, parameters.device_top);
    let mut next = 0;
    while let Some(region) = boot.free_region_from(next) {
        untypeds.add(kernel, boot, region.start as u64, region.end as u64, false);
        next = region.end;
    }
    let info = BootInfo {
        extra_length: layout.extra_length,
        node_id: 0,
        nodes: parameters.nodes,
        io_page_table_levels: parameters.io_page_table_levels,
        ipc_buffer: layout.ipc_buffer,
        empty: SlotRegion {
            start: boot.next_slot,
            end: boot.cnode.slot_count(),
        },
        shared_frames,
        user_image_frames,
        user_image_paging,
        io_space_caps: SlotRegion::default(),
        extra_boot_info_pages,
        cnode_size_bits: boot.cnode.radix,
        domain: 0,
        sched_control,
        untyped: boot.region_from(start),
        untyped_list: untypeds.list,
    };
    let page = A::to_virtual(boot_info) as *mut BootInfo;
    // SAFETY: the frame was allocated and cleared for this, and has no other user yet.
    unsafe { page.write(info) };
}

#[cfg_attr(target_os = "none", optimize(size))]
fn provide_sched_control<A: Arch>(
    kernel: &mut ExclusiveKernel<A>,
    boot: &mut BootAllocator<A>,
    nodes: usize,
) -> SlotRegion {
    let start = boot.next_slot;
    for core in 0..nodes {
        boot.provide_cap(kernel, Cap::SchedControl { core });
    }
    boot.region_from(start)
}

/// Maps the pages of `addresses` to consecutive frames from `physical` on and provides their capabilities.
#[cfg_attr(target_os = "none", optimize(size))]
fn provide_frames<A: Arch>(
    kernel: &mut ExclusiveKernel<A>,
    boot: &mut BootAllocator<A>,
    space: &BootSpace<A::Cap>,
    addresses: Range<usize>,
    physical: PhysAddr,
) -> SlotRegion {
    let start = boot.next_slot;
    let base = addresses.start;
    for address in addresses.step_by(PAGE) {
        let frame = PhysAddr(physical.0 + (address - base));
        let cap = kernel.arch.boot_map(space, address, frame, true);
        boot.provide(kernel, cap);
    }
    boot.region_from(start)
}

/// Writes the extra boot information and provides the frames that hold it.
#[cfg_attr(target_os = "none", optimize(size))]
fn provide_extra<A: Arch>(
    kernel: &mut ExclusiveKernel<A>,
    boot: &mut BootAllocator<A>,
    space: &BootSpace<A::Cap>,
    parameters: &BootParameters<'_>,
    layout: &InitialAddresses,
) -> SlotRegion {
    if layout.extra.is_empty() {
        return SlotRegion::default();
    }
    let bits = layout.extra.len().next_power_of_two().ilog2() as usize;
    let memory = boot.alloc(bits);
    let mut record = A::to_virtual(memory) as *mut u8;
    for (id, data) in parameters.extra {
        let length = record_length(data);
        let header = BootInfoHeader {
            id: *id as usize,
            length,
        };
        // SAFETY: the memory was allocated for the sum of all records.
        unsafe {
            record.cast::<BootInfoHeader>().write_unaligned(header);
            let body = record.add(size_of::<BootInfoHeader>());
            body.copy_from_nonoverlapping(data.as_ptr(), data.len());
            record = record.add(length);
        }
    }
    provide_frames(kernel, boot, space, layout.extra.clone(), memory)
}

/// Provides the frames of the rings of trace events that user level reads, mapped from `address` on.
fn provide_rings<A: Arch>(
    kernel: &mut ExclusiveKernel<A>,
    boot: &mut BootAllocator<A>,
    space: &BootSpace<A::Cap>,
    mut address: usize,
) -> SlotRegion {
    let start = boot.next_slot;
    for ring in crate::tracing::shared_rings() {
        let end = address + (1 << STREAM_RING_BITS);
        provide_frames(kernel, boot, space, address..end, A::to_physical(ring));
        address = end;
    }
    let region = boot.region_from(start);
    if region.is_empty() {
        SlotRegion::default()
    } else {
        region
    }
}

#[cfg_attr(target_os = "none", optimize(size))]
fn start_thread<A: Arch>(
    kernel: &mut ExclusiveKernel<A>,
    boot: &BootAllocator<A>,
    thread: Ptr<Thread<A>>,
    context: Ptr<SchedContext<A>>,
    entry: usize,
    layout: &InitialAddresses,
) {
    for (which, slot) in [
        (ThreadSlot::CSpace, slots::INIT_THREAD_CNODE),
        (ThreadSlot::VSpace, slots::INIT_THREAD_VSPACE),
        (ThreadSlot::Buffer, slots::INIT_THREAD_IPC_BUFFER),
    ] {
        let source = boot.cnode.slot(slot);
        let cap = kernel[source].unpack();
        if let Ok(cap) = kernel.derive_cap(source, cap) {
            kernel.insert_copy(source, thread_slot(thread, which), cap);
        }
    }
    kernel.core.now = kernel.arch.now();
    let slice = Microseconds(abi::config::BOOT_THREAD_TIME_SLICE * 1000);
    let budget = kernel.arch.clock().ticks(slice);
    let now = kernel.core.now;
    kernel[context].start(2, now, budget, Ticks::ZERO);
    kernel[context].thread = Some(thread);
    kernel.own(thread, context);
    #[cfg(feature = "tracing-from-boot")]
    kernel.trace_from_boot(Some((thread, context)));
    kernel.trace_configured(context);

    let object = &mut kernel[thread];
    object.context.set(PC, entry);
    object.context.restart();
    object.context.set(CAP, layout.boot_info);
    object.buffer_address = layout.ipc_buffer;
    object.sched_context = Some(context);
    object.priority = MAX_PRIORITY;
    object.max_controlled_priority = MAX_PRIORITY;
    object.max_controlled_criticality = MAX_CRITICALITY;
    object.state = ThreadState::Running;
    object.name[..9].copy_from_slice(b"root task");
    kernel.trace_named(thread);
    kernel.choose_again();
    kernel.ready_front(thread);
    kernel.leave();
}
