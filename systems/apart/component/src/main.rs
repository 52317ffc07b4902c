//! Takes turns with another component, which runs at the same time: none of the two waits for anything else.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use core::sync::atomic::Ordering::Relaxed;
use userlib::arch::relax;
use userlib::println;

userlib::component!(main);

/// The turns of both.
const TURNS: usize = 6;

fn main(given: Given) {
    let turns = &given.turns[0];
    loop {
        match turns.load(Relaxed) {
            TURNS if given.stays => {}
            TURNS => break,
            turn if turn % 2 == given.place => turns.store(turn + 1, Relaxed),
            _ => {}
        }
        relax();
    }
    println!("{TURNS} turns on two cores");
}
