//! The serial port of Xilinx' Zynq processors, a Cadence UART.
//!
//! *Zynq UltraScale+ Device Technical Reference Manual* (UG1085), chapter "UART Controller"; the
//! registers are those of *Zynq UltraScale+ Devices Register Reference* (UG1087), module UART. Baud rate
//! and line format are left as the boot loader set them.

use tock_registers::interfaces::{Readable, Writeable};
use tock_registers::registers::{ReadOnly, ReadWrite};
use tock_registers::{register_bitfields, register_structs};

use crate::mmio::Mmio;

register_bitfields! { u32,
    /// Control (register `Control`).
    CONTROL [
        /// The transmitter is on.
        TXEN OFFSET(4) NUMBITS(1) [],
        /// The receiver is on.
        RXEN OFFSET(2) NUMBITS(1) []
    ],
    /// Status (register `Channel_sts`).
    STATUS [
        /// The transmit queue is full.
        TFUL OFFSET(4) NUMBITS(1) []
    ]
}

register_structs! {
    /// The registers.
    Registers {
        (0x00 => control: ReadWrite<u32, CONTROL::Register>),
        (0x04 => _reserved0),
        (0x2c => status: ReadOnly<u32, STATUS::Register>),
        (0x30 => fifo: ReadWrite<u32>),
        (0x34 => @END),
    }
}

/// A serial port, for output.
#[derive(Debug)]
pub struct CadenceUart(Mmio<Registers>);

// SAFETY: a port accepts single bytes from any core.
unsafe impl Sync for CadenceUart {}

impl CadenceUart {
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
            .control
            .write(CONTROL::TXEN::SET + CONTROL::RXEN::SET);
    }

    /// Sends one byte, as soon as the queue has room for it.
    pub fn put_byte(&self, byte: u8) {
        while self.0.status.is_set(STATUS::TFUL) {
            core::hint::spin_loop();
        }
        self.0.fifo.set(byte.into());
    }
}
