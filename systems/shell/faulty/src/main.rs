//! Fails in each of its periods.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

userlib::component!(main);

fn main(_: Given) {
    userlib::syscall::yield_now();
    panic!("it always does");
}
