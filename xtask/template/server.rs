//! Adds two numbers.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use server::Adder;

userlib::component!(main);

fn main(given: Given) {
    given.requests.serve(Adder)
}
