//! i.MX processors: the first enhanced periodic interrupt timer.

pub use userlib::board::EPIT1_INTERRUPT as LINE;
use userlib::cap::{IrqControl, IrqHandler};
use userlib::epit::Epit;
use userlib::{CPtr, Capability, Result};

use crate::support::{Test, protocol::names};

/// Ticks of the kernel's clock in a millisecond: of the general purpose timer, or of the global timer of the
/// Cortex-A9 as QEMU implements it.
pub const KERNEL_KILOHERTZ: u64 = if cfg!(feature = "devices-imx31") {
    39_000
} else {
    100_000
};

/// The timer.
pub struct Timer {
    epit: Epit,
    /// The handler of its interrupt.
    pub handler: IrqHandler,
}

impl Timer {
    /// Stops the timer, and issues the handler of its interrupt.
    pub fn new(test: &mut Test) -> Result<Self> {
        let epit = Epit::shared(test.startup.shared(names::TIMER));
        epit.stop();
        let handler = test.empty_slot()?;
        IrqControl(CPtr(abi::slots::IRQ_CONTROL)).get(LINE, handler)?;
        Ok(Self {
            epit,
            handler: IrqHandler::at(CPtr(handler.index)),
        })
    }

    /// Raises an interrupt after some milliseconds.
    pub fn start(&self, milliseconds: usize) -> Result {
        self.epit.start(milliseconds as u32 * 1000);
        Ok(())
    }

    /// Prepares the device for the next interrupt, after [`start`](Self::start).
    pub fn clear(&self) -> Result {
        self.epit.stop();
        Ok(())
    }
}
