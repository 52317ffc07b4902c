//! Drives the serial port. At its first start it panics before it has acknowledged the interrupt.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::drivers::Serial;
use userlib::given::barrier;

userlib::component!(main);

fn main(given: Given) {
    // Shared memory is as it was before a restart.
    let start = given.starts.read32(0) + 1;
    given.starts.write32(0, start);
    // The memory has it before the device is touched.
    barrier();
    let port = Serial::new(given.serial);
    for byte in b"driver: a line on the serial port\n" {
        while !port.write(*byte) {}
    }
    port.set_interrupt(true);
    given.serial_interrupt.wait();
    assert!(start > 1, "the driver fails");
    port.set_interrupt(false);
    given.serial_interrupt.acknowledge();
    given.starts.write32(size_of::<usize>(), 1);
}
