//! Stores a text that is longer than a message, and checks each result.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use protocol_words::Refused;
use userlib::println;
use userlib::protocol::{Part, Shared};

userlib::component!(main);

fn main(given: Given) {
    let store = given.store;
    assert_eq!(store.add(200, 1_000, true), Ok(-1_200));
    assert_eq!(store.first(), Ok(None));

    let letters = Shared::new(given.letters);
    let text = b"a text of forty letters, and not of four";
    let part = letters.put(3, text).expect("the page has room");
    let outside = Part {
        first: 4096 / size_of::<usize>(),
        length: 1,
    };
    assert_eq!(store.put(outside), Ok(Err(Refused::Elsewhere)));
    let sum = text.iter().map(|&byte| u64::from(byte)).sum();
    assert_eq!(store.put(part), Ok(Ok(sum)));
    assert_eq!(store.put(part), Ok(Err(Refused::Full)));
    let first = store.first();
    let first = first.expect("the store answers").expect("it has the text");
    assert_eq!(first.as_str(), "a text of forty ");
    println!("client: the store keeps the text");
}
