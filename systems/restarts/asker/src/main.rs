//! Asks the supervisor all the time, so that this has none for the others.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

userlib::component!(main);

fn main(given: Given) {
    loop {
        // The answer does not matter.
        let _ = given.supervisor.report(0);
    }
}
