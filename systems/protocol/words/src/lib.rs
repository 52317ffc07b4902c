//! What a store and its clients say to each other.
#![no_std]
#![forbid(unsafe_code)]

use encoded::Encoded;
use serde::{Deserialize, Serialize};
use userlib::protocol::{Part, Text};

userlib::value! {
    /// Why the store refuses a request.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Refused {
        /// The part is not in the memory that it shares with this client.
        Elsewhere,
        /// It has a text of this client already.
        Full,
        /// It has no text of this client.
        Empty,
        /// The part does not hold what it should.
        Garbled,
    }
}

/// What to look for in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Wanted {
    /// Spaces.
    Space,
    /// This letter.
    Letter(char),
    /// The letters from one on, to another one or all that follow.
    Range {
        /// The first one.
        from: char,
        /// The last one.
        to: Option<char>,
    },
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// What was looked for.
    pub wanted: Wanted,
    /// The places of the first two.
    pub places: [Option<u8>; 2],
}

/// A letter, which borrows its texts from the bytes in which it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Letter<'a> {
    /// The place to which it goes.
    pub place: &'a str,
    /// Its text.
    pub text: &'a str,
    /// The label of the letter that it answers.
    pub answers: Option<u32>,
}

userlib::protocol! {
    /// A store with room for one text of each client.
    pub mod store, version 3 {
        /// Keeps a text that is in shared memory; returns the sum of its bytes.
        fn put(text: Part) -> Result<u64, Refused>;
        /// The first letters of the caller's text.
        fn first() -> Option<Text<16>>;
        /// Adds numbers.
        fn add(small: u8, large: u64, is_negative: bool) -> isize;
        /// Looks for letters in the caller's text.
        fn search(wanted: Encoded<Wanted, 8>) -> Result<Encoded<Found, 10>, Refused>;
        /// Counts the words of a [`Letter`] that is encoded in shared memory.
        fn count(letter: Part) -> Result<usize, Refused>;
    }
}
