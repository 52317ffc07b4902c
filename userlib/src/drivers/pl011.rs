//! The serial port of QEMU's machine virt (PrimeCell UART PL011, DDI 0183). The kernel's console
//! is the same port.

use crate::given;
use tock_registers::interfaces::{ReadWriteable, Readable, Writeable};
use tock_registers::registers::{ReadOnly, ReadWrite};
use tock_registers::{register_bitfields, register_structs};

register_bitfields! [u32,
    Flags [
        RECEIVE_EMPTY OFFSET(4) NUMBITS(1) [],
        TRANSMIT_FULL OFFSET(5) NUMBITS(1) []
    ],
    LineControl [
        QUEUES OFFSET(4) NUMBITS(1) []
    ],
    Control [
        ENABLE OFFSET(0) NUMBITS(1) [],
        TRANSMITTER OFFSET(8) NUMBITS(1) [],
        RECEIVER OFFSET(9) NUMBITS(1) []
    ],
    Interrupts [
        RECEIVE OFFSET(4) NUMBITS(1) [],
        TRANSMIT OFFSET(5) NUMBITS(1) []
    ]
];

register_structs! {
    Registers {
        (0x00 => data: ReadWrite<u32>),
        (0x04 => _reserved0),
        (0x18 => flags: ReadOnly<u32, Flags::Register>),
        (0x1c => _reserved1),
        (0x2c => line_control: ReadWrite<u32, LineControl::Register>),
        (0x30 => control: ReadWrite<u32, Control::Register>),
        (0x34 => _reserved2),
        (0x38 => interrupts: ReadWrite<u32, Interrupts::Register>),
        (0x3c => @END),
    }
}

/// A serial port, at its preconfigured speed.
pub struct Serial(&'static Registers);

impl Serial {
    /// The port of a device; its interrupt is off.
    pub fn new(device: given::Registers) -> Self {
        // SAFETY: the place is one of registers that stay mapped, and only this port uses them.
        let registers = unsafe { &*device.place::<Registers>(0) };
        registers.interrupts.set(0);
        // Without its queue there is an interrupt after each byte; with it, only when the number of bytes falls
        // through a limit, which few bytes never reach. The mode changes while the port is off (section 3.3.7).
        registers.control.set(0);
        registers.line_control.modify(LineControl::QUEUES::CLEAR);
        registers
            .control
            .write(Control::ENABLE::SET + Control::TRANSMITTER::SET + Control::RECEIVER::SET);
        Self(registers)
    }

    /// Writes a byte if there is room; returns whether there was.
    pub fn write(&self, byte: u8) -> bool {
        let is_full = self.0.flags.is_set(Flags::TRANSMIT_FULL);
        if !is_full {
            self.0.data.set(byte.into());
        }
        !is_full
    }

    /// Reads a byte, if one was received.
    pub fn read(&self) -> Option<u8> {
        let is_empty = self.0.flags.is_set(Flags::RECEIVE_EMPTY);
        (!is_empty).then(|| self.0.data.get() as u8)
    }

    /// Sets whether there is an interrupt when there is room again; there is then none for received bytes.
    pub fn set_interrupt(&self, wanted: bool) {
        let transmit = Interrupts::TRANSMIT.val(wanted.into());
        self.0.interrupts.write(transmit);
    }

    /// Sets whether there is an interrupt when a byte was received; there is then none when there is room again.
    pub fn set_receive_interrupt(&self, wanted: bool) {
        let receive = Interrupts::RECEIVE.val(wanted.into());
        self.0.interrupts.write(receive);
    }
}
