//! Ends. Its end is a fault, which another component handles.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

userlib::component!(main);

fn main(_: Given) -> usize {
    5
}
