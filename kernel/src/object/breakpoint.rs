//! What a thread shall be stopped at.

use abi::breakpoint::{INSTRUCTION, READ, READ_WRITE, WRITE};
use core::ops::Range;

/// What a breakpoint waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The instruction at the address is about to be executed.
    Execute,
    /// Data is read.
    Read,
    /// Data is written.
    Write,
    /// Either.
    ReadWrite,
}

impl Access {
    /// Kind and direction as the ABI numbers them.
    pub const fn words(self) -> (usize, usize) {
        match self {
            Self::Execute => (INSTRUCTION, READ),
            Self::Read => (abi::breakpoint::DATA, READ),
            Self::Write => (abi::breakpoint::DATA, WRITE),
            Self::ReadWrite => (abi::breakpoint::DATA, READ_WRITE),
        }
    }
}

/// A breakpoint of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Breakpoint {
    /// Where; aligned to the size.
    pub address: usize,
    /// Bytes of data: 1, 2, 4 or 8; 0 for instructions.
    pub size: usize,
    /// At what.
    pub access: Access,
}

/// The breakpoints that an architecture has.
#[derive(Clone, Debug)]
pub struct BreakpointNumbers {
    /// Those that can stop at instructions.
    pub instruction: Range<usize>,
    /// Those that can stop at data: the same, or those that follow.
    pub data: Range<usize>,
    /// The first address that is not a user's.
    pub address_end: usize,
}
