//! Untyped memory: the placement of objects, and when memory is free again.

use crate::support::protocol::names;
use crate::support::{Outcome, Place, RADIX, Test};
use crate::{check, check_eq};
use abi::{BootInfo, ObjectType, RETYPE_LIMIT};
use userlib::cap::{CNode, Frame, FrameSize, Notification, SlotRange, Tcb, Untyped};
use userlib::{CPtr, Error, Rights};

tests![
    every_type_has_its_size,
    objects_come_in_ascending_order,
    objects_are_aligned,
    deleting_the_last_child_frees_everything,
    deleting_the_youngest_child_frees_nothing,
    memory_is_zeroed_before_reuse,
    copies_take_all_memory,
    parents_cannot_be_copied,
    copies_are_deleted_with_their_parent,
    revoking_deletes_all_descendants,
    many_objects_in_one_call,
    device_memory_makes_frames_and_untypeds_only,
];

fn every_type_has_its_size(test: &mut Test) -> Outcome {
    use abi::sizes;
    let mut kinds = [(ObjectType::Untyped, 0, 0); 10];
    let generic = [
        (ObjectType::Untyped, 4, 4),
        (ObjectType::Tcb, 0, sizes::TCB_BITS),
        (ObjectType::Endpoint, 0, sizes::ENDPOINT_BITS),
        (ObjectType::Notification, 0, sizes::NOTIFICATION_BITS),
        (ObjectType::CNode, 1, sizes::SLOT_BITS + 1),
        (ObjectType::CNode, 7, sizes::SLOT_BITS + 7),
        (ObjectType::SchedContext, 7, 7),
        (ObjectType::SchedContext, 9, 9),
        (ObjectType::Reply, 0, sizes::REPLY_BITS),
        (
            <userlib::cap::VSpace as userlib::cap::Object>::TYPE,
            0,
            sizes::VSPACE_BITS,
        ),
    ];
    kinds.copy_from_slice(&generic);
    let frames = FrameSize::ALL
        .iter()
        .filter(|size| size.bits() <= 21)
        .map(|size| (size.object_type(), 0, size.bits()));
    for (object, argument, bits) in kinds.into_iter().chain(frames) {
        // Two objects fit exactly, whether they are made at once or one by one.
        let place = Place::new(test, bits + 1)?;
        check_eq!(place.make(object, argument, 0, 2), Ok(()));
        let full = place.make(object, argument, 2, 1);
        check_eq!(full, Err(Error::NotEnoughMemory(0)));
        place.delete(0)?;
        place.delete(1)?;
        check_eq!(place.make(object, argument, 0, 1), Ok(()));
        check_eq!(
            place.make(object, argument, 1, 2),
            Err(Error::NotEnoughMemory(1 << bits))
        );
        check_eq!(place.make(object, argument, 1, 1), Ok(()));
    }
    Ok(())
}

fn objects_come_in_ascending_order(test: &mut Test) -> Outcome {
    let place = Place::new(test, 16)?;
    place.make(FrameSize::SMALLEST.object_type(), 0, 3, 8)?;
    let first: Frame = place.take(test, 3)?;
    let base = first.physical_address()?;
    check_eq!(base % (1 << 16), 0);
    for index in 1..8 {
        let frame: Frame = place.take(test, 3 + index)?;
        check_eq!(frame.physical_address()?, base + index * 4096);
    }
    Ok(())
}

fn objects_are_aligned(test: &mut Test) -> Outcome {
    let place = Place::new(test, 14)?;
    let frame = FrameSize::SMALLEST.object_type();
    place.make(frame, 0, 0, 1)?;
    place.make(ObjectType::Endpoint, 0, 1, 1)?;
    place.make(frame, 0, 2, 1)?;
    let first: Frame = place.take(test, 0)?;
    let second: Frame = place.take(test, 2)?;
    check_eq!(
        second.physical_address()? - first.physical_address()?,
        2 * 4096
    );
    // One page is left: the skipped one is lost.
    check_eq!(
        place.make(frame, 0, 3, 2),
        Err(Error::NotEnoughMemory(4096))
    );
    Ok(())
}

fn deleting_the_last_child_frees_everything(test: &mut Test) -> Outcome {
    let place = Place::new(test, 10)?;
    for _ in 0..3 {
        place.make(ObjectType::Untyped, 9, 0, 2)?;
        let full = place.make(ObjectType::Endpoint, 0, 2, 1);
        check_eq!(full, Err(Error::NotEnoughMemory(0)));
        place.delete(0)?;
        let full = place.make(ObjectType::Endpoint, 0, 2, 1);
        check_eq!(full, Err(Error::NotEnoughMemory(0)));
        place.delete(1)?;
    }
    Ok(())
}

fn deleting_the_youngest_child_frees_nothing(test: &mut Test) -> Outcome {
    let place = Place::new(test, 10)?;
    place.make(ObjectType::Untyped, 9, 0, 1)?;
    place.make(ObjectType::Untyped, 8, 1, 1)?;
    place.delete(1)?;
    check_eq!(
        place.make(ObjectType::Untyped, 9, 1, 1),
        Err(Error::NotEnoughMemory(256))
    );
    check_eq!(place.make(ObjectType::Untyped, 8, 1, 1), Ok(()));
    Ok(())
}

fn memory_is_zeroed_before_reuse(test: &mut Test) -> Outcome {
    use core::sync::atomic::Ordering::Relaxed;
    const MARK: usize = 0x5ca1_ab1e;
    let place = Place::new(test, 12)?;
    let frame = FrameSize::SMALLEST.object_type();
    for _ in 0..2 {
        place.make(frame, 0, 0, 1)?;
        let page: Frame = place.take(test, 0)?;
        let attributes = userlib::cap::Attributes::NORMAL;
        let address = test.map(page, Rights::READ_WRITE, attributes)?;
        // SAFETY: the page was just mapped, and no other thread uses it.
        let words = unsafe {
            let words = address as *const core::sync::atomic::AtomicUsize;
            core::slice::from_raw_parts(words, 4096 / size_of::<usize>())
        };
        for word in words {
            check_eq!(word.load(Relaxed), 0);
            word.store(MARK, Relaxed);
        }
        test.delete(page)?;
    }
    Ok(())
}

fn copies_take_all_memory(test: &mut Test) -> Outcome {
    let place = Place::new(test, 10)?;
    let copy = test.copy(place.untyped)?;
    let full = place.make(ObjectType::Endpoint, 0, 0, 1);
    check_eq!(full, Err(Error::NotEnoughMemory(0)));
    copy.retype(ObjectType::Untyped, 9, place.range(0), 2)?;
    test.slot(copy).revoke()?;
    test.delete(copy)?;
    check_eq!(place.make(ObjectType::Untyped, 9, 0, 2), Ok(()));
    Ok(())
}

fn parents_cannot_be_copied(test: &mut Test) -> Outcome {
    let place = Place::new(test, 10)?;
    place.make(ObjectType::Endpoint, 0, 0, 1)?;
    check_eq!(test.copy(place.untyped), Err(Error::RevokeFirst));
    place.delete(0)?;
    check!(test.copy(place.untyped).is_ok());
    Ok(())
}

fn copies_are_deleted_with_their_parent(test: &mut Test) -> Outcome {
    let place = Place::new(test, 10)?;
    let copy = test.copy(place.untyped)?;
    copy.retype(ObjectType::Endpoint, 0, place.range(0), 1)?;
    test.slot(place.untyped).revoke()?;
    check!(test.is_gone(copy)?);
    check!(test.is_empty(place.table.slot_of_table(0, RADIX))?);
    check_eq!(place.make(ObjectType::Untyped, 9, 0, 2), Ok(()));
    Ok(())
}

fn revoking_deletes_all_descendants(test: &mut Test) -> Outcome {
    let place = Place::new(test, 12)?;
    place.make(ObjectType::Untyped, 10, 0, 2)?;
    let child: Untyped = place.take(test, 0)?;
    child.retype(ObjectType::Notification, 0, place.range(2), 3)?;
    let grandchild: Notification = place.take(test, 2)?;
    let copy = test.badge(grandchild, 5)?;
    test.slot(place.untyped).revoke()?;
    check!(test.is_gone(child)? && test.is_gone(grandchild)? && test.is_gone(copy)?);
    for index in 0..16 {
        check!(test.is_empty(place.table.slot_of_table(index, RADIX))?);
    }
    check_eq!(place.make(ObjectType::Untyped, 11, 0, 2), Ok(()));
    Ok(())
}

fn many_objects_in_one_call(test: &mut Test) -> Outcome {
    let untyped: Untyped = test.create_sized(15)?;
    let table: CNode = test.create_sized(8)?;
    let range = SlotRange {
        root: table,
        index: 0,
        depth: 0,
        offset: 0,
    };
    untyped.retype(ObjectType::Notification, 0, range, RETYPE_LIMIT)?;
    for index in [0, 1, 127, 254, 255] {
        check!(!test.is_empty(table.slot_of_table(index, 8))?);
    }
    test.slot(untyped).revoke()?;
    for index in [0, 1, 127, 254, 255] {
        check!(test.is_empty(table.slot_of_table(index, 8))?);
    }
    Ok(())
}

fn device_memory_makes_frames_and_untypeds_only(test: &mut Test) -> Outcome {
    let place = Place::new(test, 12)?;
    let root: CNode = test.startup.capability(names::ROOT_CNODE);
    let Some((address, _)) = test.startup.find_memory(names::BOOT_INFO) else {
        crate::support::fail(format_args!("no boot information"))
    };
    // SAFETY: the runner mapped it.
    let boot = unsafe { &*(address as *const BootInfo) };
    // A device untyped that the runner has not split, and that is smaller than the largest objects.
    let slot = test.empty_slot()?;
    let found = (boot.untyped.start..boot.untyped.end)
        .zip(&boot.untyped_list)
        .filter(|(_, region)| region.is_device != 0 && (14..29).contains(&region.size_bits))
        .find(|(index, _)| slot.copy_from(root.slot(CPtr(*index)), Rights::ALL).is_ok());
    check!(found.is_some());
    let device = Untyped(CPtr(slot.index));
    for object in [ObjectType::Tcb, ObjectType::Endpoint, ObjectType::Reply] {
        check_eq!(
            device.retype(object, 0, place.range(0), 1),
            Err(Error::InvalidArgument(1))
        );
    }
    check_eq!(
        device.retype(ObjectType::CNode, 4, place.range(0), 1),
        Err(Error::InvalidArgument(1))
    );
    // The remaining size is checked first.
    let region = found.map_or(0, |(_, region)| region.size_bits as usize);
    check_eq!(
        device.retype(ObjectType::SchedContext, region + 1, place.range(0), 1),
        Err(Error::NotEnoughMemory(1 << region))
    );
    device.retype(ObjectType::Untyped, 12, place.range(0), 1)?;
    device.retype(FrameSize::SMALLEST.object_type(), 0, place.range(1), 1)?;
    let frame: Frame = place.take(test, 1)?;
    let base = found.map_or(0, |(_, region)| region.address);
    check_eq!(frame.physical_address()?, base + 4096);
    // It cannot be an IPC buffer, either.
    let tcb: Tcb = test.create()?;
    check_eq!(
        tcb.set_ipc_buffer(1 << abi::IPC_BUFFER_BITS, frame),
        Err(Error::IllegalOperation)
    );
    let child: Untyped = place.take(test, 0)?;
    check_eq!(
        child.retype(ObjectType::Endpoint, 0, place.range(0), 1),
        Err(Error::InvalidArgument(1))
    );
    Ok(())
}
