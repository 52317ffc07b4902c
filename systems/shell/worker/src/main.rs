//! Computes all the time, as far as its budget goes.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

userlib::component!(main);

fn main(_: Given) {
    let mut number = 0u32;
    loop {
        number = core::hint::black_box(number.wrapping_add(1));
    }
}
