//! Interrupts: delivered as signals.

use super::{Capability, Notification, Slot, capability};
use crate::Result;
use crate::invoke::{label, perform};

capability! {
    /// The right to issue interrupt handlers.
    IrqControl
}

capability! {
    /// The right to one interrupt.
    IrqHandler
}

impl IrqControl {
    /// Issues the handler of interrupt `irq` into `destination`.
    pub fn get(self, irq: usize, destination: Slot) -> Result {
        perform(
            self.0,
            label!(IrqIssueIrqHandler),
            &[irq, destination.index, destination.depth],
            &[destination.root.cptr()],
        )
    }
}

impl IrqHandler {
    /// Acknowledges the interrupt and unmasks it.
    pub fn ack(self) -> Result {
        perform(self.0, label!(IrqAckIrq), &[], &[])
    }

    /// Makes each interrupt signal `notification`.
    pub fn set_notification(self, notification: Notification) -> Result {
        perform(
            self.0,
            label!(IrqSetIrqHandler),
            &[],
            &[notification.cptr()],
        )
    }

    /// Removes the notification.
    pub fn clear(self) -> Result {
        perform(self.0, label!(IrqClearIrqHandler), &[], &[])
    }
}
