//! Reads what the store has written after its restart.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

userlib::component!(main);

fn main(given: Given) {
    const STARTS: usize = 2;
    given.signals.wait();
    assert!(given.pages.get(0) == Some(STARTS), "it starts twice");
    for index in 1..given.pages.len() {
        assert!(given.pages.get(index) == Some(index * STARTS), "it is full");
    }
}
