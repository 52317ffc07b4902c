//! What the server does, as a library: tests on the host take it, too.
#![no_std]
#![forbid(unsafe_code)]

use protocols::addition;

/// Adds.
pub struct Adder;

impl addition::Service for Adder {
    fn add(&mut self, _caller: usize, number: usize, step: usize) -> usize {
        number.wrapping_add(step)
    }
}
