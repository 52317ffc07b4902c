//! The serial port.
//!
//! Section numbers are those of chapter 64 of the *i.MX 6Dual/6Quad Applications Processor Reference
//! Manual* (IMX6DQRM). The registers used here are the same in the chapter "Universal Asynchronous
//! Receiver/Transmitters (UART)" of the *MCIMX31 and MCIMX31L Applications Processors Reference Manual*
//! (MCIMX31RM). Baud rate and pins are left as the boot loader set them.

use tock_registers::interfaces::{ReadWriteable, Readable, Writeable};
use tock_registers::registers::{ReadOnly, ReadWrite, WriteOnly};
use tock_registers::{register_bitfields, register_structs};

use crate::mmio::Mmio;

register_bitfields! { u32,
    /// Control register 1 (section 64.15.3).
    UCR1 [
        /// The port is on.
        UARTEN OFFSET(0) NUMBITS(1) []
    ],
    /// Control register 2 (section 64.15.4).
    UCR2 [
        /// The transmitter is on.
        TXEN OFFSET(2) NUMBITS(1) [],
        /// The receiver is on.
        RXEN OFFSET(1) NUMBITS(1) [],
        /// Not in reset.
        SRST OFFSET(0) NUMBITS(1) []
    ],
    /// Test register, which reports the state of the queues (section 64.15.16).
    UTS [
        /// The transmit queue is full.
        TXFULL OFFSET(4) NUMBITS(1) []
    ]
}

register_structs! {
    /// The registers (section 64.15).
    Registers {
        (0x00 => _receiver),
        (0x40 => transmitter: WriteOnly<u32>),
        (0x44 => _reserved0),
        (0x80 => ucr1: ReadWrite<u32, UCR1::Register>),
        (0x84 => ucr2: ReadWrite<u32, UCR2::Register>),
        (0x88 => _reserved1),
        (0xb4 => uts: ReadOnly<u32, UTS::Register>),
        (0xb8 => @END),
    }
}

/// A serial port, for output.
#[derive(Debug)]
pub struct Uart(Mmio<Registers>);

// SAFETY: a port accepts single bytes from any core.
unsafe impl Sync for Uart {}

impl Uart {
    /// The port at `address`.
    ///
    /// # Safety
    /// The registers of a port are at `address`.
    pub const unsafe fn at(address: usize) -> Self {
        // SAFETY: by contract.
        Self(unsafe { Mmio::at(address) })
    }

    /// Enables the port.
    pub fn start(&self) {
        self.0.ucr1.modify(UCR1::UARTEN::SET);
        self.0
            .ucr2
            .modify(UCR2::SRST::SET + UCR2::TXEN::SET + UCR2::RXEN::SET);
    }

    /// Sends one byte, as soon as the queue has room for it.
    pub fn put_byte(&self, byte: u8) {
        while self.0.uts.is_set(UTS::TXFULL) {
            core::hint::spin_loop();
        }
        self.0.transmitter.set(byte.into());
    }
}
