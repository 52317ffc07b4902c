//! PCs: channel 0 of the programmable interval timer (Intel 8254), at input 2 of the I/O APIC.

use userlib::cap::{IoApicPin, IoPort, IoPortControl, IrqControl, IrqHandler};
use userlib::{CPtr, Capability, Result};

use crate::support::Test;

/// Counts of the time stamp counter in a millisecond, in virtual time.
pub const KERNEL_KILOHERTZ: u64 = 1_000_000;

/// The timer.
pub struct Timer {
    ports: IoPort,
    /// The handler of its interrupt.
    pub handler: IrqHandler,
}

impl Timer {
    const CHANNEL: u16 = 0x40;
    const CONTROL: u16 = 0x43;
    const PIN: IoApicPin = IoApicPin {
        io_apic: 0,
        pin: 2,
        level: false,
        active_low: false,
    };
    const VECTOR: usize = 20;

    /// Issues the timer's ports and the handler of its interrupt.
    pub fn new(test: &mut Test) -> Result<Self> {
        let ports = test.empty_slot()?;
        let control = IoPortControl(CPtr(abi::slots::IO_PORT_CONTROL));
        control.issue(Self::CHANNEL, Self::CONTROL, ports)?;
        let handler = test.empty_slot()?;
        let control = IrqControl(CPtr(abi::slots::IRQ_CONTROL));
        control.get_io_apic(Self::PIN, Self::VECTOR, handler)?;
        Ok(Self {
            ports: IoPort::at(CPtr(ports.index)),
            handler: IrqHandler::at(CPtr(handler.index)),
        })
    }

    /// Raises one interrupt after some milliseconds (at most 50).
    pub fn start(&self, milliseconds: usize) -> Result {
        let [low, high, ..] = (milliseconds * 1193).to_le_bytes();
        // Mode 0: the output rises at the end of the count.
        self.ports.out8(Self::CONTROL, 0x30)?;
        self.ports.out8(Self::CHANNEL, low)?;
        self.ports.out8(Self::CHANNEL, high)
    }

    /// Prepares the device for the next interrupt.
    pub fn clear(&self) -> Result {
        Ok(())
    }
}
