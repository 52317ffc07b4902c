//! Frames: mapping, remapping and unmapping, rights, and the checks common to all architectures.

use crate::support::arch::{STATUS_WRITE_PROTECTED, count_up, load, store};
use crate::support::{BELOW, Outcome, SLICE, Test, ms};
use crate::{check, check_eq};
use abi::{Method, Rights, registers};
use userlib::cap::{Attributes, Endpoint, Frame, FrameSize, Object, Tcb, VSpace};
use userlib::invoke::invoke;
use userlib::{CPtr, Capability, Error, Fault, Result};

tests![
    labels_of_others_are_illegal,
    short_messages_are_truncated,
    new_frames_are_zero,
    two_copies_are_one_memory,
    copies_start_unmapped,
    a_mapped_frame_stays_where_it_is,
    remapping_changes_rights,
    rights_of_the_capability_count,
    without_read_nothing_is_accessible,
    unmapped_memory_faults,
    unmapping_twice_is_once,
    deleting_unmaps,
    moving_keeps_the_mapping,
    all_sizes_can_be_mapped,
    addresses_must_be_aligned,
    the_top_is_not_for_users,
    roots_must_be_address_spaces,
    addresses_tell_the_memory,
    mapping_over_a_mapping_replaces_it,
    frames_outlive_address_spaces,
    threads_see_their_own_space,
];

/// Nothing is mapped from this address on.
const FREE: usize = 0x9000_0000;
const PAGE: usize = 4096;

#[cfg(target_arch = "x86_64")]
const MAP: Method = Method::X86PageMap;
#[cfg(any(target_arch = "arm", target_arch = "aarch64"))]
const MAP: Method = Method::ArmPageMap;

fn call(object: impl Capability, method: Method, words: &[usize], caps: &[CPtr]) -> Result {
    invoke(object.cptr(), method.number(), words, caps).map(drop)
}

fn read(address: usize) -> usize {
    // SAFETY: the test has mapped a frame there, or expects a fault.
    unsafe { load(address) }
}

fn write(address: usize, value: usize) {
    // SAFETY: the test has mapped a frame there, or expects a fault.
    unsafe { store(address, value) }
}

/// The fault of a read at an address that is not readable.
fn read_fault(test: &mut Test, address: usize) -> Outcome<Fault> {
    test.fault_of(move || {
        read(address);
    })
}

/// Whether a fault is that of an access to data at an address.
fn is_at(fault: Fault, place: usize) -> bool {
    matches!(fault, Fault::Memory { address, instruction: false, .. } if address == place)
}

fn remap(test: &Test, frame: Frame, address: usize, rights: Rights) -> Result {
    frame.map(test.vspace, address, rights, Attributes::NORMAL)
}

fn labels_of_others_are_illegal(test: &mut Test) -> Outcome {
    let frame: Frame = test.create()?;
    for method in [
        Method::InvalidInvocation,
        Method::UntypedRetype,
        Method::CNodeDelete,
        Method::TcbSuspend,
        Method::IrqAckIrq,
    ] {
        let result = call(frame, method, &[0; 8], &[test.vspace.0]);
        check_eq!(result, Err(Error::IllegalOperation));
    }
    Ok(())
}

fn short_messages_are_truncated(test: &mut Test) -> Outcome {
    let frame: Frame = test.create()?;
    let words = [FREE, 3, 0];
    for length in 0..3 {
        let result = call(frame, MAP, &words[..length], &[test.vspace.0]);
        check_eq!(result, Err(Error::TruncatedMessage));
    }
    check_eq!(call(frame, MAP, &words, &[]), Err(Error::TruncatedMessage));
    Ok(())
}

fn new_frames_are_zero(test: &mut Test) -> Outcome {
    let (_, address) = test.create_page()?;
    for offset in (0..PAGE).step_by(size_of::<usize>()) {
        check_eq!(read(address + offset), 0);
        write(address + offset, offset + 1);
    }
    for offset in (0..PAGE).step_by(size_of::<usize>()) {
        check_eq!(read(address + offset), offset + 1);
    }
    Ok(())
}

fn two_copies_are_one_memory(test: &mut Test) -> Outcome {
    let (frame, first) = test.create_page()?;
    let copy = test.copy(frame)?;
    let second = test.map(copy, Rights::READ_WRITE, Attributes::NORMAL)?;
    check!(first != second);
    write(first, 0x1234_5678);
    check_eq!(read(second), 0x1234_5678);
    write(second + 8, 77);
    check_eq!(read(first + 8), 77);
    Ok(())
}

fn copies_start_unmapped(test: &mut Test) -> Outcome {
    let (frame, address) = test.create_page()?;
    let copy = test.copy(frame)?;
    write(address, 5);
    // The copy is not mapped: unmapping it has no effect, and it can be mapped at any address.
    check_eq!(copy.unmap(), Ok(()));
    check_eq!(read(address), 5);
    let second = test.map(copy, Rights::READ_WRITE, Attributes::NORMAL)?;
    check_eq!(copy.unmap(), Ok(()));
    check_eq!(read(address), 5);
    check!(is_at(read_fault(test, second)?, second));
    Ok(())
}

fn a_mapped_frame_stays_where_it_is(test: &mut Test) -> Outcome {
    let (frame, address) = test.create_page()?;
    let moved = remap(test, frame, address + PAGE, Rights::READ_WRITE);
    check_eq!(moved, Err(Error::InvalidArgument(0)));
    let other: VSpace = test.create()?;
    test.asid_pool.assign(other)?;
    let moved = frame.map(other, address, Rights::READ_WRITE, Attributes::NORMAL);
    check_eq!(moved, Err(Error::InvalidCapability(1)));
    write(address, 1);
    check_eq!(read(address), 1);
    Ok(())
}

fn remapping_changes_rights(test: &mut Test) -> Outcome {
    let (frame, address) = test.create_page()?;
    write(address, 9);
    check_eq!(remap(test, frame, address, Rights::READ), Ok(()));
    check_eq!(read(address), 9);
    let fault = test.fault_of(move || write(address, 10))?;
    check_eq!(
        fault,
        Fault::Memory {
            pc: store as *const () as usize,
            address,
            instruction: false,
            status: STATUS_WRITE_PROTECTED,
        }
    );
    check_eq!(read(address), 9);
    check_eq!(remap(test, frame, address, Rights::READ_WRITE), Ok(()));
    write(address, 10);
    check_eq!(read(address), 10);
    Ok(())
}

fn rights_of_the_capability_count(test: &mut Test) -> Outcome {
    let (frame, address) = test.create_page()?;
    let readable = test.restrict(frame, Rights::READ)?;
    let second = test.map(readable, Rights::READ_WRITE, Attributes::NORMAL)?;
    write(address, 4);
    check_eq!(read(second), 4);
    check!(is_at(test.fault_of(move || write(second, 5))?, second));
    check_eq!(read(address), 4);
    Ok(())
}

fn without_read_nothing_is_accessible(test: &mut Test) -> Outcome {
    let (frame, address) = test.create_page()?;
    for rights in [Rights::NONE, Rights::WRITE] {
        check_eq!(remap(test, frame, address, rights), Ok(()));
        check!(is_at(read_fault(test, address)?, address));
        check!(is_at(test.fault_of(move || write(address, 5))?, address));
    }
    Ok(())
}

fn unmapped_memory_faults(test: &mut Test) -> Outcome {
    let (frame, address) = test.create_page()?;
    write(address, 3);
    check_eq!(frame.unmap(), Ok(()));
    let fault = read_fault(test, address)?;
    let Fault::Memory { pc, .. } = fault else {
        crate::support::fail(format_args!("{fault:?}"));
    };
    check_eq!(pc, load as *const () as usize);
    check!(is_at(fault, address));
    // The contents are kept, wherever the frame is mapped next.
    let next = test.map(frame, Rights::READ_WRITE, Attributes::NORMAL)?;
    check_eq!(read(next), 3);
    Ok(())
}

fn unmapping_twice_is_once(test: &mut Test) -> Outcome {
    let frame: Frame = test.create()?;
    check_eq!(frame.unmap(), Ok(()));
    test.map(frame, Rights::READ_WRITE, Attributes::NORMAL)?;
    check_eq!(frame.unmap(), Ok(()));
    check_eq!(frame.unmap(), Ok(()));
    Ok(())
}

fn deleting_unmaps(test: &mut Test) -> Outcome {
    let (frame, first) = test.create_page()?;
    let copy = test.copy(frame)?;
    let second = test.map(copy, Rights::READ_WRITE, Attributes::NORMAL)?;
    write(first, 6);
    test.delete(copy)?;
    check!(is_at(read_fault(test, second)?, second));
    check_eq!(read(first), 6);
    test.delete(frame)?;
    check!(is_at(read_fault(test, first)?, first));
    Ok(())
}

fn moving_keeps_the_mapping(test: &mut Test) -> Outcome {
    let (frame, address) = test.create_page()?;
    write(address, 8);
    let slot = test.empty_slot()?;
    slot.move_from(test.slot(frame))?;
    check_eq!(read(address), 8);
    let moved = Frame(CPtr(slot.index));
    check_eq!(remap(test, moved, address, Rights::READ), Ok(()));
    check_eq!(moved.unmap(), Ok(()));
    check!(is_at(read_fault(test, address)?, address));
    Ok(())
}

/// The frame sizes for which a test has memory.
fn sizes() -> impl Iterator<Item = FrameSize> {
    FrameSize::ALL
        .iter()
        .copied()
        .filter(|size| size.bits() <= 21)
}

fn all_sizes_can_be_mapped(test: &mut Test) -> Outcome {
    let mut address = FREE;
    for size in sizes() {
        let frame = test.allocator.create_frame(size)?;
        let vspace = test.vspace;
        vspace.map(
            &mut test.allocator,
            frame,
            address,
            Rights::READ_WRITE,
            Attributes::NORMAL,
        )?;
        let pages = 1 << (size.bits() - 12);
        for page in 0..pages {
            check_eq!(read(address + page * PAGE), 0);
            write(address + page * PAGE, page + 1);
            write(address + page * PAGE + PAGE - 8, page + 2);
        }
        for page in 0..pages {
            check_eq!(read(address + page * PAGE), page + 1);
            check_eq!(read(address + page * PAGE + PAGE - 8), page + 2);
        }
        check_eq!(frame.unmap(), Ok(()));
        check!(is_at(read_fault(test, address)?, address));
        address += 16 << 20;
    }
    Ok(())
}

fn addresses_must_be_aligned(test: &mut Test) -> Outcome {
    for size in sizes() {
        let frame = test.allocator.create_frame(size)?;
        for offset in [1, 4, 0x800, 1 << (size.bits() - 1)] {
            let result = remap(test, frame, FREE + offset, Rights::READ_WRITE);
            check_eq!(result, Err(Error::Alignment));
        }
    }
    Ok(())
}

fn the_top_is_not_for_users(test: &mut Test) -> Outcome {
    #[cfg(target_arch = "x86_64")]
    const TOP: usize = 0x8000_0000_0000;
    #[cfg(target_arch = "aarch64")]
    const TOP: usize = 0x8000_0000_0000;
    #[cfg(target_arch = "arm")]
    const TOP: usize = 0xe000_0000;
    for size in sizes() {
        let frame = test.allocator.create_frame(size)?;
        let bytes = 1usize << size.bits();
        for address in [TOP, TOP + 0x1000_0000, bytes.wrapping_neg()] {
            let result = remap(test, frame, address, Rights::READ_WRITE);
            check_eq!(result, Err(Error::InvalidArgument(0)));
        }
        // 64-bit Arm checks the alignment first.
        let across = remap(test, frame, TOP - bytes / 2, Rights::READ_WRITE);
        let expected = if abi::config::AARCH64 {
            Error::Alignment
        } else {
            Error::InvalidArgument(0)
        };
        check_eq!(across, Err(expected));
    }
    Ok(())
}

fn roots_must_be_address_spaces(test: &mut Test) -> Outcome {
    let frame: Frame = test.create()?;
    let endpoint: Endpoint = test.create()?;
    let unassigned: VSpace = test.create()?;
    for root in [endpoint.0, frame.0, CPtr::NULL, unassigned.0] {
        // The root is checked before the address.
        for address in [FREE, usize::MAX] {
            let result = call(frame, MAP, &[address, 3, 0], &[root]);
            check_eq!(result, Err(Error::InvalidCapability(1)));
        }
    }
    Ok(())
}

fn addresses_tell_the_memory(test: &mut Test) -> Outcome {
    let (first, second): (Frame, Frame) = (test.create()?, test.create()?);
    let address = first.physical_address()?;
    check_eq!(address % PAGE, 0);
    check_eq!(test.copy(first)?.physical_address()?, address);
    check!(second.physical_address()? != address);
    test.map(first, Rights::READ, Attributes::NORMAL)?;
    check_eq!(first.physical_address()?, address);
    for size in sizes() {
        let frame = test.allocator.create_frame(size)?;
        check_eq!(frame.physical_address()? % (1 << size.bits()), 0);
    }
    check_eq!(Frame::size_bits(0), 12);
    Ok(())
}

fn mapping_over_a_mapping_replaces_it(test: &mut Test) -> Outcome {
    let (below, address) = test.create_page()?;
    write(address, 1);
    let above: Frame = test.create()?;
    check_eq!(remap(test, above, address, Rights::READ_WRITE), Ok(()));
    check_eq!(read(address), 0);
    write(address, 2);
    // The entry no longer belongs to the first frame.
    check_eq!(below.unmap(), Ok(()));
    check_eq!(read(address), 2);
    test.delete(above)?;
    check!(is_at(read_fault(test, address)?, address));
    let next = test.map(below, Rights::READ, Attributes::NORMAL)?;
    check_eq!(read(next), 1);
    Ok(())
}

fn frames_outlive_address_spaces(test: &mut Test) -> Outcome {
    let (frame, address) = test.create_page()?;
    let copy = test.copy(frame)?;
    let other: VSpace = test.create()?;
    test.asid_pool.assign(other)?;
    let rights = Rights::READ_WRITE;
    other.map(&mut test.allocator, copy, FREE, rights, Attributes::NORMAL)?;
    test.delete(other)?;
    // The capability still names the deleted address space.
    check_eq!(
        remap(test, copy, FREE, rights),
        Err(Error::InvalidCapability(1))
    );
    check_eq!(copy.unmap(), Ok(()));
    let second = test.map(copy, rights, Attributes::NORMAL)?;
    write(address, 12);
    check_eq!(read(second), 12);
    Ok(())
}

fn threads_see_their_own_space(test: &mut Test) -> Outcome {
    // The same program at the same address in two address spaces, each with a counter of its own.
    const BYTES: usize = 64;
    let (code, code_address) = test.create_page()?;
    for offset in (0..BYTES).step_by(size_of::<usize>()) {
        write(
            code_address + offset,
            read(count_up as *const () as usize + offset),
        );
    }
    #[cfg(any(target_arch = "arm", target_arch = "aarch64"))]
    code.cache(userlib::cap::CacheOperation::UnifyInstruction, 0, PAGE)?;
    let mut counters = [0; 2];
    for counter in &mut counters {
        let space: VSpace = test.create()?;
        test.asid_pool.assign(space)?;
        let (page, address) = test.create_page()?;
        *counter = address;
        let (page, code) = (test.copy(page)?, test.copy(code)?);
        let (normal, allocator) = (Attributes::NORMAL, &mut test.allocator);
        space.map(allocator, code, FREE, Rights::READ, normal)?;
        space.map(allocator, page, FREE + PAGE, Rights::READ_WRITE, normal)?;
        let tcb: Tcb = test.create()?;
        let cnode = test.allocator.cnode();
        tcb.set_space(test.faults, cnode, 0, space)?;
        let time = test.create_sched_context(&SLICE)?;
        tcb.set_sched_params(test.tcb, 0, BELOW, time, test.faults)?;
        let mut registers = userlib::cap::Registers::default();
        registers.0[registers::PC] = FREE;
        // The first argument register of C is the capability register of the ABI.
        registers.0[registers::CAP] = FREE + PAGE;
        tcb.write_registers(true, &registers)?;
    }
    // Both make progress while the test, which has a higher priority, sleeps.
    while counters.iter().any(|&counter| read(counter) == 0) {
        test.sleep(ms(20))?;
    }
    Ok(())
}
