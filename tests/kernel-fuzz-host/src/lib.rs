//! Arbitrary system calls of programs, decoded on the host under a coverage-guided fuzzer.
//!
//! An input is a byte string. It is decoded as a history ([`input`]): system calls with any label,
//! capabilities and words, and between them time, interrupts and faults. A hostile program with a
//! capability of every kind ([`system`]) makes the calls. After every kernel entry the machine checks
//! the invariants; after every method call the player ([`player`]) checks that the result is one that
//! the interface defines, and that a method that fails has changed nothing.
//!
//! The corpus, `tests/kernel-fuzz-host/corpus/`, has the inputs that the fuzzer found to increase
//! coverage. It is replayed with the other host tests; `cargo xtask assure` searches for more.

pub mod chain;
pub mod input;
pub mod ledger;
pub mod player;
pub mod seeds;
pub mod system;

pub use ledger::Ledger;
pub use player::{Defect, play, play_with};
