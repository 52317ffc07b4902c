//! Interrupts: delivered as signals.

use super::{Capability, Notification, Slot, capability};
use crate::Result;
use crate::invoke::{label, perform};

capability! {
    /// The right to make interrupt handlers.
    IrqControl
}

capability! {
    /// The right to one interrupt.
    IrqHandler
}

impl IrqControl {
    /// Puts the handler of interrupt `irq` into `destination`.
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
    /// Lets the next interrupt come.
    pub fn ack(self) -> Result {
        perform(self.0, label!(IrqAckIrq), &[], &[])
    }

    /// Signals `notification` at every interrupt.
    pub fn set_notification(self, notification: Notification) -> Result {
        perform(
            self.0,
            label!(IrqSetIrqHandler),
            &[],
            &[notification.cptr()],
        )
    }

    /// Signals nobody any more.
    pub fn clear(self) -> Result {
        perform(self.0, label!(IrqClearIrqHandler), &[], &[])
    }
}
