//! Takes all the time of its domain.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::time::Load;
use userlib::{Microseconds, println};

userlib::component!(main);

fn main(given: Given) {
    let load = Load::calibrate(&given.clock);
    println!("logger: runs in what is left");
    loop {
        load.work(Microseconds::from_millis(1));
    }
}
