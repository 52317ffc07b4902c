//! The serial port PrimeCell PL011.
//!
//! Section numbers are those of the *PrimeCell UART (PL011) Technical Reference Manual* (DDI 0183).
//! Baud rate and line format are left as the boot loader set them.

use tock_registers::interfaces::{ReadWriteable, Readable, Writeable};
use tock_registers::registers::{ReadOnly, ReadWrite};
use tock_registers::{register_bitfields, register_structs};

use crate::mmio::Mmio;

register_bitfields! { u32,
    /// Flags (section 3.3.3).
    FR [
        /// The transmit queue is full.
        TXFF OFFSET(5) NUMBITS(1) []
    ],
    /// Control (section 3.3.8).
    CR [
        /// The receiver is on.
        RXE OFFSET(9) NUMBITS(1) [],
        /// The transmitter is on.
        TXE OFFSET(8) NUMBITS(1) [],
        /// The port is on.
        UARTEN OFFSET(0) NUMBITS(1) []
    ]
}

register_structs! {
    /// The registers (section 3.2).
    Registers {
        (0x00 => dr: ReadWrite<u32>),
        (0x04 => _reserved0),
        (0x18 => fr: ReadOnly<u32, FR::Register>),
        (0x1c => _reserved1),
        (0x30 => cr: ReadWrite<u32, CR::Register>),
        (0x34 => @END),
    }
}

/// A serial port, for output.
#[derive(Debug)]
pub struct Pl011(Mmio<Registers>);

// SAFETY: a port accepts single bytes from any core.
unsafe impl Sync for Pl011 {}

impl Pl011 {
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
        self.0
            .cr
            .modify(CR::UARTEN::SET + CR::TXE::SET + CR::RXE::SET);
    }

    /// Sends one byte, as soon as the queue has room for it.
    pub fn put_byte(&self, byte: u8) {
        while self.0.fr.is_set(FR::TXFF) {
            core::hint::spin_loop();
        }
        self.0.dr.set(byte.into());
    }
}
