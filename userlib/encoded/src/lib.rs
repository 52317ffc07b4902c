//! Arguments and results of [protocols](userlib::protocol!) that have no fixed length: enumerations with data, lists,
//! texts, and structs of them. They are types that serde knows, encoded by postcard.
//!
//! [`Encoded`] is in the message itself, and its type says how many bytes its encoding may have:
//!
//! ```
//! use encoded::Encoded;
//! use serde::{Deserialize, Serialize};
//!
//! /// How to blink.
//! #[derive(Debug, PartialEq, Serialize, Deserialize)]
//! pub enum Pattern {
//!     Steady(bool),
//!     Blinking { on: u32, off: Option<u32> },
//! }
//!
//! userlib::protocol! {
//!     /// A lamp.
//!     pub mod lamp, version 1 {
//!         /// Shows a pattern; returns the last one.
//!         fn show(pattern: Encoded<Pattern, 16>) -> Encoded<Pattern, 16>;
//!     }
//! }
//!
//! struct Lamp(Pattern);
//!
//! impl lamp::Service for Lamp {
//!     fn show(&mut self, _: usize, Encoded(pattern): Encoded<Pattern, 16>) -> Encoded<Pattern, 16> {
//!         Encoded(core::mem::replace(&mut self.0, pattern))
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! On the target, a client calls `given.lamp.show(Encoded(pattern))`.
//!
//! What is longer than a message goes through [memory that both sides share](userlib::protocol::Shared), by [`put`] and
//! [`get`]. There a type may borrow its texts from the copy, so that it needs neither a heap nor a bound.
//!
//! **Hostile clients.** Bytes that are no encoding of the type, and bytes after one, are refused as all words that are
//! no value: the `Service` never sees them, and the caller gets
//! [`Error::Malformed`](userlib::protocol::Error::Malformed). Decoding takes time and heap in proportion to the number of
//! bytes, with three exceptions: a list of elements without bytes, such as `Vec<()>`, is as long as its sender says; a hash
//! map makes room for as many entries as its sender says, up to 1 MiB; and a type that contains itself takes stack for
//! each level, of which there are as many as bytes.
//!
//! **Versions.** An encoding does not say of which type it is. Change the version of the protocol with the type.
#![cfg_attr(target_os = "none", no_std)]
#![forbid(unsafe_code)]

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use userlib::protocol::{Bytes, Part, Shared, TooLong, Value};

/// A value in the message, in at most `N` bytes when it is encoded. It takes the words of [`Bytes`]: the length of the
/// encoding, and `N` bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Encoded<T, const N: usize>(pub T);

impl<T: Serialize + DeserializeOwned, const N: usize> Value for Encoded<T, N> {
    const WORDS: usize = Bytes::<N>::WORDS;

    fn write(&self, put: &mut impl FnMut(usize)) -> Result<(), TooLong> {
        let mut buffer = [0; N];
        let bytes = encode(&self.0, &mut buffer).and_then(Bytes::<N>::new);
        bytes.ok_or(TooLong)?.write(put)
    }

    fn read(words: &mut impl Iterator<Item = usize>) -> Option<Self> {
        let bytes = Bytes::<N>::read(words)?;
        decode(bytes.as_slice()).map(Self)
    }
}

/// Encodes a value in `buffer`, and puts it into shared memory at word `first`; none if there is no room for it in one
/// of the two.
pub fn put<T: Serialize + ?Sized>(
    memory: Shared,
    first: usize,
    value: &T,
    buffer: &mut [u8],
) -> Option<Part> {
    memory.put(first, encode(value, buffer)?)
}

/// The value in a part of shared memory, of which `buffer` gets a copy; none if the part is not in this memory, is
/// longer than `buffer`, or is no encoding of a `T`.
pub fn get<'a, T: Deserialize<'a>>(memory: Shared, part: Part, buffer: &'a mut [u8]) -> Option<T> {
    decode(memory.copy(part, buffer)?)
}

fn encode<'a, T: Serialize + ?Sized>(value: &T, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
    let bytes = postcard::to_slice(value, buffer).ok()?;
    Some(bytes)
}

/// The value of which these are all bytes.
fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Option<T> {
    let (value, rest) = postcard::take_from_bytes(bytes).ok()?;
    rest.is_empty().then_some(value)
}

/// The blocks of the book.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/src/reference/protocols.md")]
struct Book;

#[cfg(test)]
mod tests;
