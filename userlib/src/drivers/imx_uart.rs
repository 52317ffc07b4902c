//! The second serial port of i.MX boards (i.MX 6Dual/6Quad reference manual, chapter 64; MCIMX31
//! reference manual, chapter "Universal Asynchronous Receiver/Transmitters (UART)"). The first one is the
//! kernel's console.

use crate::given;
use tock_registers::interfaces::{Readable, Writeable};
use tock_registers::registers::{ReadOnly, ReadWrite, WriteOnly};
use tock_registers::{register_bitfields, register_structs};

register_bitfields! [u32,
    Receive [
        DATA OFFSET(0) NUMBITS(8) [],
        READY OFFSET(15) NUMBITS(1) []
    ],
    Control1 [
        ENABLE OFFSET(0) NUMBITS(1) [],
        /// Interrupts when a byte was received.
        RECEIVER_READY OFFSET(9) NUMBITS(1) [],
        /// Interrupts when the transmit queue has room.
        TRANSMITTER_READY OFFSET(13) NUMBITS(1) []
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
pub struct Serial(&'static Registers);

impl Serial {
    /// The port of a device; its interrupt is off.
    pub fn new(device: given::Registers) -> Self {
        // SAFETY: the place is one of registers that stay mapped, and only this port uses them.
        let registers = unsafe { &*device.place::<Registers>(0) };
        registers.control1.write(Control1::ENABLE::SET);
        registers.control2.write(
            Control2::NO_RESET::SET
                + Control2::RECEIVER::SET
                + Control2::TRANSMITTER::SET
                + Control2::EIGHT_BITS::SET
                + Control2::IGNORE_RTS::SET,
        );
        Self(registers)
    }

    /// Writes a byte if there is room; returns whether there was.
    pub fn write(&self, byte: u8) -> bool {
        let is_full = self.0.test.is_set(Test::TRANSMIT_FULL);
        if !is_full {
            self.0.transmit.set(byte.into());
        }
        !is_full
    }

    /// Reads a byte, if one was received.
    pub fn read(&self) -> Option<u8> {
        let receive = self.0.receive.extract();
        let ready = receive.is_set(Receive::READY);
        ready.then(|| receive.read(Receive::DATA) as u8)
    }

    /// Sets whether there is an interrupt when there is room again; there is then none for received bytes.
    pub fn set_interrupt(&self, wanted: bool) {
        let transmit = Control1::TRANSMITTER_READY.val(wanted.into());
        self.0.control1.write(Control1::ENABLE::SET + transmit);
    }

    /// Sets whether there is an interrupt when a byte was received; there is then none when there is room again.
    pub fn set_receive_interrupt(&self, wanted: bool) {
        let receive = Control1::RECEIVER_READY.val(wanted.into());
        self.0.control1.write(Control1::ENABLE::SET + receive);
    }
}
