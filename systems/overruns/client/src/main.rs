//! Makes two requests, one of which takes longer than its budget.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::{Message, println, syscall};

userlib::component!(main);

fn main(given: Given) {
    given.signals.wait();
    for time in [given.first, given.second] {
        let request = Message::new(0, &[time]);
        assert_eq!(given.server.try_call(request), Ok(request));
        // That is all in this period.
        syscall::yield_now();
    }
    println!("{}: both requests are complete", given.name);
    if let Some(next) = given.next {
        next.signal();
    }
}
