//! Adds two numbers.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::{Message, Received};

userlib::component!(main);

fn main(given: Given) {
    given.requests.serve(add)
}

fn add(request: Received) -> Message {
    let sum = match request.message {
        Some(message) => message.word(0).wrapping_add(message.word(1)),
        None => 0,
    };
    Message::new(0, &[sum])
}
