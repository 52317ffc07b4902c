//! Address spaces of x86-64: paging structures, and the checks of each method in order.

use crate::support::arch::{STATUS_READ, load, store};
use crate::support::{Outcome, Test};
use crate::{check, check_eq};
use abi::{LookupFailure, Method, Rights};
use userlib::cap::{Attributes, Endpoint, Frame, FrameSize, PageTable, Table, VSpace};
use userlib::invoke::invoke;
use userlib::{CPtr, Capability, Error, Fault, Result};

tests![
    missing_levels_are_told,
    tables_miss_their_parents,
    large_frames_need_fewer_levels,
    places_are_taken_once,
    tables_and_large_frames_exclude_each_other,
    small_frames_do_not_fit_under_large_ones,
    short_messages_are_truncated,
    labels_of_others_are_illegal,
    table_checks_come_in_order,
    addresses_are_rounded_down,
    the_top_is_not_for_users,
    unmapped_tables_forget,
    unmapping_twice_is_once,
    tables_with_copies_stay,
    unmapped_tables_are_not_copied,
    deleting_a_table_unmaps_what_is_below,
    memory_types_are_accepted,
    mappings_can_be_executed,
    the_root_has_no_methods,
    a_pool_has_512_places,
    jumps_between_the_halves_are_faults,
];

/// Nothing is mapped in this entry of the root: all levels are missing.
const FREE: usize = 1 << 40;
const KINDS: [Table; 3] = [Table::Pdpt, Table::PageDirectory, Table::PageTable];

fn call(object: impl Capability, method: Method, words: &[usize], caps: &[CPtr]) -> Result {
    invoke(object.cptr(), method.number(), words, caps).map(drop)
}

fn missing(bits_left: usize) -> Result {
    Err(Error::FailedLookup {
        source: false,
        failure: LookupFailure::MissingCapability { bits_left },
    })
}

fn table(test: &mut Test, kind: Table) -> Outcome<PageTable> {
    let table = test
        .allocator
        .create_any(kind.object_type(), 0, kind.size_bits())?;
    Ok(PageTable(table))
}

/// Maps a paging structure.
fn put(test: &Test, table: PageTable, kind: Table, address: usize) -> Result {
    table.map(kind, test.vspace, address, Attributes::NORMAL)
}

/// Makes a paging structure and maps it.
fn add(test: &mut Test, kind: Table, address: usize) -> Outcome<PageTable> {
    let table = table(test, kind)?;
    put(test, table, kind, address)?;
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

/// Checks that nothing is mapped at an address.
fn check_unmapped(test: &mut Test, address: usize) -> Outcome {
    let fault = test.fault_of(move || {
        read(address);
    })?;
    let expected = Fault::Memory {
        pc: load as *const () as usize,
        address,
        instruction: false,
        status: STATUS_READ,
    };
    check_eq!(fault, expected);
    Ok(())
}

fn missing_levels_are_told(test: &mut Test) -> Outcome {
    let frame: Frame = test.create()?;
    for (bits, kind) in [39, 30, 21].into_iter().zip(KINDS) {
        check_eq!(map(test, frame, FREE), missing(bits));
        add(test, kind, FREE)?;
    }
    check_eq!(map(test, frame, FREE), Ok(()));
    write(FREE, 4);
    check_eq!(read(FREE), 4);
    // Each structure covers its own span only.
    let other: Frame = test.create()?;
    for (offset, bits) in [(1 << 21, 21), (1 << 30, 30), (1 << 39, 39)] {
        check_eq!(map(test, other, FREE + offset), missing(bits));
    }
    check_eq!(map(test, other, FREE + (1 << 21) - 4096), Ok(()));
    Ok(())
}

fn tables_miss_their_parents(test: &mut Test) -> Outcome {
    let directory = table(test, Table::PageDirectory)?;
    let last = table(test, Table::PageTable)?;
    check_eq!(
        put(test, directory, Table::PageDirectory, FREE),
        missing(39)
    );
    check_eq!(put(test, last, Table::PageTable, FREE), missing(39));
    add(test, Table::Pdpt, FREE)?;
    check_eq!(put(test, last, Table::PageTable, FREE), missing(30));
    check_eq!(put(test, directory, Table::PageDirectory, FREE), Ok(()));
    check_eq!(put(test, last, Table::PageTable, FREE), Ok(()));
    Ok(())
}

fn large_frames_need_fewer_levels(test: &mut Test) -> Outcome {
    let large = test.allocator.create_frame(FrameSize::Large)?;
    check_eq!(map(test, large, FREE), missing(39));
    add(test, Table::Pdpt, FREE)?;
    check_eq!(map(test, large, FREE), missing(30));
    add(test, Table::PageDirectory, FREE)?;
    check_eq!(map(test, large, FREE), Ok(()));
    for page in 0..512 {
        write(FREE + page * 4096, page);
    }
    for page in 0..512 {
        check_eq!(read(FREE + page * 4096), page);
    }
    check_eq!(large.unmap(), Ok(()));
    check_unmapped(test, FREE + 0x1f_f000)
}

fn places_are_taken_once(test: &mut Test) -> Outcome {
    for kind in KINDS {
        add(test, kind, FREE)?;
        let other = table(test, kind)?;
        check_eq!(put(test, other, kind, FREE), Err(Error::DeleteFirst));
    }
    Ok(())
}

fn tables_and_large_frames_exclude_each_other(test: &mut Test) -> Outcome {
    let large = test.allocator.create_frame(FrameSize::Large)?;
    add(test, Table::Pdpt, FREE)?;
    add(test, Table::PageDirectory, FREE)?;
    let last = add(test, Table::PageTable, FREE)?;
    check_eq!(map(test, large, FREE), Err(Error::DeleteFirst));
    check_eq!(last.unmap(Table::PageTable), Ok(()));
    check_eq!(map(test, large, FREE), Ok(()));
    check_eq!(
        put(test, last, Table::PageTable, FREE),
        Err(Error::DeleteFirst)
    );
    check_eq!(large.unmap(), Ok(()));
    check_eq!(put(test, last, Table::PageTable, FREE), Ok(()));
    Ok(())
}

fn small_frames_do_not_fit_under_large_ones(test: &mut Test) -> Outcome {
    let large = test.allocator.create_frame(FrameSize::Large)?;
    let small: Frame = test.create()?;
    add(test, Table::Pdpt, FREE)?;
    add(test, Table::PageDirectory, FREE)?;
    map(test, large, FREE)?;
    check_eq!(map(test, small, FREE + 4096), missing(21));
    Ok(())
}

const METHODS: [Method; 3] = [
    Method::X86PdptMap,
    Method::X86PageDirectoryMap,
    Method::X86PageTableMap,
];

fn short_messages_are_truncated(test: &mut Test) -> Outcome {
    let root = test.vspace.0;
    for (kind, method) in KINDS.into_iter().zip(METHODS) {
        let table = table(test, kind)?;
        for (words, caps) in [(0, 1), (1, 1), (2, 0)] {
            let result = call(table, method, &[FREE, 0][..words], &[root][..caps]);
            check_eq!(result, Err(Error::TruncatedMessage));
        }
    }
    Ok(())
}

fn labels_of_others_are_illegal(test: &mut Test) -> Outcome {
    let root = test.vspace.0;
    for kind in KINDS {
        let table = table(test, kind)?;
        for method in METHODS.into_iter().chain([
            Method::InvalidInvocation,
            Method::UntypedRetype,
            Method::X86PageMap,
            Method::X86PageUnmap,
        ]) {
            let own = KINDS.iter().position(|&other| other == kind);
            if METHODS.iter().position(|&other| other == method) != own {
                let result = call(table, method, &[FREE, 0, 0], &[root]);
                check_eq!(result, Err(Error::IllegalOperation));
            }
        }
    }
    Ok(())
}

fn table_checks_come_in_order(test: &mut Test) -> Outcome {
    const HIGH: usize = 0xffff_8000_0000_0000;
    let endpoint: Endpoint = test.create()?;
    let unassigned: VSpace = test.create()?;
    for (kind, method) in KINDS.into_iter().zip(METHODS) {
        let mapped = add(test, kind, FREE)?;
        let result = call(mapped, method, &[HIGH, 0], &[endpoint.0]);
        check_eq!(result, Err(Error::InvalidCapability(0)));
        let new = table(test, kind)?;
        for root in [endpoint.0, CPtr::NULL, new.0, unassigned.0] {
            let result = call(new, method, &[HIGH, 0], &[root]);
            check_eq!(result, Err(Error::InvalidCapability(1)));
        }
        check_eq!(put(test, new, kind, HIGH), Err(Error::InvalidArgument(0)));
    }
    Ok(())
}

fn addresses_are_rounded_down(test: &mut Test) -> Outcome {
    add(test, Table::Pdpt, FREE + 0x7f_ffff_ffff)?;
    add(test, Table::PageDirectory, FREE + 0x3fff_ffff)?;
    add(test, Table::PageTable, FREE + 0x1f_ffff)?;
    let frame: Frame = test.create()?;
    check_eq!(map(test, frame, FREE), Ok(()));
    write(FREE, 1);
    Ok(())
}

fn the_top_is_not_for_users(test: &mut Test) -> Outcome {
    const TOP: usize = 1 << 47;
    for kind in KINDS {
        let table = table(test, kind)?;
        for address in [TOP, TOP + FREE, 0xffff_8000_0000_0000, usize::MAX] {
            check_eq!(
                put(test, table, kind, address),
                Err(Error::InvalidArgument(0))
            );
        }
    }
    Ok(())
}

fn unmapped_tables_forget(test: &mut Test) -> Outcome {
    let frame: Frame = test.create()?;
    add(test, Table::Pdpt, FREE)?;
    add(test, Table::PageDirectory, FREE)?;
    let last = add(test, Table::PageTable, FREE)?;
    map(test, frame, FREE)?;
    write(FREE, 3);
    check_eq!(last.unmap(Table::PageTable), Ok(()));
    check_unmapped(test, FREE)?;
    // The structure is empty when it is mapped again; the frame can be mapped by its capability.
    check_eq!(put(test, last, Table::PageTable, FREE), Ok(()));
    check_unmapped(test, FREE)?;
    check_eq!(map(test, frame, FREE), Ok(()));
    check_eq!(read(FREE), 3);
    Ok(())
}

fn unmapping_twice_is_once(test: &mut Test) -> Outcome {
    for kind in KINDS {
        let table = table(test, kind)?;
        check_eq!(table.unmap(kind), Ok(()));
    }
    let table = add(test, Table::Pdpt, FREE)?;
    check_eq!(table.unmap(Table::Pdpt), Ok(()));
    check_eq!(table.unmap(Table::Pdpt), Ok(()));
    Ok(())
}

fn tables_with_copies_stay(test: &mut Test) -> Outcome {
    for kind in KINDS {
        let table = add(test, kind, FREE)?;
        let copy = test.copy(table)?;
        check_eq!(table.unmap(kind), Err(Error::RevokeFirst));
        check_eq!(copy.unmap(kind), Err(Error::RevokeFirst));
        // A copy can be mapped only where the original is.
        check_eq!(
            put(test, copy, kind, FREE + (1 << 39)),
            Err(Error::InvalidCapability(0))
        );
        test.delete(copy)?;
        check_eq!(table.unmap(kind), Ok(()));
        check_eq!(put(test, table, kind, FREE), Ok(()));
    }
    Ok(())
}

fn unmapped_tables_are_not_copied(test: &mut Test) -> Outcome {
    for kind in KINDS {
        let table = table(test, kind)?;
        check_eq!(test.copy(table), Err(Error::IllegalOperation));
    }
    let unassigned: VSpace = test.create()?;
    check_eq!(test.copy(unassigned), Err(Error::IllegalOperation));
    test.asid_pool.assign(unassigned)?;
    check!(test.copy(unassigned).is_ok());
    Ok(())
}

fn deleting_a_table_unmaps_what_is_below(test: &mut Test) -> Outcome {
    for deleted in 0..KINDS.len() {
        let mut tables = [PageTable(CPtr::NULL); KINDS.len()];
        for (table, kind) in tables.iter_mut().zip(KINDS) {
            *table = add(test, kind, FREE)?;
        }
        let frame: Frame = test.create()?;
        map(test, frame, FREE)?;
        write(FREE, 1);
        test.delete(tables[deleted])?;
        check_unmapped(test, FREE)?;
        // The structures below can be deleted in any order.
        check_eq!(frame.unmap(), Ok(()));
        for (index, table) in tables.into_iter().enumerate() {
            if index != deleted {
                test.delete(table)?;
            }
        }
    }
    Ok(())
}

fn memory_types_are_accepted(test: &mut Test) -> Outcome {
    let (frame, address) = test.create_page()?;
    for attributes in 0..5 {
        let (rights, attributes) = (Rights::READ_WRITE, Attributes(attributes));
        check_eq!(frame.map(test.vspace, address, rights, attributes), Ok(()));
        write(address, attributes.0 + 1);
        check_eq!(read(address), attributes.0 + 1);
    }
    Ok(())
}

fn mappings_can_be_executed(test: &mut Test) -> Outcome {
    let (_, address) = test.create_page()?;
    // mov eax, 42; ret
    write(address, 0xc300_0000_2ab8);
    // SAFETY: the page contains the instructions of such a function.
    let function: extern "C" fn() -> u32 = unsafe { core::mem::transmute(address) };
    check_eq!(function(), 42);
    Ok(())
}

fn the_root_has_no_methods(test: &mut Test) -> Outcome {
    let frame: Frame = test.create()?;
    for label in 0..Method::COUNT + 2 {
        let result = invoke(test.vspace.0, label, &[0; 8], &[frame.0, frame.0]);
        check_eq!(result, Err(Error::IllegalOperation));
    }
    Ok(())
}

fn a_pool_has_512_places(test: &mut Test) -> Outcome {
    use userlib::cap::{AsidControl, AsidPool, Untyped};
    let control: AsidControl = test
        .startup
        .capability(crate::support::protocol::names::ASID_CONTROL);
    let memory: Untyped = test.create_sized(abi::sizes::ASID_POOL_BITS)?;
    let slot = test.empty_slot()?;
    control.make_pool(memory, slot)?;
    let pool = AsidPool(CPtr(slot.index));
    let mut last = VSpace(CPtr::NULL);
    for _ in 0..512 {
        last = test.create()?;
        check_eq!(pool.assign(last), Ok(()));
    }
    let other: VSpace = test.create()?;
    check_eq!(pool.assign(other), Err(Error::DeleteFirst));
    test.delete(last)?;
    check_eq!(pool.assign(other), Ok(()));
    Ok(())
}

fn jumps_between_the_halves_are_faults(test: &mut Test) -> Outcome {
    /// General protection.
    const NUMBER: usize = 13;
    /// The smallest non-canonical address, a larger one, and the largest.
    const BETWEEN: [usize; 3] = [1 << 47, 1 << 62, (usize::MAX << 47) - 1];
    for address in BETWEEN {
        let watched = test.watched(move || {
            // SAFETY: nothing is mapped there, and the thread does not continue after its fault.
            unsafe { core::arch::asm!("jmp {}", in(reg) address, options(noreturn)) }
        })?;
        watched.thread.start()?;
        let fault = watched.fault();
        check!(
            matches!(fault, Fault::UserException { number: NUMBER, .. }),
            "{fault:x?}"
        );
        // Some processors fault at the target: the kernel must not return there.
        watched.reply.send(userlib::Message::empty(0));
        let fault = watched.fault();
        let at_jump = matches!(fault, Fault::UserException { number: NUMBER, .. });
        let at_zero = matches!(fault, Fault::Memory { pc: 0, .. });
        check!(at_jump || at_zero, "{fault:x?}");
    }
    Ok(())
}
