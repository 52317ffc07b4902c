//! Text on a serial port.

use super::Serial;
use crate::given::Interrupt;
use core::fmt;

/// A serial port for text, with its interrupt.
pub struct Writer {
    serial: Serial,
    interrupt: Interrupt,
}

impl Writer {
    /// Writes to a port with this interrupt.
    pub fn new(serial: Serial, interrupt: Interrupt) -> Self {
        Self { serial, interrupt }
    }

    /// Writes bytes, as many as the port takes after each interrupt, and waits until it has room for more.
    pub fn write(&mut self, bytes: impl IntoIterator<Item = u8>) {
        let mut bytes = bytes.into_iter().peekable();
        while bytes.peek().is_some() {
            while bytes.next_if(|&byte| self.serial.write(byte)).is_some() {}
            self.wait();
        }
    }

    fn wait(&self) {
        // Acknowledged before it is wanted, and not after it has come: one that comes while a server waits for
        // requests, as after a restart, is received there, and nothing acknowledges it.
        self.interrupt.acknowledge();
        self.serial.set_interrupt(true);
        self.interrupt.wait();
        self.serial.set_interrupt(false);
    }
}

impl fmt::Write for Writer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.write(text.bytes());
        Ok(())
    }
}
