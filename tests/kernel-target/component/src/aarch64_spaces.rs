//! Address spaces of 64-bit Arm: page tables, frame sizes, and cache maintenance.

use crate::support::arch::{load, store};
use crate::support::{Outcome, Test};
use crate::{check, check_eq};
use abi::{LookupFailure, Method, Rights};
use userlib::cap::{
    Attributes, CacheOperation, Endpoint, Frame, FrameSize, PageTable, Table, VSpace,
};
use userlib::invoke::invoke;
use userlib::{CPtr, Capability, Error, Fault, Result};

tests![
    tables_fill_the_first_missing_level,
    large_frames_need_fewer_tables,
    frames_and_tables_exclude_each_other,
    another_frame_replaces_the_first,
    short_messages_are_truncated,
    table_checks_come_in_order,
    unmapped_tables_forget,
    tables_with_copies_stay,
    unmapped_tables_are_not_copied,
    deleting_a_table_unmaps_what_is_below,
    execution_can_be_forbidden,
    caches_of_frames_are_checked_in_order,
    caches_of_spaces_are_checked_in_order,
    only_what_can_be_written_is_invalidated,
    caches_keep_what_was_written,
    large_frames_are_maintained_whole,
    new_instructions_are_executed,
];

/// Nothing is mapped in the 512 GiB around this address.
const FREE: usize = 0x4000_0000_0000;
/// Bytes that one table of each level spans.
const PAGES: usize = 1 << 21;
const LARGE: usize = 1 << 30;
const TABLE: Table = Table::PageTable;
const OPERATIONS: [CacheOperation; 4] = [
    CacheOperation::CleanData,
    CacheOperation::InvalidateData,
    CacheOperation::CleanInvalidateData,
    CacheOperation::UnifyInstruction,
];

fn call(object: impl Capability, method: Method, words: &[usize], caps: &[CPtr]) -> Result {
    invoke(object.cptr(), method.number(), words, caps).map(drop)
}

/// The error of a mapping when a table that spans `bits_left` address bits is missing.
fn missing(bits_left: usize) -> Result {
    Err(Error::FailedLookup {
        source: false,
        failure: LookupFailure::MissingCapability { bits_left },
    })
}

fn table(test: &mut Test) -> Outcome<PageTable> {
    let object = test
        .allocator
        .create_any(TABLE.object_type(), 0, TABLE.size_bits())?;
    Ok(PageTable(object))
}

fn put(test: &Test, table: PageTable, address: usize) -> Result {
    table.map(TABLE, test.vspace, address, Attributes::NORMAL)
}

fn add(test: &mut Test, address: usize) -> Outcome<PageTable> {
    let table = table(test)?;
    put(test, table, address)?;
    Ok(table)
}

/// Adds all tables that a page needs; returns the last.
fn add_all(test: &mut Test, address: usize) -> Outcome<PageTable> {
    add(test, address)?;
    add(test, address)?;
    add(test, address)
}

fn map(test: &Test, frame: Frame, address: usize) -> Result {
    frame.map(test.vspace, address, Rights::READ_WRITE, Attributes::NORMAL)
}

fn read(address: usize) -> usize {
    // SAFETY: the test has mapped a frame there, or expects a fault.
    unsafe { load(address) }
}

fn write(address: usize, value: usize) {
    // SAFETY: the test has mapped a frame there.
    unsafe { store(address, value) }
}

fn check_unmapped(test: &mut Test, place: usize) -> Outcome {
    let fault = test.fault_of(move || {
        read(place);
    })?;
    check!(
        matches!(fault, Fault::Memory { address, instruction: false, .. } if address == place),
        "{fault:x?}"
    );
    Ok(())
}

fn tables_fill_the_first_missing_level(test: &mut Test) -> Outcome {
    let frame: Frame = test.create()?;
    for bits_left in [39, 30, 21] {
        check_eq!(map(test, frame, FREE), missing(bits_left));
        add(test, FREE)?;
    }
    let another = table(test)?;
    check_eq!(put(test, another, FREE), Err(Error::DeleteFirst));
    check_eq!(map(test, frame, FREE), Ok(()));
    // Neighbours share the upper tables.
    let other: Frame = test.create()?;
    check_eq!(map(test, other, FREE + PAGES - 4096), Ok(()));
    check_eq!(other.unmap(), Ok(()));
    check_eq!(map(test, other, FREE + PAGES), missing(21));
    check_eq!(map(test, other, FREE + LARGE), missing(30));
    check_eq!(map(test, other, FREE + (1 << 39)), missing(39));
    check_eq!(put(test, another, FREE + PAGES), Ok(()));
    check_eq!(map(test, other, FREE + PAGES), Ok(()));
    Ok(())
}

fn large_frames_need_fewer_tables(test: &mut Test) -> Outcome {
    let large = test.allocator.create_frame(FrameSize::Large)?;
    for bits_left in [39, 30] {
        check_eq!(map(test, large, FREE), missing(bits_left));
        add(test, FREE)?;
    }
    check_eq!(map(test, large, FREE), Ok(()));
    write(FREE + PAGES - 8, 8);
    check_eq!(read(FREE + PAGES - 8), 8);
    check_unmapped(test, FREE + PAGES)?;
    Ok(())
}

fn frames_and_tables_exclude_each_other(test: &mut Test) -> Outcome {
    let large = test.allocator.create_frame(FrameSize::Large)?;
    let small: Frame = test.create()?;
    let last = add_all(test, FREE)?;
    // The table occupies the entry of the large frame.
    check_eq!(map(test, large, FREE), missing(12));
    check_eq!(last.unmap(TABLE), Ok(()));
    check_eq!(map(test, large, FREE), Ok(()));
    check_eq!(put(test, last, FREE), Err(Error::DeleteFirst));
    check_eq!(map(test, small, FREE), missing(21));
    Ok(())
}

fn another_frame_replaces_the_first(test: &mut Test) -> Outcome {
    let (one, two): (Frame, Frame) = (test.create()?, test.create()?);
    add_all(test, FREE)?;
    map(test, one, FREE)?;
    write(FREE, 1);
    check_eq!(map(test, two, FREE), Ok(()));
    check_eq!(read(FREE), 0);
    write(FREE, 2);
    // The first frame is no longer mapped there, so unmapping it leaves the second one mapped.
    check_eq!(one.unmap(), Ok(()));
    check_eq!(read(FREE), 2);
    check_eq!(two.unmap(), Ok(()));
    check_unmapped(test, FREE)?;
    Ok(())
}

fn short_messages_are_truncated(test: &mut Test) -> Outcome {
    let truncated = Err(Error::TruncatedMessage);
    let table = table(test)?;
    let root = test.vspace.0;
    for (words, caps) in [(0, 1), (1, 1), (2, 0)] {
        let (words, caps) = (&[FREE, 0][..words], &[root][..caps]);
        check_eq!(call(table, Method::ArmPageTableMap, words, caps), truncated);
    }
    let (frame, _) = test.create_page()?;
    for (frame_method, space_method) in [
        (Method::ArmPageCleanData, Method::ArmVspaceCleanData),
        (
            Method::ArmPageUnifyInstruction,
            Method::ArmVspaceUnifyInstruction,
        ),
    ] {
        check_eq!(call(frame, frame_method, &[0], &[]), truncated);
        check_eq!(call(root, space_method, &[FREE], &[]), truncated);
    }
    Ok(())
}

fn table_checks_come_in_order(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let unassigned: VSpace = test.create()?;
    let method = Method::ArmPageTableMap;
    let mapped = add(test, FREE)?;
    check_eq!(
        call(mapped, method, &[usize::MAX, 0], &[endpoint.0]),
        Err(Error::InvalidCapability(0))
    );
    let new = table(test)?;
    for root in [endpoint.0, CPtr::NULL, unassigned.0] {
        check_eq!(
            call(new, method, &[usize::MAX, 0], &[root]),
            Err(Error::InvalidCapability(1))
        );
    }
    for address in [1 << 47, 1 << 48, usize::MAX] {
        check_eq!(put(test, new, address), Err(Error::InvalidArgument(0)));
    }
    Ok(())
}

fn unmapped_tables_forget(test: &mut Test) -> Outcome {
    let frame: Frame = test.create()?;
    let table = add_all(test, FREE)?;
    map(test, frame, FREE)?;
    write(FREE, 3);
    check_eq!(table.unmap(TABLE), Ok(()));
    check_eq!(table.unmap(TABLE), Ok(()));
    check_unmapped(test, FREE)?;
    check_eq!(put(test, table, FREE), Ok(()));
    check_unmapped(test, FREE)?;
    check_eq!(map(test, frame, FREE), Ok(()));
    check_eq!(read(FREE), 3);
    Ok(())
}

fn tables_with_copies_stay(test: &mut Test) -> Outcome {
    let table = add(test, FREE)?;
    let copy = test.copy(table)?;
    check_eq!(table.unmap(TABLE), Err(Error::RevokeFirst));
    check_eq!(copy.unmap(TABLE), Err(Error::RevokeFirst));
    test.delete(copy)?;
    check_eq!(table.unmap(TABLE), Ok(()));
    Ok(())
}

fn unmapped_tables_are_not_copied(test: &mut Test) -> Outcome {
    let table = table(test)?;
    check_eq!(test.copy(table), Err(Error::IllegalOperation));
    let unassigned: VSpace = test.create()?;
    check_eq!(test.copy(unassigned), Err(Error::IllegalOperation));
    Ok(())
}

fn deleting_a_table_unmaps_what_is_below(test: &mut Test) -> Outcome {
    let frame: Frame = test.create()?;
    let highest = add(test, FREE)?;
    add(test, FREE)?;
    let lowest = add(test, FREE)?;
    map(test, frame, FREE)?;
    write(FREE, 1);
    test.delete(highest)?;
    check_unmapped(test, FREE)?;
    check_eq!(map(test, frame, FREE), missing(39));
    check_eq!(lowest.unmap(TABLE), Ok(()));
    check_eq!(frame.unmap(), Ok(()));
    Ok(())
}

/// Writes a function that returns a number: mov w0, #number; ret.
fn write_function(frame: Frame, address: usize, number: u16) -> Result {
    write(address, 0xd65f_03c0_5280_0000 | (number as usize) << 5);
    frame.cache(CacheOperation::UnifyInstruction, 0, 8)
}

fn run(address: usize) -> u32 {
    // SAFETY: `write_function` wrote a function there, or the test expects a fault.
    let function: extern "C" fn() -> u32 = unsafe { core::mem::transmute(address) };
    function()
}

fn execution_can_be_forbidden(test: &mut Test) -> Outcome {
    let (frame, place) = test.create_page()?;
    let (root, rights) = (test.vspace, Rights::READ_WRITE);
    frame.map(root, place, rights, Attributes::NORMAL)?;
    write_function(frame, place, 42)?;
    check_eq!(run(place), 42);
    frame.map(root, place, rights, Attributes::NO_EXECUTE)?;
    let fault = test.fault_of(move || {
        run(place);
    })?;
    check!(
        matches!(fault, Fault::Memory { address, pc, instruction: true, .. }
            if address == place && pc == place),
        "{fault:x?}"
    );
    frame.map(root, place, rights, Attributes::NORMAL)?;
    check_eq!(run(place), 42);
    Ok(())
}

fn caches_of_frames_are_checked_in_order(test: &mut Test) -> Outcome {
    let unmapped: Frame = test.create()?;
    let (frame, _) = test.create_page()?;
    for operation in OPERATIONS {
        let result = unmapped.cache(operation, 2, 1);
        check_eq!(result, Err(Error::IllegalOperation));
        for (start, end) in [(1, 1), (2, 1), (0x5000, 0x4000)] {
            let result = frame.cache(operation, start, end);
            check_eq!(result, Err(Error::InvalidArgument(1)));
        }
        for (start, end) in [(0, 4097), (4096, 4097), (0x5000, usize::MAX)] {
            let result = frame.cache(operation, start, end);
            check_eq!(result, Err(Error::InvalidArgument(0)));
        }
        for (start, end) in [(0, 4096), (4095, 4096), (32, 64), (5, 6)] {
            check_eq!(frame.cache(operation, start, end), Ok(()));
        }
    }
    Ok(())
}

fn caches_of_spaces_are_checked_in_order(test: &mut Test) -> Outcome {
    let unassigned: VSpace = test.create()?;
    let (_, address) = test.create_page()?;
    let root = test.vspace;
    for operation in OPERATIONS {
        for (start, end) in [(1, 1), (2, 1), (usize::MAX, 0)] {
            let result = unassigned.cache(operation, start, end);
            check_eq!(result, Err(Error::InvalidArgument(1)));
        }
        let result = unassigned.cache(operation, 1 << 47, (1 << 47) + 1);
        check_eq!(result, Err(Error::IllegalOperation));
        let result = unassigned.cache(operation, address, address + 1);
        check_eq!(result, Err(Error::InvalidCapability(0)));
        // No frame is mapped there, so the operation has no effect.
        check_eq!(root.cache(operation, FREE, FREE + PAGES), Ok(()));
        let result = root.cache(operation, address + 5, address + 4097);
        let range = Err(Error::Range {
            minimum: address + 5,
            maximum: address + 4095,
        });
        check_eq!(result, range);
        check_eq!(root.cache(operation, address, address + 4096), Ok(()));
    }
    Ok(())
}

fn only_what_can_be_written_is_invalidated(test: &mut Test) -> Outcome {
    let frame: Frame = test.create()?;
    let address = test.map(frame, Rights::READ, Attributes::NORMAL)?;
    let root = test.vspace;
    let refused = Err(Error::IllegalOperation);
    for operation in OPERATIONS {
        let invalidates = operation == CacheOperation::InvalidateData;
        let expected = if invalidates { refused } else { Ok(()) };
        check_eq!(frame.cache(operation, 0, 64), expected);
        check_eq!(root.cache(operation, address, address + 64), expected);
    }
    Ok(())
}

fn large_frames_are_maintained_whole(test: &mut Test) -> Outcome {
    let frame = test.allocator.create_frame(FrameSize::Large)?;
    add(test, FREE)?;
    add(test, FREE)?;
    map(test, frame, FREE)?;
    for (number, operation) in OPERATIONS.into_iter().enumerate() {
        write(FREE + PAGES / 2, number);
        // Invalidation may discard the value, so only operations that clean are checked.
        if operation != CacheOperation::InvalidateData {
            check_eq!(frame.cache(operation, 0, PAGES), Ok(()));
            check_eq!(read(FREE + PAGES / 2), number);
        }
    }
    Ok(())
}

fn caches_keep_what_was_written(test: &mut Test) -> Outcome {
    let (frame, address) = test.create_page()?;
    let copy = test.copy(frame)?;
    let raw = test.map(copy, Rights::READ_WRITE, Attributes::DEVICE)?;
    for round in 1..10 {
        write(address, round);
        frame.cache(CacheOperation::CleanInvalidateData, 0, 4096)?;
        check_eq!(read(raw), round);
        write(raw, round + 100);
        test.vspace
            .cache(CacheOperation::InvalidateData, address, address + 4096)?;
        check_eq!(read(address), round + 100);
    }
    Ok(())
}

fn new_instructions_are_executed(test: &mut Test) -> Outcome {
    let (frame, address) = test.create_page()?;
    let rights = Rights::READ_WRITE;
    frame.map(test.vspace, address, rights, Attributes::NORMAL)?;
    for number in 1..20 {
        write_function(frame, address, number)?;
        check_eq!(run(address), number as u32);
    }
    Ok(())
}
