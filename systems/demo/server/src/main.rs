//! The server: passive, so it runs on the scheduling context of its caller. It keeps no state from one
//! request to the next, and can therefore be restarted in the middle of any.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use demo_protocol::{answer, request, work};
use userlib::{Message, Received};

userlib::component!(main);

fn main(given: Given) {
    given.requests.serve(handle)
}

fn handle(received: Received) -> Message {
    match received.message {
        Some(message) if message.label() == request::ENDLESS => work(usize::MAX),
        Some(message) => work(message.word(0)),
        None => {}
    }
    Message::empty(answer::DONE)
}
