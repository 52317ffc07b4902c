//! A passive server that panics at its first start, on the time that it has until it receives.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::Message;

userlib::component!(main);

fn main(given: Given) {
    // Shared memory is as it was before a restart.
    let start = given.starter_starts.read32(0) + 1;
    given.starter_starts.write32(0, start);
    assert!(start > 1, "the starter fails");
    let answer = start as usize;
    given.asks.serve(|_| Message::new(0, &[answer]))
}
