//! Calls the server when it is told to, and gets an error.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::Message;
use userlib::server::CallError;

userlib::component!(main);

fn main(given: Given) {
    given.signals.wait();
    let answer = given.server.try_call(Message::empty(given.wish));
    assert_eq!(answer, Err(CallError::Aborted));
}
