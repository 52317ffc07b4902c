//! Blinks with a pin, and tries to use one of another client.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::println;
use userlib::services::pins::{Direction, PINS, Refused, Trigger};

userlib::component!(main);

fn main(given: Given) {
    let (port, pin) = (given.port, given.pin);
    assert_eq!(port.set(pin, true), Ok(Err(Refused::OtherDirection)));
    assert_eq!(port.turn(pin, Direction::Output), Ok(Ok(())));
    let watched = port.watch(pin, Trigger::Low);
    assert_eq!(watched, Ok(Err(Refused::OtherDirection)));
    for round in 0..6 {
        let is_high = round % 2 == 0;
        assert_eq!(port.set(pin, is_high), Ok(Ok(())));
        assert_eq!(port.read(pin), Ok(Ok(is_high)));
        userlib::syscall::yield_now();
    }
    for other in [given.other, PINS, PINS + pin, usize::MAX] {
        let refused = Refused::NotYours;
        assert_eq!(port.turn(other, Direction::Output), Ok(Err(refused)));
        assert_eq!(port.set(other, true), Ok(Err(refused)));
        assert_eq!(port.read(other), Ok(Err(refused)));
        assert_eq!(port.watch(other, Trigger::Low), Ok(Err(refused)));
        assert_eq!(port.is_watched(other), Ok(Err(refused)));
    }
    println!("lamp: it has blinked, and others have their pins");
}
