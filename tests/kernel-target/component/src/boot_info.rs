//! Boot information, as the root task receives it.

use crate::support::protocol::names;
use crate::support::{Outcome, Test};
use crate::{check, check_eq};
use abi::config::ROOT_CNODE_BITS;
use abi::{
    BootInfo, LookupFailure, MAX_BOOT_UNTYPEDS, Rights, SlotRegion, UntypedDescriptor, slots,
};
use userlib::cap::{Attributes, CNode, Frame, SchedContext, Slot};
use userlib::invoke::invoke;
use userlib::{CPtr, Environment, Error, Result, syscall};

tests![
    numbers_are_those_of_the_first_core,
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
    fixed_slots_hold_what_they_should,
    the_initial_context_is_of_the_least_size,
    untyped_slots_hold_untypeds,
    frames_are_given_in_address_order,
    the_area_behind_holds_all_records,
    records_follow_each_other_without_gaps,
];

fn untypeds(boot: &BootInfo) -> &[UntypedDescriptor] {
    &boot.untyped_list[..boot.untyped.len()]
}

fn bytes(untyped: &UntypedDescriptor) -> u64 {
    1 << untyped.size_bits
}

fn numbers_are_those_of_the_first_core(test: &mut Test) -> Outcome {
    let boot = test.boot_info();
    check_eq!(boot.node_id, 0);
    check_eq!(boot.nodes > 1, abi::config::SMP);
    check_eq!(boot.domain, 0);
    check!(boot.cnode_size_bits >= ROOT_CNODE_BITS);
    check_eq!(boot.ipc_buffer % 4096, 0);
    check!(boot.ipc_buffer != 0);
    let levels = if abi::config::X86_64 { usize::MAX } else { 0 };
    if !abi::config::IOMMU {
        check_eq!(boot.io_page_table_levels, levels);
    }
    check_eq!(
        boot.extra_length != 0,
        !boot.extra_boot_info_pages.is_empty()
    );
    Ok(())
}

fn regions_follow_each_other(test: &mut Test) -> Outcome {
    let boot = test.boot_info();
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
    let boot = test.boot_info();
    let empty = boot.empty;
    check_eq!(empty.end, 1 << boot.cnode_size_bits);
    check!(empty.len() >= empty.end / 2, "the task's own are the most");
    Ok(())
}

fn each_core_has_a_sched_control(test: &mut Test) -> Outcome {
    let boot = test.boot_info();
    check_eq!(boot.sched_control.len(), boot.nodes);
    Ok(())
}

fn the_image_has_frames_and_paging(test: &mut Test) -> Outcome {
    let boot = test.boot_info();
    check!(!boot.user_image_frames.is_empty());
    // x86-64 needs paging structures of three kinds.
    let kinds = if abi::config::X86_64 { 3 } else { 1 };
    check!(boot.user_image_paging.len() >= kinds);
    Ok(())
}

fn untypeds_are_aligned_and_of_allowed_sizes(test: &mut Test) -> Outcome {
    let boot = test.boot_info();
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
    let untypeds = untypeds(test.boot_info());
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
    let untypeds = untypeds(test.boot_info());
    for pair in untypeds.windows(2) {
        check!(pair[0].is_device >= pair[1].is_device);
        if pair[1].is_device == 1 {
            check!(pair[0].address < pair[1].address);
        }
    }
    Ok(())
}

fn there_is_memory_to_work_with(test: &mut Test) -> Outcome {
    // That of the large machine of qemu-virt.
    const MOST: u64 = 8 << 30;
    let (mut memory, mut device) = (0, 0);
    for untyped in untypeds(test.boot_info()) {
        match untyped.is_device {
            0 => memory += bytes(untyped),
            _ => device += bytes(untyped),
        }
    }
    check!(memory >= 64 << 20);
    check!(memory <= MOST);
    check!(device > 0);
    Ok(())
}

fn unused_descriptors_are_zero(test: &mut Test) -> Outcome {
    let boot = test.boot_info();
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
        // The slot holds an object, and no object has a method with this label.
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
    ]
    .into_iter()
    .chain((!abi::config::SMC).then_some(slots::SMC))
    {
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

/// A copy of a capability of the root task, in a slot of the test.
fn copy_of(test: &mut Test, slot: usize) -> Result<Slot> {
    let root: CNode = test.startup.capability(names::ROOT_CNODE);
    let target = test.empty_slot()?;
    target.copy_from(root.slot(CPtr(slot)), Rights::ALL)?;
    Ok(target)
}

fn fixed_slots_hold_what_they_should(test: &mut Test) -> Outcome {
    // The type numbers of seL4's capabilities: those of architecture objects are odd.
    const WIDE: bool = abi::WORD_BITS == 64;
    let frame = 1;
    let expected: [(usize, usize); 9] = [
        (slots::INIT_THREAD_TCB, 12),
        (slots::INIT_THREAD_CNODE, 10),
        (slots::INIT_THREAD_VSPACE, 9),
        (slots::ASID_CONTROL, 11),
        (slots::INIT_THREAD_ASID_POOL, if WIDE { 13 } else { 5 }),
        (slots::BOOT_INFO_FRAME, frame),
        (slots::INIT_THREAD_IPC_BUFFER, frame),
        (slots::DOMAIN, if WIDE { 20 } else { 62 }),
        (slots::INIT_THREAD_SC, if WIDE { 22 } else { 78 }),
    ];
    for (slot, tag) in expected {
        let copy = copy_of(test, slot)?;
        let found = syscall::debug_cap_identify(CPtr(copy.index));
        check!(found == tag, "slot {slot} has tag {found}, not {tag}");
        copy.delete()?;
    }
    let boot = test.boot_info();
    let control = copy_of(test, boot.sched_control.start)?;
    let tag = syscall::debug_cap_identify(CPtr(control.index));
    check_eq!(tag, if WIDE { 24 } else { 94 });
    // These cannot be copied; the runner has moved them to the test, at the same addresses.
    check_eq!(syscall::debug_cap_identify(CPtr(slots::IRQ_CONTROL)), 14);
    if abi::config::X86_64 {
        let ports = CPtr(slots::IO_PORT_CONTROL);
        check_eq!(syscall::debug_cap_identify(ports), 31);
    }
    Ok(())
}

fn the_initial_context_is_of_the_least_size(test: &mut Test) -> Outcome {
    let slot = copy_of(test, slots::INIT_THREAD_SC)?;
    let context = SchedContext(CPtr(slot.index));
    let most = abi::sizes::refill_capacity(abi::sizes::MIN_SCHED_CONTEXT_BITS) - 2;
    let parameters =
        userlib::cap::SchedParameters::new(crate::support::ms(1), crate::support::ms(10));
    let result = test
        .sched_control
        .configure(context, &parameters.with_extra_refills(1000));
    check_eq!(
        result,
        Err(Error::Range {
            minimum: 0,
            maximum: most
        })
    );
    Ok(())
}

fn untyped_slots_hold_untypeds(test: &mut Test) -> Outcome {
    let root: CNode = test.startup.capability(names::ROOT_CNODE);
    let target = test.empty_slot()?;
    let region = test.boot_info().untyped;
    let mut copied = 0;
    for slot in region.start..region.end {
        match target.copy_from(root.slot(CPtr(slot)), Rights::ALL) {
            Ok(()) => {
                copied += 1;
                check_eq!(syscall::debug_cap_identify(CPtr(target.index)), 2);
                target.delete()?;
            }
            // An object was made from it.
            Err(error) => check_eq!(error, Error::RevokeFirst),
        }
    }
    check!(copied > 0);
    Ok(())
}

/// The physical address of the frame in a slot of the root task.
fn address_of(test: &mut Test, slot: usize) -> Result<usize> {
    let copy = copy_of(test, slot)?;
    let address = Frame(CPtr(copy.index)).physical_address();
    copy.delete()?;
    address
}

fn frames_are_given_in_address_order(test: &mut Test) -> Outcome {
    const PAGE: usize = 1 << abi::sizes::PAGE_BITS;
    let boot = test.boot_info();
    for region in [boot.user_image_frames, boot.extra_boot_info_pages] {
        let mut previous = None;
        for slot in region.start..region.end {
            let address = address_of(test, slot)?;
            if let Some(previous) = previous {
                check_eq!(address, previous + PAGE);
            }
            previous = Some(address);
        }
    }
    // None of these frames is also part of an untyped that was handed out.
    let mut own = [0; 3];
    let slots = [
        slots::BOOT_INFO_FRAME,
        slots::INIT_THREAD_IPC_BUFFER,
        boot.user_image_frames.start,
    ];
    for (address, slot) in own.iter_mut().zip(slots) {
        *address = address_of(test, slot)?;
    }
    for untyped in untypeds(boot) {
        let range = untyped.address as u64..untyped.address as u64 + bytes(untyped);
        check!(
            own.iter()
                .all(|&address| !range.contains(&(address as u64)))
        );
    }
    Ok(())
}

fn the_area_behind_holds_all_records(test: &mut Test) -> Outcome {
    const PAGE: usize = 1 << abi::sizes::PAGE_BITS;
    let boot = test.boot_info();
    let pages = boot.extra_boot_info_pages.len();
    check!(boot.extra_length <= pages * PAGE);
    if abi::config::X86_64 {
        check!(pages.is_power_of_two());
    } else {
        check_eq!(pages, boot.extra_length.div_ceil(PAGE));
    }
    Ok(())
}

/// The extra boot information, mapped by the test.
fn extra(test: &mut Test) -> Result<&'static [u8]> {
    let boot = test.boot_info();
    let region = boot.extra_boot_info_pages;
    let address = test.reserve(region.len());
    for (page, slot) in (region.start..region.end).enumerate() {
        let frame = Frame(CPtr(copy_of(test, slot)?.index));
        let environment: &mut Environment = test;
        environment.vspace.map(
            &mut environment.allocator,
            frame,
            address + (page << abi::sizes::PAGE_BITS),
            Rights::READ,
            Attributes::NO_EXECUTE,
        )?;
    }
    // SAFETY: this length was just mapped and stays mapped; no thread writes to it.
    Ok(unsafe { core::slice::from_raw_parts(address as *const u8, boot.extra_length) })
}

fn word(bytes: &[u8]) -> usize {
    let mut word = [0; size_of::<usize>()];
    word.copy_from_slice(&bytes[..size_of::<usize>()]);
    usize::from_le_bytes(word)
}

fn records_follow_each_other_without_gaps(test: &mut Test) -> Outcome {
    const HEAD: usize = 2 * size_of::<usize>();
    /// The kinds of the ABI in their order, and their lengths.
    const KINDS: [(usize, usize); 6] = [(1, 0), (3, 36), (4, 22), (2, 4 + 50 * 24), (5, 4), (6, 0)];
    let mut rest = extra(test)?;
    let (mut place, mut found) = (0, 0usize);
    while !rest.is_empty() {
        check!(rest.len() > HEAD, "{} bytes at the end", rest.len());
        let (id, length) = (word(rest), word(&rest[size_of::<usize>()..]));
        let kind = KINDS.iter().skip(place).position(|kind| kind.0 == id);
        check!(kind.is_some(), "record {id} is not one, or too late");
        place += kind.unwrap_or(0) + 1;
        let expected = KINDS[place - 1].1;
        check!(length > HEAD && length <= rest.len(), "{length} bytes");
        check!(expected == 0 || length == HEAD + expected, "{length} bytes");
        let body = &rest[HEAD..length];
        match id {
            2 => {
                let used = u32::from_le_bytes([body[0], body[1], body[2], body[3]]) as usize;
                check!(used > 0 && used <= 50 * 24 && used.is_multiple_of(24));
                // Each entry states its own size, not counting the word that states it.
                check!(body[4..4 + used].chunks(24).all(|entry| entry[0] == 20));
            }
            3 => check_eq!(&body[..8], b"RSD PTR "),
            5 => check!(body.iter().any(|&byte| byte != 0)),
            // A complete device tree.
            6 => {
                check_eq!(&body[..4], &[0xd0, 0x0d, 0xfe, 0xed]);
                let size = u32::from_be_bytes([body[4], body[5], body[6], body[7]]);
                check!(size as usize <= body.len());
            }
            _ => {}
        }
        found |= 1 << id;
        rest = &rest[length..];
    }
    #[cfg(target_arch = "x86_64")]
    check!(found & (1 << 2) != 0 && found & (1 << 5) != 0);
    #[cfg(not(target_arch = "x86_64"))]
    check_eq!(found, usize::from(userlib::board::HAS_DEVICE_TREE) << 6);
    Ok(())
}
