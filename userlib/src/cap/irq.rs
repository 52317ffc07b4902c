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

/// A line of the interrupt controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// The number by which the kernel knows it.
    pub number: usize,
    /// On PCs the input of the first I/O APIC.
    pub pin: usize,
    /// Whether its interrupt comes when it becomes active, not as long as it is.
    pub edge: bool,
    /// The core whose line it is, if each core has one of this number.
    pub core: usize,
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
