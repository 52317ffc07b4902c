//! Software-generated interrupts on Arm between cores: debug kernels raise them for any thread.

use crate::check_eq;
use crate::support::{Outcome, Test};
use abi::slots;
use userlib::cap::{IrqControl, IrqHandler, Notification};
use userlib::{CPtr, syscall};

tests![
    if abi::config::SMP;
    software_interrupts_come_to_their_core,
    software_interrupts_that_are_not_there_do_nothing,
];

const CONTROL: IrqControl = IrqControl(CPtr(slots::IRQ_CONTROL));
/// A software-generated interrupt without another user.
const SIGNAL: usize = 5;

/// A handler for the interrupt on a core, with a notification.
fn listen(test: &mut Test, core: usize) -> Outcome<(IrqHandler, Notification)> {
    let slot = test.empty_slot()?;
    CONTROL.get_with_trigger_core(SIGNAL, true, core, slot)?;
    let handler = IrqHandler(CPtr(slot.index));
    let notification: Notification = test.create()?;
    handler.set_notification(test.badge(notification, 1 << core)?)?;
    Ok((handler, notification))
}

fn software_interrupts_come_to_their_core(test: &mut Test) -> Outcome {
    let (own, here) = listen(test, 0)?;
    for core in test.secondary_cores() {
        let (handler, there) = listen(test, core)?;
        for _ in 0..3 {
            syscall::debug_send_ipi(core, SIGNAL);
            check_eq!(there.wait(), 1 << core);
            handler.ack()?;
            check_eq!(here.poll(), 0);
            syscall::debug_send_ipi(0, SIGNAL);
            check_eq!(here.wait(), 1);
            own.ack()?;
            check_eq!(there.poll(), 0);
        }
    }
    Ok(())
}

fn software_interrupts_that_are_not_there_do_nothing(test: &mut Test) -> Outcome {
    let (_, here) = listen(test, 0)?;
    let cores = test.boot_info().nodes;
    for (core, number) in [
        (cores, SIGNAL),
        (usize::MAX, SIGNAL),
        (0, 16),
        (0, usize::MAX),
    ] {
        syscall::debug_send_ipi(core, number);
    }
    check_eq!(here.poll(), 0);
    Ok(())
}
