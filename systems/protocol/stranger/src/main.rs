//! Sends the store what is no request of its protocol, and checks that each of them is an error, and that the store
//! works as before.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use encoded::Encoded;
use protocol_words::{Refused, Wanted, store};
use userlib::protocol::{Error, Part};
use userlib::server::ABORTED;
use userlib::{Message, println};

userlib::component!(main);

/// The labels of replies without a result.
const OTHER_VERSION: usize = 0xf_fff0;
const NO_OPERATION: usize = 0xf_fff1;
const MALFORMED: usize = 0xf_fff2;

fn main(given: Given) {
    let store = given.store;
    let ask = |label, words: &[usize]| {
        let reply = store.untyped().call(Message::new(label, words));
        (reply.label(), reply.word(0))
    };
    let add = store::label(store::Operation::add);
    let put = store::label(store::Operation::put);
    for label in [0, 1, add - 0x100, add + 0x100, ABORTED] {
        let own = (OTHER_VERSION, store::VERSION);
        assert_eq!(ask(label, &[0; 3]), own, "{label:#x}");
    }
    let last = store::label(store::Operation::count);
    for label in [last + 1, put + 0xff] {
        assert_eq!(ask(label, &[0; 3]), (NO_OPERATION, 0), "{label:#x}");
    }
    // A `u64` takes two words on 32-bit processors.
    let (good, length) = match usize::BITS {
        64 => ([1, 2, 1, 0], 3),
        _ => ([1, 2, 0, 1], 4),
    };
    assert_eq!(ask(add, &good[..length]), (0, -3isize as usize));
    for wrong in [0, 1, length - 1, length + 1, 120] {
        assert_eq!(
            ask(add, &[0; 120][..wrong]),
            (MALFORMED, 0),
            "{wrong} words"
        );
    }
    let mut flag = good;
    flag[length - 1] = 2;
    assert_eq!(ask(add, &flag[..length]).0, MALFORMED, "no flag");
    let mut byte = good;
    byte[0] = 256;
    assert_eq!(ask(add, &byte[..length]).0, MALFORMED, "no byte");

    // Requests of the protocol, with places that this client has not.
    for (first, length) in [(0, 1), (usize::MAX, usize::MAX), (0, usize::MAX)] {
        let part = Part { first, length };
        assert_eq!(store.put(part), Ok(Err(Refused::Elsewhere)));
        assert_eq!(store.count(part), Ok(Err(Refused::Elsewhere)));
    }
    // No variant, a byte too many, no UTF-8, a length without end, and what ends too early.
    let garbage: [&[u8]; 6] = [
        &[3],
        &[0, 0],
        &[1, 1, 0xff],
        &[1, 0xff, 0xff, 0xff, 0xff, 0xff],
        &[2, 1, b'a', 1],
        &[],
    ];
    for bytes in garbage {
        let (words, length) = encoding(bytes);
        let label = store::label(store::Operation::search);
        assert_eq!(ask(label, &words[..length]).0, MALFORMED, "{bytes:?}");
    }
    assert_eq!(
        store.search(Encoded(Wanted::Space)),
        Ok(Err(Refused::Empty))
    );
    assert_eq!(store.first(), Ok(None), "the text of the other client");
    assert_eq!(store.add(1, 2, true), Ok::<isize, Error>(-3));
    println!("stranger: the store has refused everything");
}

/// The words of an `Encoded<_, 8>` with these bytes, and how many they are.
fn encoding(bytes: &[u8]) -> ([usize; 3], usize) {
    let mut all = [0; 8];
    all[..bytes.len()].copy_from_slice(bytes);
    let all = u64::from_le_bytes(all);
    let high = all.checked_shr(usize::BITS).unwrap_or_default();
    let words = [bytes.len(), all as usize, high as usize];
    (words, 1 + 64 / usize::BITS as usize)
}
