//! The format of trace events: what the kernel writes into the ring of a core, and what tools read from it.
//!
//! An event is 16 bytes, or 32 with its details ([`Detail`]). A ring ([`Ring`]) is a header and events of one size in a piece
//! of memory; [`RingReader`] reads a copy of that memory, and [`StreamReader`] the memory while it is written. The page "The
//! trace format" of the book (`docs/src/trace-format.md`) is the reference. All numbers are little-endian.
#![cfg_attr(not(test), no_std)]

mod cost;
mod event;
mod kind;
mod known;
mod ring;
mod settings;
mod stream;
#[cfg(test)]
mod tests;

pub use cost::{Cost, Costs};
pub use event::{Event, ObjectId, TOGETHER};
pub use kind::{Blocking, End, Kind, Kinds, Mark, Move, Reason};
pub use known::{AtRunTime, Known};
pub use ring::{Damage, HEADER_BYTES, MAGIC, Ring, RingReader, VERSION, What, Written};
pub use settings::{Clocks, Detail, Mode, Settings};
pub use stream::{StreamReader, make_stream};
