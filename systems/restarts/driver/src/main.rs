//! Drives the serial port. At its first start it panics before it has acknowledged the interrupt.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use core::sync::atomic::Ordering::Relaxed;
use userlib::drivers::Serial;

userlib::component!(main);

fn main(given: Given) {
    // Shared memory is as it was after a restart.
    let start = given.starts[0].fetch_add(1, Relaxed) + 1;
    let port = Serial::new(given.serial);
    for byte in b"driver: a line on the serial port\n" {
        while !port.write(*byte) {}
    }
    port.set_interrupt(true);
    given.serial_interrupt.wait();
    assert!(start > 1, "the driver fails");
    port.set_interrupt(false);
    given.serial_interrupt.acknowledge();
    given.starts[1].store(1, Relaxed);
}
