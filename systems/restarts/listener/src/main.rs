//! Waits for a signal, lets the server fail, and ends.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

userlib::component!(main);

fn main(given: Given) -> usize {
    let signals = given.signals.wait();
    given.fail.signal();
    if given.done.is_in(signals) { 7 } else { 1 }
}
