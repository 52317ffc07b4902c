//! Arm cores with the generic timer: the physical timer, which the kernel leaves to users with the option
//! `user-timer`.

pub use userlib::board::PHYSICAL_TIMER_INTERRUPT as LINE;
use userlib::cap::{IrqControl, IrqHandler};
use userlib::{CPtr, Capability, Result, arch};

use crate::support::Test;

/// Counts of the generic timer in a millisecond, as QEMU implements it; the kernel's clock is its virtual
/// counter.
pub const KERNEL_KILOHERTZ: u64 = 62_500;

/// The timer.
pub struct Timer {
    /// The handler of its interrupt.
    pub handler: IrqHandler,
}

impl Timer {
    /// Stops the timer, and issues the handler of its interrupt.
    pub fn new(test: &mut Test) -> Result<Self> {
        arch::set_physical_timer(None);
        let handler = test.empty_slot()?;
        let control = IrqControl(CPtr(abi::slots::IRQ_CONTROL));
        control.get(LINE, handler)?;
        Ok(Self {
            handler: IrqHandler::at(CPtr(handler.index)),
        })
    }

    /// Raises an interrupt after some milliseconds.
    pub fn start(&self, milliseconds: usize) -> Result {
        let counts = milliseconds as u64 * arch::timer_frequency() / 1000;
        arch::set_physical_timer(Some(counts));
        Ok(())
    }

    /// Prepares the device for the next interrupt, after [`start`](Self::start).
    pub fn clear(&self) -> Result {
        arch::set_physical_timer(None);
        Ok(())
    }
}
