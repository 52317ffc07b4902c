//! Writes a line in each period, with a number.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::format;
use alloc::vec::Vec;
use userlib::Message;

userlib::component!(main);

fn main(given: Given) {
    for number in (given.from..).take(given.count) {
        let line = format!("{} {number}", given.says);
        let words = line.as_bytes().chunks(size_of::<usize>()).map(word);
        let words: Vec<_> = words.collect();
        given.port.call(Message::new(0, &words));
        userlib::syscall::yield_now();
    }
}

/// Up to as many bytes as fit; the rest is zero.
fn word(bytes: &[u8]) -> usize {
    let mut word = [0; size_of::<usize>()];
    word[..bytes.len()].copy_from_slice(bytes);
    usize::from_le_bytes(word)
}
