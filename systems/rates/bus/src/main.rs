//! A passive server with requests of a known length.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::time::Load;
use userlib::{Message, Microseconds};

userlib::component!(main);

/// A request, a little less than the description says.
const WORK: Microseconds = Microseconds(430);

fn main(given: Given) {
    let load = Load::calibrate_often(&given.clock);
    given.requests.serve(|_| {
        load.work(WORK);
        Message::empty(0)
    })
}
