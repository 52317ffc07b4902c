//! A passive server that fails at its first start, on the time that it has until it receives: it uses the floating-point
//! unit, which its description does not allow.
#![no_std]
#![no_main]

#[path = "../../server/src/float.rs"]
mod float;

use userlib::Message;

userlib::component!(main);

fn main(given: Given) {
    // Shared memory is as it was before a restart.
    let start = given.starter_starts.read32(0) + 1;
    given.starter_starts.write32(0, start);
    if start == 1 {
        float::replace(1);
    }
    let answer = start as usize;
    given.asks.serve(|_| Message::new(0, &[answer]))
}
