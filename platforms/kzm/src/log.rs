//! The kernel's log: defmt frames on the second serial port.

use core::cell::UnsafeCell;

use arch_arm::imx::Uart;

use crate::UART2;

// SAFETY: a serial port is there, which belongs to the log.
static PORT: Port = Port(
    unsafe { Uart::at(UART2) },
    UnsafeCell::new(defmt::Encoder::new()),
);

struct Port(Uart, UnsafeCell<defmt::Encoder>);
// SAFETY: one core runs the kernel, with interrupts masked.
unsafe impl Sync for Port {}

/// Switches the port on.
pub(crate) fn start() {
    PORT.0.start();
}

fn put_bytes(bytes: &[u8]) {
    for byte in bytes {
        PORT.0.put_byte(*byte);
    }
}

#[defmt::global_logger]
struct Logger;

// SAFETY: frames do not overlap, because nothing interrupts the kernel and it has one core.
unsafe impl defmt::Logger for Logger {
    fn acquire() {
        // SAFETY: as above.
        unsafe { (*PORT.1.get()).start_frame(put_bytes) }
    }

    unsafe fn flush() {}

    unsafe fn release() {
        // SAFETY: as above.
        unsafe { (*PORT.1.get()).end_frame(put_bytes) }
    }

    unsafe fn write(bytes: &[u8]) {
        // SAFETY: as above.
        unsafe { (*PORT.1.get()).write(bytes, put_bytes) }
    }
}
