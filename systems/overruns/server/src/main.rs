//! Does as much work as a caller asks for, on the caller's time, and completes it if that is not enough.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::time::Load;
use userlib::{Message, Microseconds};

userlib::component!(main);

fn main(given: Given) {
    let load = Load::calibrate(&given.clock);
    given.requests.serve(|request| {
        let time = request.message.map_or(0, |message| message.word(0));
        load.work(Microseconds(time as u64));
        Message::new(0, &[time])
    })
}
