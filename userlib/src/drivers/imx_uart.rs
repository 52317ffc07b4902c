//! The second serial port of i.MX boards (i.MX 6Dual/6Quad reference manual, chapter 64; MCIMX31
//! reference manual, chapter "Universal Asynchronous Receiver/Transmitters (UART)"), without
//! interrupts. The first one is the kernel's console.

use crate::board::UART2;
use crate::{Environment, Result, arch};
use tock_registers::interfaces::{Readable, Writeable};
use tock_registers::registers::{ReadOnly, ReadWrite, WriteOnly};
use tock_registers::{register_bitfields, register_structs};

register_bitfields! [u32,
    Receive [
        DATA OFFSET(0) NUMBITS(8) [],
        READY OFFSET(15) NUMBITS(1) []
    ],
    Control1 [
        ENABLE OFFSET(0) NUMBITS(1) []
    ],
    Control2 [
        /// Zero resets.
        NO_RESET OFFSET(0) NUMBITS(1) [],
        RECEIVER OFFSET(1) NUMBITS(1) [],
        TRANSMITTER OFFSET(2) NUMBITS(1) [],
        EIGHT_BITS OFFSET(5) NUMBITS(1) [],
        IGNORE_RTS OFFSET(14) NUMBITS(1) []
    ],
    Test [
        TRANSMIT_FULL OFFSET(4) NUMBITS(1) []
    ]
];

register_structs! {
    Registers {
        (0x00 => receive: ReadOnly<u32, Receive::Register>),
        (0x04 => _reserved0),
        (0x40 => transmit: WriteOnly<u32>),
        (0x44 => _reserved1),
        (0x80 => control1: ReadWrite<u32, Control1::Register>),
        (0x84 => control2: ReadWrite<u32, Control2::Register>),
        (0x88 => _reserved2),
        (0xb4 => test: ReadOnly<u32, Test::Register>),
        (0xb8 => @END),
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
        registers.control1.write(Control1::ENABLE::SET);
        registers.control2.write(
            Control2::NO_RESET::SET
                + Control2::RECEIVER::SET
                + Control2::TRANSMITTER::SET
                + Control2::EIGHT_BITS::SET
                + Control2::IGNORE_RTS::SET,
        );
        Ok(Self { registers })
    }

    /// Writes a byte; waits while the transmit queue is full.
    pub fn write(&self, byte: u8) -> Result {
        while self.registers.test.is_set(Test::TRANSMIT_FULL) {
            arch::relax();
        }
        self.registers.transmit.set(byte as u32);
        Ok(())
    }

    /// Reads a byte, if one was received.
    pub fn read(&self) -> Result<Option<u8>> {
        let receive = self.registers.receive.extract();
        let ready = receive.is_set(Receive::READY);
        Ok(ready.then(|| receive.read(Receive::DATA) as u8))
    }
}
