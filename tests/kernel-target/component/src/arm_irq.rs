//! Interrupt lines on Arm: how they are triggered, and which core they interrupt.

use crate::{check, check_eq};
use crate::support::timer::{LINE as LINE_OF_TIMER, Timer};
use crate::support::{INVALID_ROOT, Outcome, Test, ms, range};
use abi::config::SMP;
use abi::slots;
use userlib::cap::{IrqControl, IrqHandler, Notification, Slot};
use userlib::{CPtr, Error, Result};

tests![
    triggers_are_accepted,
    triggered_lines_have_limits,
    triggered_lines_are_issued_once,
    the_kernels_own_lines_are_taken,
    the_controller_is_the_kernels,
    a_level_triggered_line_interrupts,
    lines_are_issued_for_a_core,
];

const CONTROL: IrqControl = IrqControl(CPtr(slots::IRQ_CONTROL));
/// An interrupt line that no device uses in these tests.
const LINE: usize = 60;
/// One past the last interrupt line.
const LINES: usize = userlib::board::INTERRUPTS;
/// The first line that is shared by all cores.
const SHARED: usize = 32;

/// Issues a handler. With several cores, private lines of a core have to be issued with the core's number.
fn get_with_trigger(line: usize, edge: bool, slot: Slot) -> Result {
    if SMP && line < SHARED {
        check_refused(line, edge, slot)?;
        return CONTROL.get_with_trigger_core(line, edge, 0, slot);
    }
    CONTROL.get_with_trigger(line, edge, slot)
}

fn check_refused(line: usize, edge: bool, slot: Slot) -> Result {
    match CONTROL.get_with_trigger(line, edge, slot) {
        Err(Error::IllegalOperation) => Ok(()),
        other => other,
    }
}

fn triggers_are_accepted(test: &mut Test) -> Outcome {
    let slot = test.empty_slot()?;
    for edge in [false, true] {
        check_eq!(CONTROL.get_with_trigger(LINE, edge, slot), Ok(()));
        check_eq!(IrqHandler(CPtr(slot.index)).ack(), Ok(()));
        slot.delete()?;
    }
    Ok(())
}

fn triggered_lines_have_limits(test: &mut Test) -> Outcome {
    let (slot, nowhere) = (test.empty_slot()?, test.nowhere()?);
    for line in [LINES, LINES + 1, usize::MAX] {
        for destination in [slot, nowhere] {
            let result = CONTROL.get_with_trigger(line, true, destination);
            check_eq!(result, range(0, LINES - 1));
        }
    }
    check_eq!(CONTROL.get_with_trigger(LINES - 1, true, slot), Ok(()));
    Ok(())
}

fn triggered_lines_are_issued_once(test: &mut Test) -> Outcome {
    let (first, second, nowhere) = (test.empty_slot()?, test.empty_slot()?, test.nowhere()?);
    CONTROL.get_with_trigger(LINE, true, first)?;
    let taken = Err(Error::RevokeFirst);
    check_eq!(CONTROL.get_with_trigger(LINE, false, second), taken);
    check_eq!(CONTROL.get_with_trigger(LINE, false, nowhere), taken);
    check_eq!(CONTROL.get(LINE, second), taken);
    check_eq!(CONTROL.get_with_trigger(LINE + 1, false, nowhere), INVALID_ROOT);
    check_eq!(
        CONTROL.get_with_trigger(LINE + 1, false, first),
        Err(Error::DeleteFirst)
    );
    first.delete()?;
    check_eq!(CONTROL.get(LINE, second), Ok(()));
    Ok(())
}

fn the_kernels_own_lines_are_taken(test: &mut Test) -> Outcome {
    /// The global timer of the Cortex-A9 (MPCore technical reference manual, table 3-1), and the virtual
    /// timer of cores with the generic timer.
    const KERNEL_TIMER: usize = 27;
    let slot = test.empty_slot()?;
    let taken = Err(Error::RevokeFirst);
    check_eq!(CONTROL.get(KERNEL_TIMER, slot), taken);
    check_eq!(get_with_trigger(KERNEL_TIMER, true, slot), taken);
    Ok(())
}

/// Writes to the controller could stop the kernel's timer.
fn the_controller_is_the_kernels(test: &mut Test) -> Outcome {
    let boot = test.boot_info();
    for page in userlib::board::CONTROLLER_PAGES {
        for untyped in &boot.untyped_list[..boot.untyped.len()] {
            let bytes = 1 << untyped.size_bits;
            check!(!(untyped.address..untyped.address + bytes).contains(&page));
        }
    }
    Ok(())
}

fn a_level_triggered_line_interrupts(test: &mut Test) -> Outcome {
    let timer = Timer::new(test)?;
    test.delete(timer.handler)?;
    let slot = test.empty_slot()?;
    get_with_trigger(LINE_OF_TIMER, false, slot)?;
    let handler = IrqHandler(CPtr(slot.index));
    let notification: Notification = test.create()?;
    let badged = test.badge(notification, 9)?;
    handler.set_notification(badged)?;
    for _ in 0..3 {
        timer.start(1)?;
        check_eq!(notification.wait(), 9);
        // The device still asserts the interrupt, but the line is masked.
        test.sleep(ms(2))?;
        check_eq!(notification.poll(), 0);
        // Acknowledged while the device still asserts it, the line interrupts again.
        handler.ack()?;
        check_eq!(notification.wait(), 9);
        timer.clear()?;
        handler.ack()?;
        check_eq!(notification.poll(), 0);
    }
    Ok(())
}

fn lines_are_issued_for_a_core(test: &mut Test) -> Outcome {
    let (first, second) = (test.empty_slot()?, test.empty_slot()?);
    if !SMP {
        let refused = Err(Error::IllegalOperation);
        check_eq!(CONTROL.get_with_trigger_core(LINE, true, 0, first), refused);
        return Ok(());
    }
    let cores = test.boot_info().nodes;
    for core in [cores, cores + 1, usize::MAX] {
        let result = CONTROL.get_with_trigger_core(LINE, true, core, first);
        check_eq!(result, Err(Error::InvalidArgument(0)));
    }
    // A shared line can be issued only once, for one core.
    CONTROL.get_with_trigger_core(LINE, true, cores - 1, first)?;
    let result = CONTROL.get_with_trigger_core(LINE, true, 0, second);
    check_eq!(result, Err(Error::RevokeFirst));
    first.delete()?;
    // Each core has private lines of its own.
    const OWN: usize = 20;
    CONTROL.get_with_trigger_core(OWN, true, cores - 1, first)?;
    check_eq!(CONTROL.get_with_trigger_core(OWN, true, 0, second), Ok(()));
    Ok(())
}
