//! The second serial port of PCs, a 16550 (National Semiconductor data sheet), without interrupts.
//! The first one is the kernel's console.

use crate::cap::IoPort;
use crate::{CPtr, Capability, Environment, Result, arch, boot};

/// The first of the port's eight registers.
const BASE: u16 = 0x2f8;
const DATA: u16 = BASE;
const INTERRUPT_ENABLE: u16 = BASE + 1;
const FIFO_CONTROL: u16 = BASE + 2;
const LINE_CONTROL: u16 = BASE + 3;
const LINE_STATUS: u16 = BASE + 5;

/// Line status: a received byte is available.
const RECEIVED: u8 = 1;
/// Line status: the transmit register is free.
const READY: u8 = 1 << 5;

/// A serial port, at its preconfigured speed.
#[derive(Clone, Copy, Debug)]
pub struct Serial {
    ports: IoPort,
}

impl Serial {
    /// Opens the port.
    pub fn open(environment: &mut Environment) -> Result<Self> {
        let slot = environment.allocator.allocate_slot()?;
        boot::IO_PORT_CONTROL.issue(BASE, BASE + 7, slot)?;
        let ports = IoPort::at(CPtr(slot.index));
        ports.out8(INTERRUPT_ENABLE, 0)?;
        // Eight bits, no parity, one stop bit; FIFOs enabled and cleared.
        ports.out8(LINE_CONTROL, 3)?;
        ports.out8(FIFO_CONTROL, 7)?;
        Ok(Self { ports })
    }

    /// Writes a byte; waits while the transmit register is in use.
    pub fn write(&self, byte: u8) -> Result {
        while self.ports.in8(LINE_STATUS)? & READY == 0 {
            arch::relax();
        }
        self.ports.out8(DATA, byte)
    }

    /// Reads a byte, if one was received.
    pub fn read(&self) -> Result<Option<u8>> {
        if self.ports.in8(LINE_STATUS)? & RECEIVED == 0 {
            return Ok(None);
        }
        self.ports.in8(DATA).map(Some)
    }
}
