//! Address spaces of 32-bit Arm: page tables, frame sizes, and cache maintenance.

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
    small_frames_need_a_table,
    sections_need_none,
    tables_and_sections_exclude_each_other,
    small_and_large_frames_exclude_each_other,
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
    new_instructions_are_executed,
];

const FREE: usize = 0x9000_0000;
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

const MISSING: Result = Err(Error::FailedLookup {
    source: false,
    failure: LookupFailure::MissingCapability { bits_left: 20 },
});

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

fn small_frames_need_a_table(test: &mut Test) -> Outcome {
    let small: Frame = test.create()?;
    let large = test.allocator.create_frame(FrameSize::Large)?;
    check_eq!(map(test, small, FREE), MISSING);
    check_eq!(map(test, large, FREE), MISSING);
    add(test, FREE + 0xf_ffff)?;
    check_eq!(map(test, small, FREE), Ok(()));
    check_eq!(map(test, large, FREE + 0x1_0000), Ok(()));
    // The next megabyte needs a page table of its own.
    let other: Frame = test.create()?;
    check_eq!(map(test, other, FREE + 0x10_0000), MISSING);
    check_eq!(map(test, other, FREE + 0xf_f000), Ok(()));
    Ok(())
}

fn sections_need_none(test: &mut Test) -> Outcome {
    let section = test.allocator.create_frame(FrameSize::Section)?;
    check_eq!(map(test, section, FREE), Ok(()));
    write(FREE + 0xf_fffc, 8);
    check_eq!(read(FREE + 0xf_fffc), 8);
    check_unmapped(test, FREE + 0x10_0000)?;
    Ok(())
}

fn tables_and_sections_exclude_each_other(test: &mut Test) -> Outcome {
    let section = test.allocator.create_frame(FrameSize::Section)?;
    let small: Frame = test.create()?;
    let table = add(test, FREE)?;
    check_eq!(map(test, section, FREE), Err(Error::DeleteFirst));
    check_eq!(table.unmap(TABLE), Ok(()));
    check_eq!(map(test, section, FREE), Ok(()));
    check_eq!(put(test, table, FREE), Err(Error::DeleteFirst));
    check_eq!(map(test, small, FREE), MISSING);
    Ok(())
}

fn small_and_large_frames_exclude_each_other(test: &mut Test) -> Outcome {
    let small: Frame = test.create()?;
    let large = test.allocator.create_frame(FrameSize::Large)?;
    add(test, FREE)?;
    map(test, small, FREE + 0x3000)?;
    check_eq!(map(test, large, FREE), Err(Error::DeleteFirst));
    check_eq!(small.unmap(), Ok(()));
    check_eq!(map(test, large, FREE), Ok(()));
    check_eq!(map(test, small, FREE + 0x3000), Err(Error::DeleteFirst));
    for page in 0..16 {
        write(FREE + page * 4096, page);
    }
    for page in 0..16 {
        check_eq!(read(FREE + page * 4096), page);
    }
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
        (Method::ArmPageCleanData, Method::ArmPageDirectoryCleanData),
        (
            Method::ArmPageUnifyInstruction,
            Method::ArmPageDirectoryUnifyInstruction,
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
    for address in [0xe000_0000, 0xf000_0000, usize::MAX] {
        check_eq!(put(test, new, address), Err(Error::InvalidArgument(0)));
    }
    check_eq!(put(test, new, FREE), Err(Error::DeleteFirst));
    Ok(())
}

fn unmapped_tables_forget(test: &mut Test) -> Outcome {
    let frame: Frame = test.create()?;
    let table = add(test, FREE)?;
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
    let table = add(test, FREE)?;
    map(test, frame, FREE)?;
    write(FREE, 1);
    test.delete(table)?;
    check_unmapped(test, FREE)?;
    check_eq!(frame.unmap(), Ok(()));
    Ok(())
}

/// Writes a function that returns a number: mov r0, #number; bx lr.
fn write_function(frame: Frame, address: usize, number: u8) -> Result {
    write(address, 0xe3a0_0000 | number as usize);
    write(address + 4, 0xe12f_ff1e);
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
        let result = unassigned.cache(operation, 0xe000_0000, 0xe000_0001);
        check_eq!(result, Err(Error::IllegalOperation));
        let result = unassigned.cache(operation, address, address + 1);
        check_eq!(result, Err(Error::InvalidCapability(0)));
        // No frame is mapped there, so the operation has no effect.
        check_eq!(root.cache(operation, FREE, FREE + 0x10_0000), Ok(()));
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
