//! The serial port of QEMU's machine virt (PrimeCell UART PL011, DDI 0183), without interrupts. The
//! kernel's console is the same port.

use crate::board::UART;
use crate::{Environment, Result, arch};
use tock_registers::interfaces::{Readable, Writeable};
use tock_registers::registers::{ReadOnly, ReadWrite};
use tock_registers::{register_bitfields, register_structs};

register_bitfields! [u32,
    Flags [
        RECEIVE_EMPTY OFFSET(4) NUMBITS(1) [],
        TRANSMIT_FULL OFFSET(5) NUMBITS(1) []
    ],
    Control [
        ENABLE OFFSET(0) NUMBITS(1) [],
        TRANSMITTER OFFSET(8) NUMBITS(1) [],
        RECEIVER OFFSET(9) NUMBITS(1) []
    ]
];

register_structs! {
    Registers {
        (0x00 => data: ReadWrite<u32>),
        (0x04 => _reserved0),
        (0x18 => flags: ReadOnly<u32, Flags::Register>),
        (0x1c => _reserved1),
        (0x30 => control: ReadWrite<u32, Control::Register>),
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
        let (_, address) = environment.map_device(UART)?;
        // SAFETY: the page of the port's registers is mapped there permanently.
        let registers = unsafe { &*(address as *const Registers) };
        registers
            .control
            .write(Control::ENABLE::SET + Control::TRANSMITTER::SET + Control::RECEIVER::SET);
        Ok(Self { registers })
    }

    /// Writes a byte; waits while the transmit queue is full.
    pub fn write(&self, byte: u8) -> Result {
        while self.registers.flags.is_set(Flags::TRANSMIT_FULL) {
            arch::relax();
        }
        self.registers.data.set(byte as u32);
        Ok(())
    }

    /// Reads a byte, if one was received.
    pub fn read(&self) -> Result<Option<u8>> {
        let empty = self.registers.flags.is_set(Flags::RECEIVE_EMPTY);
        Ok((!empty).then(|| self.registers.data.get() as u8))
    }
}
