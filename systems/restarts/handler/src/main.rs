//! Handles a fault, and fails meanwhile: each time that it starts, it receives the same fault again.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::{Fault, Outcome};

userlib::component!(main);

fn main(given: Given) {
    let fault = given.faults.receive();
    let message = fault.message.expect("faults are messages");
    let outcome = Outcome::from(Fault::from_message(&message));
    assert_eq!(
        outcome,
        Outcome::Exited(5),
        "the fault of the handled component"
    );
    panic!("the handler fails");
}
