//! Stores a text that is longer than a message, has letters found in it and words counted, and checks each result.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use encoded::Encoded;
use protocol_words::{Found, Letter, Refused, Wanted, store};
use userlib::println;
use userlib::protocol::{Error, Part, Shared};

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

    search(store);
    let letter = Letter {
        place: "the store",
        text: "A letter is as long as its text. No heap has room for it, and no message.",
        answers: Some(0x1_0000),
    };
    let mut buffer = [0; 128];
    let part = encoded::put(letters, 16, &letter, &mut buffer).expect("the page has room");
    assert_eq!(store.count(part), Ok(Ok(17)));
    let cut = Part {
        length: part.length - 1,
        ..part
    };
    assert_eq!(store.count(cut), Ok(Err(Refused::Garbled)));
    letters.put(16, &[0xff; 64]).expect("the page has room");
    assert_eq!(store.count(part), Ok(Err(Refused::Garbled)));
    println!("client: the store reads what is encoded");
}

/// Looks for letters in "a text of forty ".
fn search(store: store::Client) {
    let places = |wanted, first, second| {
        let places = [first, second];
        let found = store.search(Encoded(wanted));
        assert_eq!(found, Ok(Ok(Encoded(Found { wanted, places }))));
    };
    places(Wanted::Space, Some(1), Some(6));
    places(Wanted::Letter('y'), Some(14), None);
    places(Wanted::Letter('z'), None, None);
    let range = |from, to| Wanted::Range { from, to };
    places(range('v', None), Some(4), Some(14));
    places(range('e', Some('f')), Some(3), Some(8));
    // A letter outside ASCII takes two bytes to four: the first request is too long, and the result of the second one.
    let refused = store.search(Encoded(range('\u{1f980}', Some('\u{1f980}'))));
    assert_eq!(refused, Err(Error::TooLong));
    let refused = store.search(Encoded(range('a', Some('\u{f6}'))));
    assert_eq!(refused, Err(Error::ResultTooLong));
}
