//! The second serial port of Zynq UltraScale+ processors, a Cadence UART, without interrupts (UG1085,
//! chapter "UART Controller"; UG1087, module UART).

use crate::board::UART2;
use crate::{Environment, Result, arch};
use tock_registers::interfaces::{Readable, Writeable};
use tock_registers::registers::{ReadOnly, ReadWrite};
use tock_registers::{register_bitfields, register_structs};

register_bitfields! [u32,
    Control [
        RECEIVER OFFSET(2) NUMBITS(1) [],
        TRANSMITTER OFFSET(4) NUMBITS(1) []
    ],
    Status [
        RECEIVE_EMPTY OFFSET(1) NUMBITS(1) [],
        TRANSMIT_FULL OFFSET(4) NUMBITS(1) []
    ]
];

register_structs! {
    Registers {
        (0x00 => control: ReadWrite<u32, Control::Register>),
        (0x04 => _reserved0),
        (0x2c => status: ReadOnly<u32, Status::Register>),
        (0x30 => queue: ReadWrite<u32>),
        (0x34 => @END),
    }
}

/// A serial port, at its preconfigured speed.
#[derive(Clone, Copy)]
pub struct Serial {
    registers: &'static Registers,
}

impl Serial {
    /// Opens the port.
    pub fn open(environment: &mut Environment) -> Result<Self> {
        let (_, address) = environment.map_device(UART2)?;
        // SAFETY: the page of the port's registers is mapped there permanently.
        let registers = unsafe { &*(address as *const Registers) };
        registers
            .control
            .write(Control::TRANSMITTER::SET + Control::RECEIVER::SET);
        Ok(Self { registers })
    }

    /// Writes a byte; waits while the transmit queue is full.
    pub fn write(&self, byte: u8) -> Result {
        while self.registers.status.is_set(Status::TRANSMIT_FULL) {
            arch::relax();
        }
        self.registers.queue.set(byte as u32);
        Ok(())
    }

    /// Reads a byte, if one was received.
    pub fn read(&self) -> Result<Option<u8>> {
        let empty = self.registers.status.is_set(Status::RECEIVE_EMPTY);
        Ok((!empty).then(|| self.registers.queue.get() as u8))
    }
}
