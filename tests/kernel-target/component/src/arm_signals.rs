//! Software-generated interrupts on Arm; single-core kernels issue the capability.

use crate::support::events::{note, noted};
use crate::support::{ABOVE, INVALID_ROOT, Outcome, Test, range};
use crate::{check, check_eq};
use abi::{WORD_BITS, slots};
use userlib::cap::{Endpoint, IrqControl, IrqHandler, Notification, Slot};
use userlib::invoke::invoke;
use userlib::{CPtr, Error, Message, Result, syscall};

tests![
    if !abi::config::SMP;
    signals_have_limits,
    signals_check_their_slot,
    signals_are_issued_again_and_again,
    a_signal_interrupts,
    signals_are_sent_whatever_the_message_is,
    signals_are_children_of_the_control,
];

const CONTROL: IrqControl = IrqControl(CPtr(slots::IRQ_CONTROL));
/// A software-generated interrupt without another user.
const SIGNAL: usize = 5;

fn signals_have_limits(test: &mut Test) -> Outcome {
    let (slot, nowhere) = (test.empty_slot()?, test.nowhere()?);
    for number in [16, 17, usize::MAX] {
        // The checks come in this order: number, core, slot.
        let result = CONTROL.issue_sgi_signal(number, usize::MAX, nowhere);
        check_eq!(result, range(0, 15));
    }
    // GICv2 can address 8 cores, GICv3 16 of each cluster.
    let refused = Err(Error::InvalidArgument(1));
    let targets =
        (0..16).find(|&target| CONTROL.issue_sgi_signal(SIGNAL, target, nowhere) == refused);
    if cfg!(target_arch = "arm") {
        check_eq!(targets, Some(8));
    } else {
        check!(targets.is_none_or(|targets| targets == 8));
    }
    for target in [targets.unwrap_or(16), 16, 17, usize::MAX] {
        let result = CONTROL.issue_sgi_signal(SIGNAL, target, nowhere);
        check_eq!(result, Err(Error::InvalidArgument(1)));
    }
    for number in [0, 15] {
        check_eq!(CONTROL.issue_sgi_signal(number, 0, slot), Ok(()));
        slot.delete()?;
    }
    Ok(())
}

fn signals_check_their_slot(test: &mut Test) -> Outcome {
    let (slot, nowhere) = (test.empty_slot()?, test.nowhere()?);
    check_eq!(CONTROL.issue_sgi_signal(SIGNAL, 0, nowhere), INVALID_ROOT);
    for depth in [0, WORD_BITS + 1] {
        let result = CONTROL.issue_sgi_signal(SIGNAL, 0, Slot { depth, ..slot });
        check_eq!(result, range(1, WORD_BITS));
    }
    let endpoint: Endpoint = test.create()?;
    let full = test.slot(endpoint);
    check_eq!(
        CONTROL.issue_sgi_signal(SIGNAL, 0, full),
        Err(Error::DeleteFirst)
    );
    Ok(())
}

/// The capability to raise the interrupt.
fn signal(test: &mut Test) -> Result<Endpoint> {
    let slot = test.empty_slot()?;
    CONTROL.issue_sgi_signal(SIGNAL, 0, slot)?;
    // It is not an endpoint, but a send to it raises the interrupt.
    Ok(Endpoint(CPtr(slot.index)))
}

/// A handler for the interrupt, with a notification.
fn listen(test: &mut Test) -> Result<(IrqHandler, Notification)> {
    let slot = test.empty_slot()?;
    CONTROL.get(SIGNAL, slot)?;
    let handler = IrqHandler(CPtr(slot.index));
    let notification: Notification = test.create()?;
    let badged = test.badge(notification, 3)?;
    handler.set_notification(badged)?;
    Ok((handler, notification))
}

fn signals_are_issued_again_and_again(test: &mut Test) -> Outcome {
    // Issuing them does not take the line: its handler can still be issued.
    let (first, second) = (signal(test)?, signal(test)?);
    let copy = test.copy(first)?;
    let (handler, notification) = listen(test)?;
    for sender in [first, second, copy] {
        sender.send(Message::empty(0));
        check_eq!(notification.wait(), 3);
        handler.ack()?;
    }
    Ok(())
}

fn a_signal_interrupts(test: &mut Test) -> Outcome {
    let sender = signal(test)?;
    let (_, notification) = listen(test)?;
    test.spawn(ABOVE, move || {
        if notification.wait() == 3 {
            note('i');
        }
    })?;
    check_eq!(noted(), "");
    sender.send(Message::empty(0));
    check_eq!(noted(), "i");
    Ok(())
}

fn signals_are_sent_whatever_the_message_is(test: &mut Test) -> Outcome {
    let sender = signal(test)?;
    let (handler, notification) = listen(test)?;
    for label in [0, 1, abi::Method::CNodeDelete.number(), 0xfffff] {
        check_eq!(invoke(sender.0, label, &[1, 2], &[]).map(drop), Ok(()));
        check_eq!(notification.wait(), 3);
        handler.ack()?;
        sender.nb_send(Message::empty(label));
        check_eq!(notification.wait(), 3);
        handler.ack()?;
    }
    // The same in the first phase of a combined call.
    let received = syscall::nb_send_wait(sender.0, Message::empty(0), notification.0);
    check_eq!(received.badge, 3);
    check!(received.message.is_none());
    Ok(())
}

fn signals_are_children_of_the_control(test: &mut Test) -> Outcome {
    let sender = signal(test)?;
    test.slot(CONTROL).revoke()?;
    check!(test.is_gone(sender)?);
    Ok(())
}
