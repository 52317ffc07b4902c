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

    /// The next received byte, if there is one.
    pub fn read(&self) -> Option<u8> {
        self.serial.read()
    }

    /// Lets the interrupt come when a byte is received, or at once if one was. After [`write`](Self::write) this has to be
    /// said again.
    pub fn listen(&self) {
        self.interrupt.acknowledge();
        self.serial.set_receive_interrupt(true);
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
