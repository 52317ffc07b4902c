//! Works for its clients, on their time: for as long as a client wants, and no longer than its endpoint allows.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use actions_common::{requests, work};
use userlib::Microseconds;
use userlib::time::Clock;

userlib::component!(main);

struct Clerk {
    clock: Clock,
}

fn main(given: Given) {
    given.requests.serve(Clerk { clock: given.clock })
}

impl requests::Service for Clerk {
    fn work(&mut self, _: usize, time: Microseconds) {
        work(&self.clock, time);
    }
}
