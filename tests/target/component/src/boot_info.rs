//! Boot information, as the root task gets it.

use crate::support::protocol::names;
use crate::support::{Outcome, Test};
use crate::{check, check_eq};
use abi::config::ROOT_CNODE_BITS;
use abi::{
    BootInfo, BootInfoHeader, BootInfoRecord, LookupFailure, MAX_BOOT_UNTYPEDS, Rights, SlotRegion,
    UntypedDescriptor, slots,
};
use userlib::cap::{Attributes, CNode, Frame};
use userlib::invoke::invoke;
use userlib::{CPtr, Error};

tests![
    numbers_are_those_of_one_core,
    regions_follow_each_other,
    the_empty_slots_are_the_last,
    each_core_has_a_sched_control,
    the_image_has_frames_and_paging,
    untypeds_are_aligned_and_of_allowed_sizes,
    untypeds_do_not_overlap,
    device_memory_comes_first_and_ascends,
    there_is_memory_to_work_with,
    unused_descriptors_are_zero,
    fixed_slots_are_where_they_should_be,
    extra_records_follow_each_other,
];

fn boot_info(test: &Test) -> &'static BootInfo {
    let words = test.startup.shared(names::BOOT_INFO);
    // SAFETY: the page is a copy of the kernel's, mapped for reading, and nobody writes to it.
    unsafe { &*words.as_ptr().cast() }
}

fn untypeds(boot: &BootInfo) -> &[UntypedDescriptor] {
    &boot.untyped_list[..boot.untyped.len()]
}

fn bytes(untyped: &UntypedDescriptor) -> u64 {
    1 << untyped.size_bits
}

fn numbers_are_those_of_one_core(test: &mut Test) -> Outcome {
    let boot = boot_info(test);
    check_eq!(boot.node_id, 0);
    check_eq!(boot.nodes, 1);
    check_eq!(boot.domain, 0);
    check_eq!(boot.cnode_size_bits, ROOT_CNODE_BITS);
    check_eq!(boot.ipc_buffer % 4096, 0);
    check!(boot.ipc_buffer != 0);
    let levels = if abi::config::X86_64 { usize::MAX } else { 0 };
    if !abi::config::IOMMU {
        check_eq!(boot.io_page_table_levels, levels);
    }
    check_eq!(boot.extra_length % size_of::<usize>(), 0);
    check_eq!(
        boot.extra_length != 0,
        !boot.extra_boot_info_pages.is_empty()
    );
    Ok(())
}

fn regions_follow_each_other(test: &mut Test) -> Outcome {
    let boot = boot_info(test);
    let (control, paging, extra, frames) = (
        boot.sched_control,
        boot.user_image_paging,
        boot.extra_boot_info_pages,
        boot.user_image_frames,
    );
    let order: [SlotRegion; 6] = if abi::config::X86_64 {
        [control, paging, extra, frames, boot.untyped, boot.empty]
    } else {
        [paging, extra, control, frames, boot.untyped, boot.empty]
    };
    let mut next = slots::FIRST_DYNAMIC;
    for region in order {
        check!(region.start <= region.end);
        if !region.is_empty() {
            check_eq!(region.start, next);
            next = region.end;
        }
    }
    check!(boot.shared_frames.is_empty());
    check!(boot.io_space_caps.is_empty());
    Ok(())
}

fn the_empty_slots_are_the_last(test: &mut Test) -> Outcome {
    let empty = boot_info(test).empty;
    check_eq!(empty.end, 1 << ROOT_CNODE_BITS);
    check!(empty.len() > 1000);
    Ok(())
}

fn each_core_has_a_sched_control(test: &mut Test) -> Outcome {
    let boot = boot_info(test);
    check_eq!(boot.sched_control.len(), boot.nodes);
    Ok(())
}

fn the_image_has_frames_and_paging(test: &mut Test) -> Outcome {
    let boot = boot_info(test);
    check!(!boot.user_image_frames.is_empty());
    // x86-64 needs a structure of each of three kinds.
    let kinds = if abi::config::X86_64 { 3 } else { 1 };
    check!(boot.user_image_paging.len() >= kinds);
    Ok(())
}

fn untypeds_are_aligned_and_of_allowed_sizes(test: &mut Test) -> Outcome {
    let boot = boot_info(test);
    check!(boot.untyped.len() <= MAX_BOOT_UNTYPEDS);
    for untyped in untypeds(boot) {
        let bits = untyped.size_bits as usize;
        check!(bits >= abi::sizes::MIN_UNTYPED_BITS);
        check!(bits <= abi::sizes::MAX_UNTYPED_BITS);
        check_eq!(untyped.address as u64 % bytes(untyped), 0);
        check!(untyped.is_device <= 1);
        check!(untyped.padding.iter().all(|&byte| byte == 0));
    }
    Ok(())
}

fn untypeds_do_not_overlap(test: &mut Test) -> Outcome {
    let untypeds = untypeds(boot_info(test));
    for (index, one) in untypeds.iter().enumerate() {
        for other in &untypeds[index + 1..] {
            let (a, b) = (one.address as u64, other.address as u64);
            check!(
                a + bytes(one) <= b || b + bytes(other) <= a,
                "{one:x?} and {other:x?} overlap"
            );
        }
    }
    Ok(())
}

fn device_memory_comes_first_and_ascends(test: &mut Test) -> Outcome {
    let untypeds = untypeds(boot_info(test));
    for pair in untypeds.windows(2) {
        check!(pair[0].is_device >= pair[1].is_device);
        if pair[1].is_device == 1 {
            check!(pair[0].address < pair[1].address);
        }
    }
    Ok(())
}

fn there_is_memory_to_work_with(test: &mut Test) -> Outcome {
    let (mut memory, mut device) = (0, 0);
    for untyped in untypeds(boot_info(test)) {
        match untyped.is_device {
            0 => memory += bytes(untyped),
            _ => device += bytes(untyped),
        }
    }
    check!(memory >= 64 << 20);
    check!(memory <= 4 << 30);
    check!(device > 0);
    Ok(())
}

fn unused_descriptors_are_zero(test: &mut Test) -> Outcome {
    let boot = boot_info(test);
    for descriptor in &boot.untyped_list[boot.untyped.len()..] {
        check_eq!(*descriptor, UntypedDescriptor::default());
    }
    Ok(())
}

fn fixed_slots_are_where_they_should_be(test: &mut Test) -> Outcome {
    let root: CNode = test.startup.capability(names::ROOT_CNODE);
    let target = test.empty_slot()?;
    for slot in [
        slots::INIT_THREAD_TCB,
        slots::INIT_THREAD_CNODE,
        slots::INIT_THREAD_VSPACE,
        slots::ASID_CONTROL,
        slots::INIT_THREAD_ASID_POOL,
        slots::BOOT_INFO_FRAME,
        slots::INIT_THREAD_IPC_BUFFER,
        slots::DOMAIN,
        slots::INIT_THREAD_SC,
    ] {
        target.copy_from(root.slot(CPtr(slot)), Rights::ALL)?;
        // There is an object, and no object knows this label.
        check_eq!(
            invoke(CPtr(target.index), 0, &[], &[]),
            Err(Error::IllegalOperation)
        );
        target.delete()?;
    }
    for slot in [
        slots::NULL,
        slots::IO_SPACE,
        slots::SMMU_SID_CONTROL,
        slots::SMMU_CB_CONTROL,
        slots::SMC,
    ] {
        let missing = Err(Error::FailedLookup {
            source: true,
            failure: LookupFailure::MissingCapability {
                bits_left: abi::WORD_BITS,
            },
        });
        check_eq!(
            target.copy_from(root.slot(CPtr(slot)), Rights::ALL),
            missing
        );
    }
    Ok(())
}

/// As far as they lie on the first page. Where there is a device tree, it is whole.
fn extra_records_follow_each_other(test: &mut Test) -> Outcome {
    const HEADER: usize = size_of::<BootInfoHeader>();
    const MAGIC: u32 = 0xd00d_feed;
    let boot = boot_info(test);
    let (length, pages) = (boot.extra_length, boot.extra_boot_info_pages);
    check!(length <= pages.len() * 4096);
    let (mut offset, mut trees) = (0, 0);
    if length > 0 {
        let root: CNode = test.startup.capability(names::ROOT_CNODE);
        let slot = test.empty_slot()?;
        slot.copy_from(root.slot(CPtr(pages.start)), Rights::ALL)?;
        let page = test.map(Frame(CPtr(slot.index)), Rights::READ, Attributes::NORMAL)?;
        // SAFETY: the page was just mapped for reading, and the offsets are inside and aligned.
        let word = |offset: usize| unsafe { *((page + offset) as *const u32) };
        while offset < length && offset + HEADER + 8 <= 4096 {
            // SAFETY: as above; a record begins there, which is at least a header.
            let header = unsafe { *((page + offset) as *const BootInfoHeader) };
            check!(header.length >= HEADER && header.length <= length - offset);
            if header.id == BootInfoRecord::DeviceTree as usize {
                let tree = offset + HEADER;
                check_eq!(u32::from_be(word(tree)), MAGIC);
                check!(u32::from_be(word(tree + 4)) as usize <= header.length - HEADER);
                trees += 1;
            }
            offset += header.length.next_multiple_of(size_of::<usize>());
        }
    }
    check!(trees == 1 || !abi::config::AARCH64);
    Ok(())
}
