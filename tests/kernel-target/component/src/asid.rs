//! Address space identifiers: pools, and their assignment to address spaces.

use crate::support::arch::count_up;
use crate::support::protocol::names;
use crate::support::{ABOVE, INVALID_ROOT, Outcome, SLICE, Test};
use crate::{check, check_eq};
use abi::sizes::ASID_POOL_BITS;
use abi::{Method, Rights};
use userlib::cap::{
    AsidControl, AsidPool, Attributes, Endpoint, Frame, PageTable, Reply, Table, Tcb, Untyped,
    VSpace,
};
use userlib::invoke::invoke;
use userlib::{CPtr, Capability, Error, Fault, Result};

tests![
    labels_of_others_are_illegal,
    short_messages_are_truncated,
    pools_are_made_of_one_page,
    memory_in_use_makes_no_pool,
    destinations_are_checked,
    pools_run_out,
    spaces_are_assigned_once,
    only_roots_are_assigned,
    copies_share_the_identifier,
    identifiers_come_back,
    nothing_is_mapped_without_a_pool,
    frames_are_unmapped_after_the_pool,
    threads_fault_after_the_pool,
    a_space_may_be_assigned_anew,
];

#[cfg(target_arch = "x86_64")]
const MAKE_POOL: Method = Method::X86AsidControlMakePool;
#[cfg(target_arch = "x86_64")]
const ASSIGN: Method = Method::X86AsidPoolAssign;
#[cfg(target_arch = "x86_64")]
const POOLS: usize = 8;
#[cfg(any(target_arch = "arm", target_arch = "aarch64"))]
const MAKE_POOL: Method = Method::ArmAsidControlMakePool;
#[cfg(any(target_arch = "arm", target_arch = "aarch64"))]
const ASSIGN: Method = Method::ArmAsidPoolAssign;
#[cfg(any(target_arch = "arm", target_arch = "aarch64"))]
const POOLS: usize = 128;

const FREE: usize = 0x9000_0000;

fn call(object: impl Capability, method: Method, words: &[usize], caps: &[CPtr]) -> Result {
    invoke(object.cptr(), method.number(), words, caps).map(drop)
}

fn control(test: &Test) -> AsidControl {
    test.startup.capability(names::ASID_CONTROL)
}

fn make_pool(test: &mut Test) -> Result<AsidPool> {
    let memory: Untyped = test.create_sized(ASID_POOL_BITS)?;
    let slot = test.empty_slot()?;
    control(test).make_pool(memory, slot)?;
    Ok(AsidPool(CPtr(slot.index)))
}

/// A new address space from a pool, with a frame mapped.
fn space_with_frame(test: &mut Test, pool: AsidPool) -> Result<(VSpace, Frame)> {
    let (space, frame): (VSpace, Frame) = (test.create()?, test.create()?);
    pool.assign(space)?;
    space.map(
        &mut test.allocator,
        frame,
        FREE,
        Rights::READ_WRITE,
        Attributes::NORMAL,
    )?;
    Ok((space, frame))
}

fn labels_of_others_are_illegal(test: &mut Test) -> Outcome {
    let illegal = Err(Error::IllegalOperation);
    for object in [control(test).0, test.asid_pool.0] {
        for method in [
            Method::InvalidInvocation,
            Method::UntypedRetype,
            Method::CNodeDelete,
        ] {
            check_eq!(call(object, method, &[0; 8], &[object, object]), illegal);
        }
    }
    let all = [test.vspace.0, test.vspace.0];
    check_eq!(call(control(test), ASSIGN, &[0; 8], &all), illegal);
    check_eq!(call(test.asid_pool, MAKE_POOL, &[0; 8], &all), illegal);
    Ok(())
}

fn short_messages_are_truncated(test: &mut Test) -> Outcome {
    let memory: Untyped = test.create_sized(ASID_POOL_BITS)?;
    let slot = test.empty_slot()?;
    let (words, caps) = ([slot.index, slot.depth], [memory.0, slot.root.cptr()]);
    let truncated = Err(Error::TruncatedMessage);
    for (length, count) in [(0, 2), (1, 2), (2, 0), (2, 1)] {
        let result = call(control(test), MAKE_POOL, &words[..length], &caps[..count]);
        check_eq!(result, truncated);
    }
    check_eq!(call(test.asid_pool, ASSIGN, &[0; 8], &[]), truncated);
    check!(test.is_empty(slot)?);
    Ok(())
}

fn pools_are_made_of_one_page(test: &mut Test) -> Outcome {
    let invalid = Err(Error::InvalidCapability(1));
    let slot = test.empty_slot()?;
    for bits in [ASID_POOL_BITS - 1, ASID_POOL_BITS + 1] {
        let memory: Untyped = test.create_sized(bits)?;
        check_eq!(control(test).make_pool(memory, slot), invalid);
    }
    let frame: Frame = test.create()?;
    for object in [frame.0, CPtr::NULL, test.tcb.0] {
        check_eq!(control(test).make_pool(Untyped(object), slot), invalid);
    }
    check!(test.is_empty(slot)?);
    Ok(())
}

fn memory_in_use_makes_no_pool(test: &mut Test) -> Outcome {
    let memory: Untyped = test.create_sized(ASID_POOL_BITS)?;
    let (first, second) = (test.empty_slot()?, test.empty_slot()?);
    check_eq!(control(test).make_pool(memory, first), Ok(()));
    // Memory in use is refused whatever the destination slot holds.
    for slot in [second, first] {
        let result = control(test).make_pool(memory, slot);
        check_eq!(result, Err(Error::RevokeFirst));
    }
    // A pool is a child of its memory; revoking the memory makes it usable again.
    check_eq!(test.slot(memory).revoke(), Ok(()));
    check!(test.is_empty(first)?);
    check_eq!(control(test).make_pool(memory, second), Ok(()));
    Ok(())
}

fn destinations_are_checked(test: &mut Test) -> Outcome {
    let memory: Untyped = test.create_sized(ASID_POOL_BITS)?;
    for (slot, expected) in test.destinations()? {
        check_eq!(control(test).make_pool(memory, slot), expected);
    }
    Ok(())
}

fn pools_run_out(test: &mut Test) -> Outcome {
    // The kernel gives the first pool to the root task at boot.
    let mut last = AsidPool(CPtr::NULL);
    for _ in 1..POOLS {
        last = make_pool(test)?;
    }
    check_eq!(make_pool(test), Err(Error::DeleteFirst));
    // That is checked before the memory.
    let slot = test.empty_slot()?;
    let result = control(test).make_pool(Untyped(CPtr::NULL), slot);
    check_eq!(result, Err(Error::DeleteFirst));
    test.delete(last)?;
    check!(make_pool(test).is_ok());
    check_eq!(make_pool(test), Err(Error::DeleteFirst));
    Ok(())
}

fn spaces_are_assigned_once(test: &mut Test) -> Outcome {
    let (first, second) = (make_pool(test)?, make_pool(test)?);
    let space: VSpace = test.create()?;
    check_eq!(first.assign(space), Ok(()));
    for pool in [first, second, test.asid_pool] {
        check_eq!(pool.assign(space), Err(Error::InvalidCapability(1)));
    }
    Ok(())
}

fn only_roots_are_assigned(test: &mut Test) -> Outcome {
    let frame: Frame = test.create()?;
    for object in [frame.0, CPtr::NULL, test.tcb.0, test.asid_pool.0] {
        let result = test.asid_pool.assign(VSpace(object));
        check_eq!(result, Err(Error::InvalidCapability(1)));
    }
    Ok(())
}

fn copies_share_the_identifier(test: &mut Test) -> Outcome {
    let (space, frame) = space_with_frame(test, test.asid_pool)?;
    let copy = test.copy(space)?;
    let remap = |space| frame.map(space, FREE, Rights::READ, Attributes::NORMAL);
    check_eq!(remap(copy), Ok(()));
    check_eq!(
        test.asid_pool.assign(copy),
        Err(Error::InvalidCapability(1))
    );
    // The space lives as long as a capability to it.
    test.delete(space)?;
    check_eq!(remap(copy), Ok(()));
    test.delete(copy)?;
    check_eq!(frame.unmap(), Ok(()));
    Ok(())
}

fn identifiers_come_back(test: &mut Test) -> Outcome {
    // More spaces than a pool or the hardware has identifiers.
    let pool = make_pool(test)?;
    let memory: Untyped = test.create_sized(abi::sizes::VSPACE_BITS)?;
    let slot = test.empty_slot()?;
    let destination = userlib::cap::SlotRange {
        root: test.allocator.cnode(),
        index: 0,
        depth: 0,
        offset: slot.index,
    };
    let object = <VSpace as userlib::cap::Object>::TYPE;
    for _ in 0..1100 {
        memory.retype(object, 0, destination, 1)?;
        check_eq!(pool.assign(VSpace(CPtr(slot.index))), Ok(()));
        slot.delete()?;
    }
    Ok(())
}

fn nothing_is_mapped_without_a_pool(test: &mut Test) -> Outcome {
    let pool = make_pool(test)?;
    let (space, frame) = space_with_frame(test, pool)?;
    test.delete(pool)?;
    let remap = |frame: Frame| frame.map(space, FREE, Rights::READ, Attributes::NORMAL);
    check_eq!(remap(frame), INVALID_ROOT);
    let other: Frame = test.create()?;
    check_eq!(remap(other), INVALID_ROOT);
    let kind = Table::PageTable;
    let table = test
        .allocator
        .create_any(kind.object_type(), 0, kind.size_bits())?;
    let result = PageTable(table).map(kind, space, 0, Attributes::NORMAL);
    check_eq!(result, INVALID_ROOT);
    // The capability still names the identifier of the deleted pool.
    check_eq!(
        test.asid_pool.assign(space),
        Err(Error::InvalidCapability(1))
    );
    Ok(())
}

fn frames_are_unmapped_after_the_pool(test: &mut Test) -> Outcome {
    let pool = make_pool(test)?;
    let (space, frame) = space_with_frame(test, pool)?;
    test.delete(pool)?;
    check_eq!(frame.unmap(), Ok(()));
    let address = test.map(frame, Rights::READ_WRITE, Attributes::NORMAL)?;
    // SAFETY: a new frame was mapped there.
    unsafe { crate::support::arch::store(address, 1) };
    test.delete(space)?;
    Ok(())
}

fn threads_fault_after_the_pool(test: &mut Test) -> Outcome {
    let pool = make_pool(test)?;
    let (space, _) = space_with_frame(test, pool)?;
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let tcb: Tcb = test.create()?;
    let cnode = test.allocator.cnode();
    tcb.set_space(endpoint, cnode, 0, space)?;
    let time = test.create_sched_context(&SLICE)?;
    tcb.set_sched_params(test.tcb, 0, ABOVE, time, endpoint)?;
    test.delete(pool)?;
    let mut registers = userlib::cap::Registers::default();
    registers.0[abi::registers::PC] = FREE;
    registers.0[abi::registers::CAP] = count_up as *const () as usize;
    tcb.write_registers(true, &registers)?;
    let message = endpoint
        .nb_recv(reply)
        .and_then(|received| received.message);
    let fault = message.map(|message| Fault::from_message(&message));
    check!(
        matches!(
            fault,
            Some(Fault::Memory {
                address: FREE,
                instruction: true,
                ..
            })
        ),
        "{fault:?}"
    );
    Ok(())
}

fn a_space_may_be_assigned_anew(test: &mut Test) -> Outcome {
    // Identifiers of a deleted pool are not confused with those of a new pool at the same place.
    let memory: Untyped = test.create_sized(ASID_POOL_BITS)?;
    let slot = test.empty_slot()?;
    control(test).make_pool(memory, slot)?;
    let pool = AsidPool(CPtr(slot.index));
    let (old, frame) = space_with_frame(test, pool)?;
    test.delete(pool)?;
    control(test).make_pool(memory, slot)?;
    let (new, other) = space_with_frame(test, pool)?;
    let map = |frame: Frame, space| frame.map(space, FREE, Rights::READ, Attributes::NORMAL);
    check_eq!(map(frame, old), Err(Error::InvalidCapability(1)));
    check_eq!(frame.unmap(), Ok(()));
    check_eq!(map(other, new), Ok(()));
    // Deleting the old root leaves the new one mapped.
    test.delete(old)?;
    check_eq!(map(other, new), Ok(()));
    Ok(())
}
