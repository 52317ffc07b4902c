//! Whatever programs ask of the kernel, decoded on the host under a coverage-guided fuzzer.
//!
//! An input is bytes. They are read as a history ([`input`]): system calls with any label,
//! capabilities and words, and between them time, interrupts and faults. A hostile program with a
//! capability of every kind ([`world`]) makes the calls. After every kernel entry the machine checks
//! what must always hold; after every call of a method the player ([`player`]) checks that the answer is
//! one that the interface knows, and that a method which fails has changed nothing.
//!
//! The corpus, `tests/decode/corpus/`, is what the fuzzer has found to be worth trying. It is replayed
//! with the other tests of the host; `cargo xtask assure` looks for more.

pub mod input;
pub mod ledger;
pub mod player;
pub mod seeds;
pub mod world;

pub use ledger::Ledger;
pub use player::{Twin, play, play_with};
