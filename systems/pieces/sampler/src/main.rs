//! The sampler: signals, and sleeps until its next period.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::syscall;

userlib::component!(main);

fn main(given: Given) {
    loop {
        given.sample.signal();
        syscall::yield_now();
    }
}
