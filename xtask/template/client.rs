//! Counts, and lets the server do the additions.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::{Message, println};

userlib::component!(main);

/// `Given` has what `system.toml` gives this program, and nothing else.
fn main(given: Given) {
    let mut number = 0;
    for _ in 0..given.steps {
        let answer = given.server.call(Message::new(0, &[number, 1]));
        println!("{number} + 1 = {}", answer.word(0));
        assert_eq!(answer.word(0), number + 1);
        number = answer.word(0);
    }
}
