//! The kernel's log: defmt frames on the second serial port.

use arch_arm::imx::Uart;

use crate::UART2;

// SAFETY: a serial port is there, which belongs to the log.
static PORT: Uart = unsafe { Uart::at(UART2) };

/// Switches the port on.
pub(crate) fn start() {
    PORT.start();
}

fn put_bytes(bytes: &[u8]) {
    for byte in bytes {
        PORT.put_byte(*byte);
    }
}

kernel::log_to!(put_bytes);
