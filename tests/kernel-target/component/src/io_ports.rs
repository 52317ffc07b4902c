//! I/O ports: issuing ranges of ports, and the accesses that a range allows.

use crate::support::{Outcome, Test};
use crate::{check, check_eq};
use abi::{Method, slots};
use userlib::cap::{IoPort, IoPortControl};
use userlib::invoke::invoke;
use userlib::{CPtr, Capability, Error, Fault, Result};

tests![
    labels_of_others_are_illegal,
    short_messages_are_truncated,
    ranges_do_not_end_before_they_start,
    ports_are_issued_once,
    long_ranges_are_issued_as_a_whole,
    destinations_are_checked,
    checks_come_in_order,
    numbers_are_cut_to_16_bits,
    accesses_stay_inside_the_range,
    the_configuration_space_answers,
    the_last_copy_frees_the_range,
    revoking_the_control_frees_all,
    instructions_are_not_allowed,
];

const CONTROL: IoPortControl = IoPortControl(CPtr(slots::IO_PORT_CONTROL));
/// Address and data ports of the PCI configuration space (PCI Local Bus 3.0, 3.2.2.3.2).
const PCI_ADDRESS: u16 = 0xcf8;
const PCI_DATA: u16 = 0xcfc;
/// No device has this port.
const NOWHERE: u16 = 0x9000;

fn call(object: impl Capability, method: Method, words: &[usize], caps: &[CPtr]) -> Result {
    invoke(object.cptr(), method.number(), words, caps).map(drop)
}

fn issue(test: &mut Test, first: u16, last: u16) -> Result<IoPort> {
    let slot = test.empty_slot()?;
    CONTROL.issue(first, last, slot)?;
    Ok(IoPort(CPtr(slot.index)))
}

fn labels_of_others_are_illegal(test: &mut Test) -> Outcome {
    let ports = issue(test, NOWHERE, NOWHERE + 7)?;
    let illegal = Err(Error::IllegalOperation);
    for method in [
        Method::InvalidInvocation,
        Method::UntypedRetype,
        Method::IrqAckIrq,
    ] {
        check_eq!(call(ports, method, &[0x9000; 8], &[ports.0]), illegal);
        check_eq!(call(CONTROL, method, &[0x9000; 8], &[ports.0]), illegal);
    }
    let method = Method::X86IoPortIn8;
    check_eq!(call(CONTROL, method, &[0x9000; 8], &[ports.0]), illegal);
    let method = Method::X86IoPortControlIssue;
    check_eq!(call(ports, method, &[0x9000; 8], &[ports.0]), illegal);
    Ok(())
}

fn short_messages_are_truncated(test: &mut Test) -> Outcome {
    let truncated = Err(Error::TruncatedMessage);
    let slot = test.empty_slot()?;
    let (words, root) = ([0x9000, 0x9007, slot.index, slot.depth], slot.root.cptr());
    for length in 0..4 {
        let result = call(
            CONTROL,
            Method::X86IoPortControlIssue,
            &words[..length],
            &[root],
        );
        check_eq!(result, truncated);
    }
    let result = call(CONTROL, Method::X86IoPortControlIssue, &words, &[]);
    check_eq!(result, truncated);
    let ports = issue(test, NOWHERE, NOWHERE + 7)?;
    for method in [
        Method::X86IoPortIn8,
        Method::X86IoPortIn16,
        Method::X86IoPortIn32,
    ] {
        check_eq!(call(ports, method, &[], &[]), truncated);
    }
    for method in [
        Method::X86IoPortOut8,
        Method::X86IoPortOut16,
        Method::X86IoPortOut32,
    ] {
        check_eq!(call(ports, method, &[0x9000], &[]), truncated);
    }
    Ok(())
}

fn ranges_do_not_end_before_they_start(test: &mut Test) -> Outcome {
    let slot = test.empty_slot()?;
    for (first, last) in [(1, 0), (0xffff, 0), (NOWHERE + 1, NOWHERE)] {
        let result = CONTROL.issue(first, last, slot);
        check_eq!(result, Err(Error::InvalidArgument(1)));
    }
    check!(issue(test, NOWHERE, NOWHERE).is_ok());
    check!(issue(test, 0xffff, 0xffff).is_ok());
    Ok(())
}

fn ports_are_issued_once(test: &mut Test) -> Outcome {
    let ports = issue(test, NOWHERE + 8, NOWHERE + 15)?;
    for (first, last) in [(8, 15), (0, 8), (15, 20), (10, 11), (0, 30)] {
        let result = issue(test, NOWHERE + first, NOWHERE + last);
        check_eq!(result, Err(Error::RevokeFirst));
    }
    check!(issue(test, NOWHERE, NOWHERE + 7).is_ok());
    check!(issue(test, NOWHERE + 16, NOWHERE + 16).is_ok());
    test.delete(ports)?;
    check!(issue(test, NOWHERE + 10, NOWHERE + 11).is_ok());
    Ok(())
}

fn destinations_are_checked(test: &mut Test) -> Outcome {
    for (slot, expected) in test.destinations()? {
        check_eq!(CONTROL.issue(NOWHERE, NOWHERE, slot), expected);
    }
    Ok(())
}

fn checks_come_in_order(test: &mut Test) -> Outcome {
    issue(test, NOWHERE, NOWHERE + 7)?;
    let nowhere = test.nowhere()?;
    let result = CONTROL.issue(NOWHERE + 1, NOWHERE, nowhere);
    check_eq!(result, Err(Error::InvalidArgument(1)));
    let result = CONTROL.issue(NOWHERE, NOWHERE + 1, nowhere);
    check_eq!(result, Err(Error::RevokeFirst));
    Ok(())
}

fn numbers_are_cut_to_16_bits(test: &mut Test) -> Outcome {
    let slot = test.empty_slot()?;
    let words = [0x7_9000, 0x3_9003, slot.index, slot.depth];
    let method = Method::X86IoPortControlIssue;
    check_eq!(call(CONTROL, method, &words, &[slot.root.cptr()]), Ok(()));
    let ports = IoPort(CPtr(slot.index));
    for port in [0x9000, 0x1_9000, 0xffff_9003] {
        check_eq!(call(ports, Method::X86IoPortIn8, &[port], &[]), Ok(()));
    }
    check_eq!(
        call(ports, Method::X86IoPortIn8, &[0x9004], &[]),
        Err(Error::IllegalOperation)
    );
    Ok(())
}

fn accesses_stay_inside_the_range(test: &mut Test) -> Outcome {
    let ports = issue(test, NOWHERE, NOWHERE + 3)?;
    let illegal = Err(Error::IllegalOperation);
    for offset in 0..4 {
        let port = NOWHERE + offset;
        check_eq!(ports.in8(port), Ok(0xff));
        check_eq!(ports.out8(port, 1), Ok(()));
        // The result of an unaligned read without a device depends on the machine.
        let expected = if offset < 3 { Ok(()) } else { illegal };
        check_eq!(ports.in16(port).map(drop), expected);
        check_eq!(ports.out16(port, 1), expected);
        let expected = if offset < 1 { Ok(()) } else { illegal };
        check_eq!(ports.in32(port).map(drop), expected);
        check_eq!(ports.out32(port, 1), expected);
    }
    for port in [0, NOWHERE - 1, NOWHERE + 4, 0xffff] {
        check_eq!(ports.out8(port, 1), illegal);
        check_eq!(ports.out16(port, 1), illegal);
        check_eq!(ports.out32(port, 1), illegal);
    }
    // The access includes a byte outside of all ranges.
    let last = issue(test, 0xfffe, 0xffff)?;
    check_eq!(last.in32(0xfffe), Err(Error::IllegalOperation));
    check_eq!(last.in16(0xffff), Err(Error::IllegalOperation));
    Ok(())
}

fn the_configuration_space_answers(test: &mut Test) -> Outcome {
    let ports = issue(test, PCI_ADDRESS, PCI_DATA + 3)?;
    for address in [0x8000_0000, 0x8000_0004] {
        ports.out32(PCI_ADDRESS, address)?;
        check_eq!(ports.in32(PCI_ADDRESS), Ok(address));
    }
    // Vendor and device ID of the host bridge, in one access and in several.
    ports.out32(PCI_ADDRESS, 0x8000_0000)?;
    let whole = ports.in32(PCI_DATA)?;
    check_eq!(whole as u16, 0x8086);
    check_eq!(ports.in16(PCI_DATA), Ok(whole as u16));
    check_eq!(ports.in16(PCI_DATA + 2), Ok((whole >> 16) as u16));
    for byte in 0..4 {
        check_eq!(ports.in8(PCI_DATA + byte), Ok((whole >> (8 * byte)) as u8));
    }
    Ok(())
}

fn the_last_copy_frees_the_range(test: &mut Test) -> Outcome {
    let ports = issue(test, NOWHERE, NOWHERE)?;
    let copy = test.copy(ports)?;
    test.delete(ports)?;
    check_eq!(copy.in8(NOWHERE), Ok(0xff));
    check_eq!(issue(test, NOWHERE, NOWHERE), Err(Error::RevokeFirst));
    test.delete(copy)?;
    check!(issue(test, NOWHERE, NOWHERE).is_ok());
    Ok(())
}

fn revoking_the_control_frees_all(test: &mut Test) -> Outcome {
    let ports = issue(test, NOWHERE, NOWHERE + 7)?;
    let copy = test.copy(ports)?;
    check_eq!(test.slot(CONTROL).revoke(), Ok(()));
    check!(test.is_gone(ports)?);
    check!(test.is_gone(copy)?);
    check!(issue(test, NOWHERE, NOWHERE + 7).is_ok());
    Ok(())
}

fn instructions_are_not_allowed(test: &mut Test) -> Outcome {
    // The capability allows invocations, but not the instruction in user mode.
    issue(test, NOWHERE, NOWHERE)?;
    let fault = test.fault_of(|| {
        // SAFETY: it faults.
        unsafe { core::arch::asm!("in al, dx", in("dx") NOWHERE, out("al") _) }
    })?;
    check!(
        matches!(
            fault,
            Fault::UserException {
                number: 13,
                code: 0,
                ..
            }
        ),
        "{fault:?}"
    );
    Ok(())
}

fn long_ranges_are_issued_as_a_whole(test: &mut Test) -> Outcome {
    // From the middle of a block of 64 ports to the middle of another, with many in between.
    let (first, last) = (0x9021, 0xd01e);
    let long = issue(test, first, last)?;
    let taken = Some(Error::RevokeFirst);
    for port in [
        first,
        first + 0x1e,
        first + 0x1f,
        0xa000,
        0xcfff,
        0xd000,
        last,
    ] {
        check_eq!(issue(test, port, port).err(), taken);
    }
    check_eq!(issue(test, 0x8000, first).err(), taken);
    check_eq!(issue(test, last, 0xdfff).err(), taken);
    check_eq!(issue(test, 0x8000, 0xdfff).err(), taken);
    let below = issue(test, 0x8000, first - 1)?;
    let above = issue(test, last + 1, 0xdfff)?;
    test.delete(long)?;
    let again = issue(test, first, last)?;
    for ports in [below, above, again] {
        test.delete(ports)?;
    }
    let all = issue(test, 0x8000, 0xdfff)?;
    test.delete(all)?;
    Ok(())
}
