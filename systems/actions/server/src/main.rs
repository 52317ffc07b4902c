//! Tells each client its badge, and the time that it has brought.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::{Message, Microseconds, syscall};

userlib::component!(main);

fn main(given: Given) {
    // Its own time, or that which it has until it first receives.
    let budget = given.budget as u64;
    let most = [budget, budget + 1].map(|time| syscall::yield_until_budget(Microseconds(time)));
    assert!(most[0].is_ok() && most[1].is_err(), "{most:?}");
    given.requests.serve(|received| {
        let brought = received.message.map(|message| message.lent_time());
        let brought = brought.unwrap_or_default();
        Message::new(0, &[received.badge, brought.0 as usize])
    })
}
