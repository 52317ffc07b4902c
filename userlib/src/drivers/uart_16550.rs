//! The second serial port of PCs, a 16550 (National Semiconductor data sheet). The first one is the kernel's
//! console.

use crate::given::Ports;

const DATA: u16 = 0;
const INTERRUPT_ENABLE: u16 = 1;
const FIFO_CONTROL: u16 = 2;
const LINE_CONTROL: u16 = 3;
const MODEM_CONTROL: u16 = 4;
const LINE_STATUS: u16 = 5;

/// Line status: a received byte is available.
const RECEIVED: u8 = 1;
/// Line status: the transmit register is free.
const READY: u8 = 1 << 5;
/// Interrupt enable: a received byte is available.
const RECEIVE: u8 = 1;
/// Interrupt enable: the transmit register is free.
const TRANSMIT: u8 = 1 << 1;

/// A serial port, at its preconfigured speed.
pub struct Serial(Ports);

impl Serial {
    /// The port of a device; its interrupt is off.
    pub fn new(device: Ports) -> Self {
        device.write8(INTERRUPT_ENABLE, 0);
        // Eight bits, no parity, one stop bit; FIFOs enabled and cleared.
        device.write8(LINE_CONTROL, 3);
        device.write8(FIFO_CONTROL, 7);
        // Ready to receive; the interrupt goes to the interrupt controller.
        device.write8(MODEM_CONTROL, 0b1011);
        Self(device)
    }

    /// Writes a byte if there is room; returns whether there was.
    pub fn write(&self, byte: u8) -> bool {
        let is_ready = self.0.read8(LINE_STATUS) & READY != 0;
        if is_ready {
            self.0.write8(DATA, byte);
        }
        is_ready
    }

    /// Reads a byte, if one was received.
    pub fn read(&self) -> Option<u8> {
        let is_there = self.0.read8(LINE_STATUS) & RECEIVED != 0;
        is_there.then(|| self.0.read8(DATA))
    }

    /// Sets whether there is an interrupt when there is room again; there is then none for received bytes.
    pub fn set_interrupt(&self, wanted: bool) {
        self.0
            .write8(INTERRUPT_ENABLE, if wanted { TRANSMIT } else { 0 });
    }

    /// Sets whether there is an interrupt when a byte was received; there is then none when there is room again.
    pub fn set_receive_interrupt(&self, wanted: bool) {
        // Off in between: the interrupt comes when the line rises.
        self.0.write8(INTERRUPT_ENABLE, 0);
        self.0
            .write8(INTERRUPT_ENABLE, if wanted { RECEIVE } else { 0 });
    }
}
