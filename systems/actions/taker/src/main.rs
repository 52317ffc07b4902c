//! Takes turns with another instance, and never waits: both run because their slices end.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use core::sync::atomic::Ordering::Relaxed;

userlib::component!(main);

/// The turns of both.
const TURNS: usize = 6;

fn main(given: Given) {
    let [turn, instances, ..] = given.turns else {
        panic!("there is room for the turn")
    };
    let own = instances.fetch_add(1, Relaxed);
    loop {
        match turn.load(Relaxed) {
            TURNS => return,
            now if now % 2 == own => turn.store(now + 1, Relaxed),
            _ => {}
        }
    }
}
