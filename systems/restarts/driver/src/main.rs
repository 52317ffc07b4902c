//! Drives the serial port, for a client. It panics twice while the client waits for it: between an interrupt and its
//! acknowledgement, and when it has allowed one that it has not yet received. After that one comes while it waits for
//! requests.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use core::fmt::Write;
use userlib::Message;
use userlib::drivers::{Serial, Writer};
use userlib::given::barrier;

userlib::component!(main);

fn main(given: Given) {
    // Shared memory is as it was before a restart.
    let start = given.starts.read32(0) + 1;
    given.starts.write32(0, start);
    // The memory has it before the device is touched.
    barrier();
    let serial = Serial::new(given.serial);
    if start == 2 {
        // The last one was not acknowledged, but another one comes.
        serial.set_interrupt(true);
        given.serial_interrupt.wait();
        serial.set_interrupt(false);
        given.serial_interrupt.acknowledge();
    }
    if start == 3 {
        // It is received with the requests, and not acknowledged before the next one is wanted.
        serial.set_interrupt(true);
        serial.set_interrupt(false);
    }
    let mut line = given.lines.receive();
    if start < 3 {
        while !serial.write(b'.') {}
        serial.set_interrupt(true);
        if start == 1 {
            given.serial_interrupt.wait();
        }
        panic!("the driver fails");
    }
    let mut port = Writer::new(serial, given.serial_interrupt);
    loop {
        if let Some(message) = line.message {
            // A serial port takes everything.
            let _ = writeln!(port, "driver: line {} on the serial port", message.word(0));
        }
        line = line.reply_and_receive(Message::empty(0));
    }
}
