//! The kernel's log: defmt frames on the second serial port.

use arch_arm::imx::Uart;

use crate::UART2;

// SAFETY: the registers of a serial port are at this address, and only the log uses it.
static PORT: Uart = unsafe { Uart::at(UART2) };

/// Enables the port.
pub(crate) fn start() {
    PORT.start();
}

fn put_bytes(bytes: &[u8]) {
    for byte in bytes {
        PORT.put_byte(*byte);
    }
}

kernel::log_to!(put_bytes);
