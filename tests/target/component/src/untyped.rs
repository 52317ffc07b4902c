//! Untyped memory: the checks of Retype in their order, and where objects go.

use crate::support::protocol::names;
use crate::support::{Outcome, Test};
use crate::{check, check_eq};
use abi::sizes::{MAX_UNTYPED_BITS, SLOT_BITS};
use abi::{BootInfo, LookupFailure, Method, ObjectType, RETYPE_LIMIT, WORD_BITS};
use userlib::cap::{CNode, Endpoint, Frame, FrameSize, Notification, SlotRange, Untyped};
use userlib::invoke::invoke;
use userlib::{CPtr, Capability, Error, Result, Rights};

tests![
    methods_of_others_are_illegal,
    short_messages_are_truncated,
    unknown_types_are_refused,
    large_sizes_are_refused,
    small_sizes_are_refused,
    destinations_must_resolve,
    destinations_must_be_cnodes,
    offsets_must_be_inside,
    counts_have_limits,
    occupied_slots_stop_everything,
    missing_memory_is_told,
    checks_come_in_order,
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
    tables_are_found_by_address,
    device_memory_makes_frames_and_untypeds_only,
];

/// log2 of the slots of [`Place::table`].
const RADIX: usize = 4;

/// An untyped of some size, and a table for what is made of it.
struct Place {
    untyped: Untyped,
    table: CNode,
}

impl Place {
    fn new(test: &mut Test, size_bits: usize) -> Result<Self> {
        // The large one last: what alignment skips is lost.
        let table = test.create_sized(RADIX)?;
        let untyped = test.create_sized(size_bits)?;
        Ok(Self { untyped, table })
    }

    fn range(&self, offset: usize) -> SlotRange {
        SlotRange {
            root: self.table,
            index: 0,
            depth: 0,
            offset,
        }
    }

    /// Makes objects of this type.
    fn make(&self, object: ObjectType, argument: usize, offset: usize, count: usize) -> Result {
        self.untyped
            .retype(object, argument, self.range(offset), count)
    }

    /// Moves what is in the table to an own slot.
    fn take<T: Capability>(&self, test: &mut Test, index: usize) -> Result<T> {
        let slot = test.empty_slot()?;
        slot.move_from(self.table.slot_of_table(index, RADIX))?;
        Ok(T::at(CPtr(slot.index)))
    }

    fn delete(&self, index: usize) -> Result {
        self.table.slot_of_table(index, RADIX).delete()
    }
}

fn retype(untyped: Untyped, words: &[usize], caps: &[CPtr]) -> Result {
    invoke(
        untyped.cptr(),
        Method::UntypedRetype.number(),
        words,
        caps,
    )
    .map(drop)
}

fn methods_of_others_are_illegal(test: &mut Test) -> Outcome {
    let place = Place::new(test, 12)?;
    let words = [ObjectType::Endpoint.number(), 0, 0, 0, 0, 1];
    for method in [Method::InvalidInvocation, Method::TcbResume, Method::CNodeCopy] {
        let result = invoke(
            place.untyped.cptr(),
            method.number(),
            &words,
            &[place.table.cptr()],
        );
        check_eq!(result.map(drop), Err(Error::IllegalOperation));
    }
    let result = invoke(place.untyped.cptr(), 0x1_0000, &words, &[place.table.cptr()]);
    check_eq!(result.map(drop), Err(Error::IllegalOperation));
    Ok(())
}

fn short_messages_are_truncated(test: &mut Test) -> Outcome {
    let place = Place::new(test, 12)?;
    let words = [ObjectType::Endpoint.number(), 0, 0, 0, 0, 1];
    let table = [place.table.cptr()];
    for length in 0..6 {
        check_eq!(
            retype(place.untyped, &words[..length], &table),
            Err(Error::TruncatedMessage)
        );
    }
    check_eq!(
        retype(place.untyped, &words, &[]),
        Err(Error::TruncatedMessage)
    );
    check_eq!(retype(place.untyped, &words, &table), Ok(()));
    Ok(())
}

fn unknown_types_are_refused(test: &mut Test) -> Outcome {
    let place = Place::new(test, 12)?;
    for number in [ObjectType::COUNT, ObjectType::COUNT + 1, 255, 256, usize::MAX] {
        check_eq!(
            place.untyped.retype_number(number, 12, place.range(0), 1),
            Err(Error::InvalidArgument(0))
        );
    }
    Ok(())
}

fn large_sizes_are_refused(test: &mut Test) -> Outcome {
    let place = Place::new(test, 12)?;
    let too_large = Err(Error::Range {
        minimum: 0,
        maximum: MAX_UNTYPED_BITS,
    });
    for bits in [WORD_BITS, WORD_BITS + 1, usize::MAX] {
        check_eq!(place.make(ObjectType::Endpoint, bits, 0, 1), too_large);
    }
    let untyped = ObjectType::Untyped;
    check_eq!(place.make(untyped, MAX_UNTYPED_BITS + 1, 0, 1), too_large);
    let context = ObjectType::SchedContext;
    check_eq!(place.make(context, MAX_UNTYPED_BITS + 1, 0, 1), too_large);
    let slots = MAX_UNTYPED_BITS - SLOT_BITS + 1;
    check_eq!(place.make(ObjectType::CNode, slots, 0, 1), too_large);
    // Where the size does not matter it is not looked at.
    check_eq!(
        place.make(ObjectType::Endpoint, WORD_BITS - 1, 0, 1),
        Ok(())
    );
    Ok(())
}

fn small_sizes_are_refused(test: &mut Test) -> Outcome {
    let place = Place::new(test, 12)?;
    for (object, least) in [
        (ObjectType::CNode, 1),
        (ObjectType::Untyped, 4),
        (ObjectType::SchedContext, 7),
    ] {
        for bits in 0..least {
            check_eq!(
                place.make(object, bits, 0, 1),
                Err(Error::InvalidArgument(1))
            );
        }
        check_eq!(place.make(object, least, 0, 1), Ok(()));
        place.delete(0)?;
    }
    Ok(())
}

fn destinations_must_resolve(test: &mut Test) -> Outcome {
    let place = Place::new(test, 12)?;
    let endpoint: Endpoint = test.create()?;
    let at = |root, index, depth| SlotRange {
        root,
        index,
        depth,
        offset: 0,
    };
    let make = |range| place.untyped.retype(ObjectType::Endpoint, 0, range, 1);
    let failed = |failure| {
        Err(Error::FailedLookup {
            source: false,
            failure,
        })
    };
    check_eq!(
        make(at(CNode(endpoint.0), 0, 4)),
        failed(LookupFailure::InvalidRoot)
    );
    for depth in [WORD_BITS + 1, 256, usize::MAX] {
        check_eq!(
            make(at(place.table, 0, depth)),
            Err(Error::Range {
                minimum: 1,
                maximum: WORD_BITS
            })
        );
    }
    check_eq!(
        make(at(place.table, 0, RADIX - 1)),
        failed(LookupFailure::DepthMismatch {
            bits_left: RADIX - 1,
            bits_found: RADIX
        })
    );
    // The own root has a guard of zeros.
    let own = test.allocator.cnode();
    check_eq!(
        make(at(own, 1 << (WORD_BITS - 1), WORD_BITS)),
        failed(LookupFailure::GuardMismatch {
            bits_left: WORD_BITS,
            guard_found: 0,
            bits_found: WORD_BITS - 12
        })
    );
    Ok(())
}

fn destinations_must_be_cnodes(test: &mut Test) -> Outcome {
    let place = Place::new(test, 12)?;
    let endpoint: Endpoint = test.create()?;
    let (own, empty) = (test.allocator.cnode(), test.empty_slot()?.index);
    let missing = |bits_left| {
        Err(Error::FailedLookup {
            source: false,
            failure: LookupFailure::MissingCapability { bits_left },
        })
    };
    let make = |root, index, depth| {
        let range = SlotRange {
            root,
            index,
            depth,
            offset: 0,
        };
        place.untyped.retype(ObjectType::Endpoint, 0, range, 1)
    };
    // Depth 0 is the root itself.
    check_eq!(make(CNode(endpoint.0), 0, 0), missing(0));
    check_eq!(make(own, endpoint.0.0, WORD_BITS), missing(WORD_BITS));
    check_eq!(make(own, empty, WORD_BITS), missing(WORD_BITS));
    check_eq!(make(own, place.table.0.0, WORD_BITS), Ok(()));
    Ok(())
}

fn offsets_must_be_inside(test: &mut Test) -> Outcome {
    let place = Place::new(test, 12)?;
    let last = (1 << RADIX) - 1;
    for offset in [last + 1, last + 2, usize::MAX] {
        check_eq!(
            place.make(ObjectType::Endpoint, 0, offset, 1),
            Err(Error::Range {
                minimum: 0,
                maximum: last
            })
        );
    }
    check_eq!(place.make(ObjectType::Endpoint, 0, last, 1), Ok(()));
    Ok(())
}

fn counts_have_limits(test: &mut Test) -> Outcome {
    let place = Place::new(test, 14)?;
    for count in [0, RETYPE_LIMIT + 1, usize::MAX] {
        check_eq!(
            place.make(ObjectType::Endpoint, 0, 0, count),
            Err(Error::Range {
                minimum: 1,
                maximum: RETYPE_LIMIT
            })
        );
    }
    for offset in [0, 5, 15] {
        let room = (1 << RADIX) - offset;
        check_eq!(
            place.make(ObjectType::Endpoint, 0, offset, room + 1),
            Err(Error::Range {
                minimum: 1,
                maximum: room
            })
        );
    }
    Ok(())
}

fn occupied_slots_stop_everything(test: &mut Test) -> Outcome {
    let place = Place::new(test, 12)?;
    place.make(ObjectType::Endpoint, 0, 2, 1)?;
    check_eq!(
        place.make(ObjectType::Endpoint, 0, 0, 4),
        Err(Error::DeleteFirst)
    );
    for index in [0, 1, 3] {
        let slot = place.table.slot_of_table(index, RADIX);
        check!(test.is_empty(slot)?);
    }
    place.delete(2)?;
    check_eq!(place.make(ObjectType::Endpoint, 0, 0, 4), Ok(()));
    Ok(())
}

fn missing_memory_is_told(test: &mut Test) -> Outcome {
    let place = Place::new(test, 12)?;
    let frame = FrameSize::SMALLEST.object_type();
    check_eq!(place.make(frame, 0, 0, 2), Err(Error::NotEnoughMemory(4096)));
    place.make(ObjectType::Endpoint, 0, 0, 1)?;
    check_eq!(
        place.make(frame, 0, 1, 1),
        Err(Error::NotEnoughMemory(4096 - 16))
    );
    // What is left of one endpoint is room for 255.
    check_eq!(place.make(ObjectType::Untyped, 11, 1, 1), Ok(()));
    check_eq!(
        place.make(ObjectType::Endpoint, 0, 2, 1),
        Err(Error::NotEnoughMemory(0))
    );
    Ok(())
}

fn checks_come_in_order(test: &mut Test) -> Outcome {
    let place = Place::new(test, 12)?;
    let endpoint: Endpoint = test.create()?;
    let (wrong, table) = ([endpoint.cptr()], [place.table.cptr()]);
    let untyped = place.untyped;
    let (bad_type, object) = (ObjectType::COUNT, ObjectType::Untyped.number());
    // Each call has the mistake that is found, and all those that would be found later.
    check_eq!(
        retype(untyped, &[bad_type, 99, 0, 0, 99, 0], &wrong),
        Err(Error::InvalidArgument(0))
    );
    check_eq!(
        retype(untyped, &[object, 99, 0, 0, 99, 0], &wrong),
        Err(Error::Range {
            minimum: 0,
            maximum: MAX_UNTYPED_BITS
        })
    );
    check_eq!(
        retype(untyped, &[object, 3, 0, 0, 99, 0], &wrong),
        Err(Error::InvalidArgument(1))
    );
    check_eq!(
        retype(untyped, &[object, 13, 0, 0, 99, 0], &wrong),
        Err(Error::FailedLookup {
            source: false,
            failure: LookupFailure::MissingCapability { bits_left: 0 }
        })
    );
    check_eq!(
        retype(untyped, &[object, 13, 0, 0, 99, 0], &table),
        Err(Error::Range {
            minimum: 0,
            maximum: 15
        })
    );
    check_eq!(
        retype(untyped, &[object, 13, 0, 0, 9, 0], &table),
        Err(Error::Range {
            minimum: 1,
            maximum: RETYPE_LIMIT
        })
    );
    check_eq!(
        retype(untyped, &[object, 13, 0, 0, 9, 8], &table),
        Err(Error::Range {
            minimum: 1,
            maximum: 7
        })
    );
    place.make(ObjectType::Endpoint, 0, 9, 1)?;
    check_eq!(
        retype(untyped, &[object, 13, 0, 0, 9, 1], &table),
        Err(Error::DeleteFirst)
    );
    check_eq!(
        retype(untyped, &[object, 13, 0, 0, 8, 1], &table),
        Err(Error::NotEnoughMemory(4096 - 16))
    );
    Ok(())
}

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
        // Two objects fit exactly, be they made at once or one by one.
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
    // What is left is one page: the one skipped is lost.
    check_eq!(place.make(frame, 0, 3, 2), Err(Error::NotEnoughMemory(4096)));
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
        // SAFETY: the page was just mapped, and nobody else knows it.
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

fn tables_are_found_by_address(test: &mut Test) -> Outcome {
    let place = Place::new(test, 12)?;
    let range = SlotRange {
        root: test.allocator.cnode(),
        index: place.table.0.0,
        depth: WORD_BITS,
        offset: 6,
    };
    place.untyped.retype(ObjectType::Endpoint, 0, range, 1)?;
    check!(!test.is_empty(place.table.slot_of_table(6, RADIX))?);
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
    // One that the runner has not cut up.
    let slot = test.empty_slot()?;
    let found = (boot.untyped.start..boot.untyped.end)
        .zip(&boot.untyped_list)
        .filter(|(_, region)| region.is_device != 0 && region.size_bits >= 14)
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
    // The room is checked first.
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
    let child: Untyped = place.take(test, 0)?;
    check_eq!(
        child.retype(ObjectType::Endpoint, 0, place.range(0), 1),
        Err(Error::InvalidArgument(1))
    );
    Ok(())
}
