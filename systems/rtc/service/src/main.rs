//! Tells date and time, which it reads from the board's clock. Passive.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::drivers::Rtc;
use userlib::services::dates::{DateTime, requests};

userlib::component!(main);

struct Service(Rtc);

fn main(given: Given) {
    given.requests.serve(Service(Rtc::new(given.rtc)))
}

impl requests::Service for Service {
    fn now(&mut self, _: usize) -> Option<DateTime> {
        self.0.now()
    }
}
