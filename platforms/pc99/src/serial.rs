//! Serial ports (16550 UART; National Semiconductor data sheet PC16550D, section 8).

use x86_64::instructions::port::Port;

/// A serial port, by the first of its I/O ports.
#[derive(Clone, Copy)]
pub struct Serial(u16);

/// The first serial port: the console.
pub const COM1: Serial = Serial(0x3f8);
/// The second serial port: the log.
#[cfg(feature = "log")]
pub const COM2: Serial = Serial(0x2f8);

mod register {
    pub const DATA: u16 = 0;
    pub const INTERRUPT_ENABLE: u16 = 1;
    pub const FIFO_CONTROL: u16 = 2;
    pub const LINE_CONTROL: u16 = 3;
    pub const MODEM_CONTROL: u16 = 4;
    pub const LINE_STATUS: u16 = 5;
    /// Accessible while [`super::DIVISOR_LATCH`] is set.
    pub const DIVISOR: u16 = 0;
}

const DIVISOR_LATCH: u8 = 1 << 7;
/// 8 data bits, no parity, one stop bit.
const LINE_8N1: u8 = 3;
/// Line status: the transmit register is free.
const HOLDING_EMPTY: u8 = 1 << 5;
/// Line status: all bytes have been transmitted.
const ALL_SENT: u8 = 1 << 6;

impl Serial {
    fn write_register(self, register: u16, value: u8) {
        // SAFETY: accesses to the registers of a serial port do not affect memory.
        unsafe { Port::new(self.0 + register).write(value) }
    }

    fn status(self) -> u8 {
        // SAFETY: as above.
        unsafe { Port::new(self.0 + register::LINE_STATUS).read() }
    }

    fn wait_for(self, status: u8) {
        while self.status() & status == 0 {
            core::hint::spin_loop();
        }
    }

    /// Configures 115200 baud, no interrupts.
    pub fn init(self) {
        self.write_register(register::INTERRUPT_ENABLE, 0);
        self.write_register(register::LINE_CONTROL, DIVISOR_LATCH);
        self.write_register(register::DIVISOR, 1);
        self.write_register(register::DIVISOR + 1, 0);
        self.write_register(register::LINE_CONTROL, LINE_8N1);
        // FIFOs enabled and cleared.
        self.write_register(register::FIFO_CONTROL, 7);
        // Data terminal ready, request to send, interrupt line connected.
        self.write_register(register::MODEM_CONTROL, 0xb);
    }

    /// Sends one byte.
    pub fn put(self, byte: u8) {
        self.wait_for(HOLDING_EMPTY);
        self.write_register(register::DATA, byte);
    }

    /// Waits until all bytes have been transmitted.
    pub fn flush(self) {
        self.wait_for(ALL_SENT);
    }
}
