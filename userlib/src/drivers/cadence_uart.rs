//! The second serial port of Zynq UltraScale+ processors, a Cadence UART (UG1085, chapter "UART
//! Controller"; UG1087, module UART).

use crate::given;
use tock_registers::interfaces::{Readable, Writeable};
use tock_registers::registers::{ReadOnly, ReadWrite, WriteOnly};
use tock_registers::{register_bitfields, register_structs};

register_bitfields! [u32,
    Control [
        RECEIVER OFFSET(2) NUMBITS(1) [],
        TRANSMITTER OFFSET(4) NUMBITS(1) []
    ],
    Status [
        /// In the queue are as many bytes as its trigger says.
        RECEIVE_TRIGGER OFFSET(0) NUMBITS(1) [],
        RECEIVE_EMPTY OFFSET(1) NUMBITS(1) [],
        TRANSMIT_EMPTY OFFSET(3) NUMBITS(1) [],
        TRANSMIT_FULL OFFSET(4) NUMBITS(1) []
    ]
];

register_structs! {
    Registers {
        (0x00 => control: ReadWrite<u32, Control::Register>),
        (0x04 => _reserved0),
        (0x08 => enable: WriteOnly<u32, Status::Register>),
        (0x0c => disable: WriteOnly<u32, Status::Register>),
        (0x10 => _reserved1),
        // Writing one clears.
        (0x14 => interrupts: ReadWrite<u32, Status::Register>),
        (0x18 => _reserved2),
        (0x20 => receive_trigger: ReadWrite<u32>),
        (0x24 => _reserved3),
        (0x2c => status: ReadOnly<u32, Status::Register>),
        (0x30 => queue: ReadWrite<u32>),
        (0x34 => @END),
    }
}

/// A serial port, at its preconfigured speed.
pub struct Serial(&'static Registers);

impl Serial {
    /// The port of a device; its interrupt is off.
    pub fn new(device: given::Registers) -> Self {
        // SAFETY: the place is one of registers that stay mapped, and only this port uses them.
        let registers = unsafe { &*device.place::<Registers>(0) };
        registers.disable.set(u32::MAX);
        registers.receive_trigger.set(1);
        registers
            .control
            .write(Control::TRANSMITTER::SET + Control::RECEIVER::SET);
        Self(registers)
    }

    /// Writes a byte if there is room; returns whether there was.
    pub fn write(&self, byte: u8) -> bool {
        let is_full = self.0.status.is_set(Status::TRANSMIT_FULL);
        if !is_full {
            self.0.queue.set(byte.into());
        }
        !is_full
    }

    /// Reads a byte, if one was received.
    pub fn read(&self) -> Option<u8> {
        let is_empty = self.0.status.is_set(Status::RECEIVE_EMPTY);
        (!is_empty).then(|| self.0.queue.get() as u8)
    }

    /// Sets whether there is an interrupt when there is room again; there is then none for received bytes.
    pub fn set_interrupt(&self, wanted: bool) {
        if wanted {
            self.0.disable.write(Status::RECEIVE_TRIGGER::SET);
            self.0.enable.write(Status::TRANSMIT_EMPTY::SET);
            return;
        }
        self.0.disable.write(Status::TRANSMIT_EMPTY::SET);
        // It stays until it is cleared, and comes when the queue becomes empty, not as long as it is: cleared
        // when it is wanted, that of a queue that is empty already would be lost.
        self.0.interrupts.write(Status::TRANSMIT_EMPTY::SET);
    }

    /// Sets whether there is an interrupt when a byte was received; there is then none when there is room again.
    pub fn set_receive_interrupt(&self, wanted: bool) {
        self.0
            .disable
            .write(Status::TRANSMIT_EMPTY::SET + Status::RECEIVE_TRIGGER::SET);
        // It stays until it is cleared, and comes again as long as there is a byte.
        self.0.interrupts.write(Status::RECEIVE_TRIGGER::SET);
        if wanted {
            self.0.enable.write(Status::RECEIVE_TRIGGER::SET);
        }
    }
}
