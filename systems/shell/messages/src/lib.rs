//! What a terminal and its clients say to each other.
#![no_std]
#![forbid(unsafe_code)]

use userlib::protocol::Text;

/// A part of a line on the screen, or a typed line.
pub type Words = Text<80>;

userlib::protocol! {
    /// A terminal.
    pub mod terminal, version 1 {
        /// Writes.
        fn write(words: Words);
        /// The line that was typed, if it is complete; it signals that.
        fn read() -> Option<Words>;
    }
}
