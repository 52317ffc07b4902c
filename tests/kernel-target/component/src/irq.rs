//! Interrupts: issuing handlers, and real interrupts from a timer.

use crate::support::events::{note, noted};
use crate::support::timer::Timer;
use crate::support::{ABOVE, Outcome, Test, ms, relax};
use crate::{check, check_eq};
use abi::{Method, Rights, slots};
use userlib::cap::{Endpoint, IrqControl, IrqHandler, Notification, Slot};
use userlib::invoke::invoke;
use userlib::{CPtr, Capability, Error, Result};

tests![
    labels_of_others_are_illegal,
    short_messages_are_truncated,
    numbers_have_a_limit,
    destinations_are_checked,
    lines_are_issued_once,
    the_last_handler_frees_the_line,
    revoking_the_control_frees_all,
    only_notifications_are_signalled,
    an_interrupt_is_a_signal,
    an_interrupt_comes_although_another_thread_faults,
    interrupts_come_again_and_again,
    masked_until_acknowledged,
    cleared_handlers_signal_no_thread,
    the_last_notification_set_is_signalled,
    interrupts_survive_a_dead_notification,
    interrupts_preempt_lower_priorities,
    copies_of_handlers_acknowledge,
    acknowledging_without_interrupt_is_harmless,
    #[cfg(not(target_arch = "x86_64"))]
    triggers_are_chosen_where_the_controller_can,
];

const CONTROL: IrqControl = IrqControl(CPtr(slots::IRQ_CONTROL));
/// An interrupt line that no device uses in these tests.
const LINE: usize = 60;
const BADGE: usize = 0x40;

/// One past the last interrupt line.
#[cfg(target_arch = "x86_64")]
const LINES: usize = 108;
#[cfg(not(target_arch = "x86_64"))]
const LINES: usize = userlib::board::INTERRUPTS;

fn call(object: impl Capability, method: Method, words: &[usize], caps: &[CPtr]) -> Result {
    invoke(object.cptr(), method.number(), words, caps).map(drop)
}

/// Issues the handler of a line: as an MSI, since that needs no device.
#[cfg(target_arch = "x86_64")]
fn get(line: usize, slot: Slot) -> Result {
    let device = userlib::cap::PciFunction {
        bus: 0,
        device: 0,
        function: 0,
    };
    CONTROL.get_msi(device, 0, line, slot)
}

/// Issues the handler of a line.
#[cfg(any(target_arch = "arm", target_arch = "aarch64"))]
fn get(line: usize, slot: Slot) -> Result {
    CONTROL.get(line, slot)
}

fn handler(test: &mut Test, line: usize) -> Result<IrqHandler> {
    let slot = test.empty_slot()?;
    get(line, slot)?;
    Ok(IrqHandler(CPtr(slot.index)))
}

/// A timer that signals a new notification.
fn timer(test: &mut Test) -> Result<(Timer, Notification)> {
    let timer = Timer::new(test)?;
    let notification: Notification = test.create()?;
    let badged = test.badge(notification, BADGE)?;
    timer.handler.set_notification(badged)?;
    Ok((timer, notification))
}

fn labels_of_others_are_illegal(test: &mut Test) -> Outcome {
    let handler = handler(test, LINE)?;
    for method in [
        Method::InvalidInvocation,
        Method::UntypedRetype,
        Method::CNodeDelete,
        Method::SchedContextBind,
    ] {
        for object in [handler.0, CONTROL.0] {
            let result = call(object, method, &[0; 8], &[handler.0]);
            check_eq!(result, Err(Error::IllegalOperation));
        }
    }
    let result = call(CONTROL, Method::IrqAckIrq, &[0; 8], &[handler.0]);
    check_eq!(result, Err(Error::IllegalOperation));
    Ok(())
}

/// The methods that issue handlers, and the number of words they need.
#[cfg(target_arch = "x86_64")]
const ISSUING: [(Method, usize); 2] = [
    (Method::X86IrqIssueIrqHandlerIoapic, 7),
    (Method::X86IrqIssueIrqHandlerMsi, 7),
];
/// The methods that issue handlers, and the number of words they need.
#[cfg(any(target_arch = "arm", target_arch = "aarch64"))]
const ISSUING: [(Method, usize); 3] = [
    (Method::IrqIssueIrqHandler, 3),
    (Method::ArmIrqIssueIrqHandlerTrigger, 4),
    (Method::ArmIrqIssueSgiSignal, 4),
];

fn short_messages_are_truncated(test: &mut Test) -> Outcome {
    let truncated = Err(Error::TruncatedMessage);
    let root = test.allocator.cnode().0;
    let here = |it: &(Method, usize)| it.0.checked_number().is_some();
    for (method, words) in ISSUING.into_iter().filter(here) {
        for length in 0..words {
            let result = call(CONTROL, method, &[0; 8][..length], &[root]);
            check_eq!(result, truncated);
        }
        check_eq!(call(CONTROL, method, &[0; 8], &[]), truncated);
    }
    let handler = handler(test, LINE)?;
    check_eq!(call(handler, Method::IrqSetIrqHandler, &[], &[]), truncated);
    Ok(())
}

fn numbers_have_a_limit(test: &mut Test) -> Outcome {
    let range = Err(Error::Range {
        minimum: 0,
        maximum: LINES - 1,
    });
    for line in [LINES, LINES + 1, 255, 0x1_0000, usize::MAX] {
        check_eq!(handler(test, line), range.map(|()| IrqHandler(CPtr::NULL)));
    }
    check!(handler(test, LINES - 1).is_ok());
    Ok(())
}

fn destinations_are_checked(test: &mut Test) -> Outcome {
    for (slot, expected) in test.destinations()? {
        check_eq!(get(LINE, slot), expected);
    }
    // That the line is taken is checked before the destination.
    check_eq!(get(LINE, test.nowhere()?), Err(Error::RevokeFirst));
    Ok(())
}

fn lines_are_issued_once(test: &mut Test) -> Outcome {
    let first = handler(test, LINE)?;
    check_eq!(handler(test, LINE), Err(Error::RevokeFirst));
    check!(handler(test, LINE + 1).is_ok());
    test.delete(first)?;
    check!(handler(test, LINE).is_ok());
    Ok(())
}

fn the_last_handler_frees_the_line(test: &mut Test) -> Outcome {
    let first = handler(test, LINE)?;
    let copy = test.copy(first)?;
    test.delete(first)?;
    check_eq!(handler(test, LINE), Err(Error::RevokeFirst));
    check_eq!(copy.ack(), Ok(()));
    test.delete(copy)?;
    check!(handler(test, LINE).is_ok());
    Ok(())
}

fn revoking_the_control_frees_all(test: &mut Test) -> Outcome {
    let (first, second) = (handler(test, LINE)?, handler(test, LINE + 1)?);
    check_eq!(test.slot(CONTROL).revoke(), Ok(()));
    check!(test.is_gone(first)?);
    check!(test.is_gone(second)?);
    check!(handler(test, LINE).is_ok());
    Ok(())
}

fn only_notifications_are_signalled(test: &mut Test) -> Outcome {
    let handler = handler(test, LINE)?;
    let endpoint: Endpoint = test.create()?;
    let notification: Notification = test.create()?;
    let silent = test.restrict(notification, Rights::READ)?;
    for object in [endpoint.0, silent.0, CPtr::NULL, handler.0] {
        let result = handler.set_notification(Notification(object));
        check_eq!(result, Err(Error::InvalidCapability(0)));
    }
    let writable = test.restrict(notification, Rights::WRITE)?;
    check_eq!(handler.set_notification(writable), Ok(()));
    check_eq!(handler.clear(), Ok(()));
    check_eq!(handler.clear(), Ok(()));
    Ok(())
}

fn an_interrupt_is_a_signal(test: &mut Test) -> Outcome {
    let (timer, notification) = timer(test)?;
    timer.start(2)?;
    check_eq!(notification.wait(), BADGE);
    timer.clear()?;
    check_eq!(timer.handler.ack(), Ok(()));
    Ok(())
}

/// A fault of another thread does not disturb the timer, even where that is lent to the thread that uses it.
fn an_interrupt_comes_although_another_thread_faults(test: &mut Test) -> Outcome {
    let (timer, notification) = timer(test)?;
    timer.start(2)?;
    // SAFETY: only faults.
    let faulting = test.watched(|| unsafe { crate::support::arch::undefined() })?;
    faulting.thread.start()?;
    check_eq!(notification.wait(), BADGE);
    timer.clear()?;
    check_eq!(timer.handler.ack(), Ok(()));
    Ok(())
}

fn interrupts_come_again_and_again(test: &mut Test) -> Outcome {
    let (timer, notification) = timer(test)?;
    for _ in 0..20 {
        timer.start(1)?;
        check_eq!(notification.wait(), BADGE);
        timer.clear()?;
        check_eq!(timer.handler.ack(), Ok(()));
    }
    Ok(())
}

fn masked_until_acknowledged(test: &mut Test) -> Outcome {
    let (timer, notification) = timer(test)?;
    timer.start(1)?;
    check_eq!(notification.wait(), BADGE);
    timer.clear()?;
    // The next interrupt is masked.
    timer.start(1)?;
    test.sleep(ms(20))?;
    check_eq!(notification.poll(), 0);
    timer.clear()?;
    check_eq!(timer.handler.ack(), Ok(()));
    timer.start(1)?;
    check_eq!(notification.wait(), BADGE);
    Ok(())
}

fn cleared_handlers_signal_no_thread(test: &mut Test) -> Outcome {
    let (timer, notification) = timer(test)?;
    check_eq!(timer.handler.clear(), Ok(()));
    timer.start(1)?;
    test.sleep(ms(20))?;
    check_eq!(notification.poll(), 0);
    // The interrupt without a notification has masked the line.
    timer.clear()?;
    timer.handler.set_notification(notification)?;
    let badged = test.badge(notification, 2)?;
    timer.handler.set_notification(badged)?;
    check_eq!(timer.handler.ack(), Ok(()));
    timer.start(1)?;
    check_eq!(notification.wait(), 2);
    Ok(())
}

fn the_last_notification_set_is_signalled(test: &mut Test) -> Outcome {
    let (timer, first) = timer(test)?;
    let second: Notification = test.create()?;
    let badged = test.badge(second, 5)?;
    check_eq!(timer.handler.set_notification(badged), Ok(()));
    timer.start(1)?;
    check_eq!(second.wait(), 5);
    check_eq!(first.poll(), 0);
    Ok(())
}

fn interrupts_survive_a_dead_notification(test: &mut Test) -> Outcome {
    let (timer, first) = timer(test)?;
    // The handler's own copy is deleted with the others.
    test.slot(first).revoke()?;
    test.delete(first)?;
    timer.start(1)?;
    test.sleep(ms(20))?;
    timer.clear()?;
    let second: Notification = test.create()?;
    let badged = test.badge(second, 3)?;
    timer.handler.set_notification(badged)?;
    timer.handler.ack()?;
    timer.start(1)?;
    check_eq!(second.wait(), 3);
    Ok(())
}

fn interrupts_preempt_lower_priorities(test: &mut Test) -> Outcome {
    let (timer, notification) = timer(test)?;
    test.spawn(ABOVE, move || {
        if notification.wait() == BADGE {
            note('i');
        }
    })?;
    check_eq!(noted(), "");
    timer.start(1)?;
    // The test never waits: it is interrupted.
    while crate::support::events::count() == 0 {
        relax();
    }
    check_eq!(noted(), "i");
    Ok(())
}

fn copies_of_handlers_acknowledge(test: &mut Test) -> Outcome {
    let (timer, notification) = timer(test)?;
    let copy = test.copy(timer.handler)?;
    for _ in 0..3 {
        timer.start(1)?;
        check_eq!(notification.wait(), BADGE);
        timer.clear()?;
        check_eq!(copy.ack(), Ok(()));
    }
    test.delete(copy)?;
    timer.start(1)?;
    check_eq!(notification.wait(), BADGE);
    Ok(())
}

fn acknowledging_without_interrupt_is_harmless(test: &mut Test) -> Outcome {
    let (timer, notification) = timer(test)?;
    for _ in 0..3 {
        check_eq!(timer.handler.ack(), Ok(()));
    }
    check_eq!(notification.poll(), 0);
    timer.start(1)?;
    check_eq!(notification.wait(), BADGE);
    Ok(())
}

#[cfg(not(target_arch = "x86_64"))]
fn triggers_are_chosen_where_the_controller_can(test: &mut Test) -> Outcome {
    for edge in [false, true] {
        let slot = test.empty_slot()?;
        let result = CONTROL.get_with_trigger(LINE, edge, slot);
        if userlib::board::HAS_TRIGGERS {
            check_eq!(result, Ok(()));
            test.delete(IrqHandler(CPtr(slot.index)))?;
        } else {
            check_eq!(result, Err(Error::IllegalOperation));
        }
    }
    Ok(())
}
