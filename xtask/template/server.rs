//! Adds two numbers.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use protocols::addition;

userlib::component!(main);

struct Adder;

impl addition::Service for Adder {
    fn add(&mut self, _caller: usize, number: usize, step: usize) -> usize {
        number.wrapping_add(step)
    }
}

fn main(given: Given) {
    given.requests.serve(Adder)
}
