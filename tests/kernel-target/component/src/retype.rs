//! The checks of Retype in order.

use crate::support::{Outcome, Place, RADIX, Test};
use crate::{check, check_eq};
use abi::sizes::{MAX_UNTYPED_BITS, SLOT_BITS};
use abi::{LookupFailure, Method, ObjectType, RETYPE_LIMIT, WORD_BITS};
use userlib::cap::{CNode, Endpoint, FrameSize, SlotRange, Untyped};
use userlib::invoke::invoke;
use userlib::{CPtr, Capability, Error, Result};

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
    tables_are_found_by_address,
];

fn retype(untyped: Untyped, words: &[usize], caps: &[CPtr]) -> Result {
    invoke(untyped.cptr(), Method::UntypedRetype.number(), words, caps).map(drop)
}

fn methods_of_others_are_illegal(test: &mut Test) -> Outcome {
    let place = Place::new(test, 12)?;
    let words = [ObjectType::Endpoint.number(), 0, 0, 0, 0, 1];
    for method in [
        Method::InvalidInvocation,
        Method::TcbResume,
        Method::CNodeCopy,
    ] {
        let result = invoke(
            place.untyped.cptr(),
            method.number(),
            &words,
            &[place.table.cptr()],
        );
        check_eq!(result.map(drop), Err(Error::IllegalOperation));
    }
    let result = invoke(
        place.untyped.cptr(),
        0x1_0000,
        &words,
        &[place.table.cptr()],
    );
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
    for number in [
        ObjectType::COUNT,
        ObjectType::COUNT + 1,
        255,
        256,
        usize::MAX,
    ] {
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
    // For objects of fixed size, the size argument is not checked.
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
    // The test's own root has a guard of zeros.
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
    // Depth 0 means the root itself.
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
    check_eq!(
        place.make(frame, 0, 0, 2),
        Err(Error::NotEnoughMemory(4096))
    );
    place.make(ObjectType::Endpoint, 0, 0, 1)?;
    check_eq!(
        place.make(frame, 0, 1, 1),
        Err(Error::NotEnoughMemory(4096 - 16))
    );
    // An untyped of 2 KiB is aligned to the second half, so nothing is left after it.
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
    // Each call has the error that is reported, and all those that would be found later.
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
