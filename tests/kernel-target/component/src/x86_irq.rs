//! Interrupt lines on x86-64: inputs of I/O APICs, and MSIs.

use crate::check_eq;
use crate::support::timer::Timer;
use crate::support::{Outcome, Test};
use abi::{LookupFailure, Method, slots};
use userlib::cap::{
    CNode, Endpoint, IoApicPin, IoPort, IoPortControl, IrqControl, IrqHandler, Notification, Slot,
};
use userlib::invoke::invoke;
use userlib::{CPtr, Capability, Error, Result};

tests![
    there_are_no_natural_numbers,
    inputs_have_limits,
    messages_have_limits,
    checks_come_in_order,
    both_kinds_share_the_numbers,
    handlers_are_children_of_the_control,
    an_input_can_change_its_number,
    a_driver_receives_at_the_console_s_port,
];

const CONTROL: IrqControl = IrqControl(CPtr(slots::IRQ_CONTROL));
/// A vector that is unused in these tests.
const VECTOR: usize = 70;
const LAST_VECTOR: usize = 107;

fn call(method: Method, words: &[usize], root: CPtr) -> Result {
    invoke(CONTROL.cptr(), method.number(), words, &[root]).map(drop)
}

fn range(maximum: usize) -> Result {
    Err(Error::Range {
        minimum: 0,
        maximum,
    })
}

/// Issues a handler for an input: I/O APIC, pin, level, polarity.
fn input(slot: Slot, source: [usize; 4], vector: usize) -> Result {
    let [io_apic, pin, level, polarity] = source;
    let words = [
        slot.index, slot.depth, io_apic, pin, level, polarity, vector,
    ];
    call(
        Method::X86IrqIssueIrqHandlerIoapic,
        &words,
        slot.root.cptr(),
    )
}

/// Issues a handler for an MSI: bus, device, function, handle.
fn message(slot: Slot, source: [usize; 4], vector: usize) -> Result {
    let [bus, device, function, handle] = source;
    let words = [
        slot.index, slot.depth, bus, device, function, handle, vector,
    ];
    call(Method::X86IrqIssueIrqHandlerMsi, &words, slot.root.cptr())
}

fn there_are_no_natural_numbers(test: &mut Test) -> Outcome {
    let slot = test.empty_slot()?;
    let words = [VECTOR, slot.index, slot.depth];
    check_eq!(
        call(Method::IrqIssueIrqHandler, &words, slot.root.cptr()),
        Err(Error::IllegalOperation)
    );
    Ok(())
}

fn inputs_have_limits(test: &mut Test) -> Outcome {
    let slot = test.empty_slot()?;
    for (source, expected) in [
        // The machine has one I/O APIC, with 24 inputs.
        ([1, 0, 0, 0], range(0)),
        ([usize::MAX, 0, 0, 0], range(0)),
        ([0, 24, 0, 0], range(23)),
        ([0, usize::MAX, 0, 0], range(23)),
        ([0, 23, 2, 0], range(1)),
        ([0, 23, 0, 2], range(1)),
        // The first argument that is out of range is reported.
        ([1, 24, 2, 2], range(0)),
        ([0, 24, 2, 2], range(23)),
        ([0, 23, 1, 1], Ok(())),
    ] {
        check_eq!(input(slot, source, VECTOR), expected);
    }
    let slot = test.empty_slot()?;
    for vector in [LAST_VECTOR + 1, 109, usize::MAX] {
        check_eq!(input(slot, [0, 22, 0, 0], vector), range(LAST_VECTOR));
    }
    check_eq!(input(slot, [0, 22, 0, 0], LAST_VECTOR), Ok(()));
    Ok(())
}

fn messages_have_limits(test: &mut Test) -> Outcome {
    let slot = test.empty_slot()?;
    for (source, expected) in [
        ([256, 0, 0, 0], range(255)),
        ([0, 32, 0, 0], range(31)),
        ([0, 0, 8, 0], range(7)),
        ([256, 32, 8, 0], range(255)),
        ([0, 32, 8, 0], range(31)),
        // Handles are chosen by the user.
        ([255, 31, 7, usize::MAX], Ok(())),
    ] {
        check_eq!(message(slot, source, VECTOR), expected);
    }
    let slot = test.empty_slot()?;
    for vector in [LAST_VECTOR + 1, 109, usize::MAX] {
        check_eq!(message(slot, [0; 4], vector), range(LAST_VECTOR));
    }
    check_eq!(message(slot, [0; 4], 0), Ok(()));
    Ok(())
}

fn checks_come_in_order(test: &mut Test) -> Outcome {
    let slot = test.empty_slot()?;
    let endpoint: Endpoint = test.create()?;
    let nowhere = Slot {
        root: CNode(endpoint.0),
        ..slot
    };
    let invalid = Err(Error::FailedLookup {
        source: false,
        failure: LookupFailure::InvalidRoot,
    });
    type Ask = fn(Slot, [usize; 4], usize) -> Result;
    for (vector, ask) in [(VECTOR, input as Ask), (VECTOR + 1, message as Ask)] {
        let free = test.empty_slot()?;
        ask(free, [0, 20, 0, 0], vector)?;
        // The order of checks: vector number, whether it is taken, the slot, the interrupt source.
        let wrong = [999; 4];
        check_eq!(ask(nowhere, wrong, 999), range(LAST_VECTOR));
        check_eq!(ask(nowhere, wrong, vector), Err(Error::RevokeFirst));
        check_eq!(ask(nowhere, wrong, vector + 10), invalid);
        let full = test.slot(endpoint);
        check_eq!(ask(full, wrong, vector + 10), Err(Error::DeleteFirst));
        // These calls have not changed anything.
        check_eq!(ask(slot, [0, 19, 0, 0], vector + 10), Ok(()));
        slot.delete()?;
    }
    Ok(())
}

fn both_kinds_share_the_numbers(test: &mut Test) -> Outcome {
    let (first, second) = (test.empty_slot()?, test.empty_slot()?);
    input(first, [0, 20, 0, 0], VECTOR)?;
    check_eq!(message(second, [0; 4], VECTOR), Err(Error::RevokeFirst));
    first.delete()?;
    check_eq!(message(second, [0; 4], VECTOR), Ok(()));
    check_eq!(input(first, [0, 20, 0, 0], VECTOR), Err(Error::RevokeFirst));
    Ok(())
}

fn handlers_are_children_of_the_control(test: &mut Test) -> Outcome {
    let (first, second) = (test.empty_slot()?, test.empty_slot()?);
    input(first, [0, 20, 1, 1], VECTOR)?;
    message(second, [0; 4], VECTOR + 1)?;
    test.slot(CONTROL).revoke()?;
    check_eq!(test.is_empty(first)?, true);
    check_eq!(test.is_empty(second)?, true);
    check_eq!(message(second, [0; 4], VECTOR), Ok(()));
    Ok(())
}

fn an_input_can_change_its_number(test: &mut Test) -> Outcome {
    const PIN: usize = 2;
    let timer = Timer::new(test)?;
    let notification: Notification = test.create()?;
    test.delete(timer.handler)?;
    for vector in [VECTOR, 0, LAST_VECTOR] {
        let slot = test.empty_slot()?;
        input(slot, [0, PIN, 0, 0], vector)?;
        let handler = IrqHandler(CPtr(slot.index));
        let badged = test.badge(notification, vector + 1)?;
        handler.set_notification(badged)?;
        timer.start(1)?;
        check_eq!(notification.wait(), vector + 1);
        timer.clear()?;
        handler.ack()?;
        slot.delete()?;
    }
    Ok(())
}

/// The first serial port belongs to the kernel's console and to drivers of systems that take it for theirs: they get
/// its ports and its interrupt. The device receives what it sends itself (PC16550D data sheet, 8.7, bit 4).
fn a_driver_receives_at_the_console_s_port(test: &mut Test) -> Outcome {
    const FIRST: u16 = 0x3f8;
    const INTERRUPT_ENABLE: u16 = FIRST + 1;
    const INTERRUPT_SOURCE: u16 = FIRST + 2;
    const MODEM_CONTROL: u16 = FIRST + 4;
    const LOOPED: u8 = 1 << 4;
    const RECEIVED: u8 = 0b100;
    let slot = test.empty_slot()?;
    IoPortControl(CPtr(slots::IO_PORT_CONTROL)).issue(FIRST, FIRST + 7, slot)?;
    let port = IoPort(CPtr(slot.index));
    let slot = test.empty_slot()?;
    let pin = IoApicPin {
        io_apic: 0,
        pin: 4,
        level: false,
        active_low: false,
    };
    CONTROL.get_io_apic(pin, VECTOR, slot)?;
    let handler = IrqHandler(CPtr(slot.index));
    let notification: Notification = test.create()?;
    handler.set_notification(notification)?;

    let before = port.in8(MODEM_CONTROL)?;
    port.out8(INTERRUPT_ENABLE, 1)?;
    port.out8(MODEM_CONTROL, before | LOOPED)?;
    let mut received = [0; 3];
    for (byte, place) in b"abc".iter().zip(&mut received) {
        port.out8(FIRST, *byte)?;
        notification.wait();
        if port.in8(INTERRUPT_SOURCE)? & 0b1111 == RECEIVED {
            *place = port.in8(FIRST)?;
        }
        handler.ack()?;
    }
    port.out8(INTERRUPT_ENABLE, 0)?;
    port.out8(MODEM_CONTROL, before)?;
    check_eq!(&received, b"abc");
    Ok(())
}
