//! What a store and its clients say to each other.
#![no_std]
#![forbid(unsafe_code)]

use userlib::protocol::{Part, Text};

userlib::value! {
    /// Why the store does not keep a text.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Refused {
        /// The part is not in the memory that it shares with this client.
        Elsewhere,
        /// It has a text of this client already.
        Full,
    }
}

userlib::protocol! {
    /// A store with room for one text of each client.
    pub mod store, version 2 {
        /// Keeps a text that is in shared memory; returns the sum of its bytes.
        fn put(text: Part) -> Result<u64, Refused>;
        /// The first letters of the caller's text.
        fn first() -> Option<Text<16>>;
        /// Adds numbers.
        fn add(small: u8, large: u64, is_negative: bool) -> isize;
    }
}
