//! Watches an input that is low: first for a level that it does not have, then for the one that it has.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::println;
use userlib::services::pins::{Refused, Trigger, WATCHABLE};

userlib::component!(main);

fn main(given: Given) {
    let (port, pin) = (given.port, given.pin);
    assert_eq!(port.set(pin, true), Ok(Err(Refused::OtherDirection)));
    let watched = port.watch(WATCHABLE, Trigger::Low);
    assert_eq!(watched, Ok(Err(Refused::NoInterrupt)));
    assert_eq!(port.read(pin), Ok(Ok(false)));
    for trigger in [Trigger::High, Trigger::Rise, Trigger::Fall] {
        assert_eq!(port.watch(pin, trigger), Ok(Ok(())));
        userlib::syscall::yield_now();
        assert_eq!(port.is_watched(pin), Ok(Ok(true)), "{trigger:?}");
    }
    // Twice, since it is watched for one interrupt only.
    for _ in 0..2 {
        assert_eq!(port.watch(pin, Trigger::Low), Ok(Ok(())));
        given.signals.wait();
        assert_eq!(port.is_watched(pin), Ok(Ok(false)));
    }
    println!("button: its interrupts have come");
}
