//! Asks for a line, begins one of its own, and fails.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::services::lines::Words;

userlib::component!(main);

fn main(given: Given) {
    assert_eq!(given.port.read(), Ok(Ok(None)));
    assert_eq!(given.port.write(Words::new("half a line")), Ok(Ok(())));
    panic!("it dies");
}
