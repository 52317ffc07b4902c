//! Hardware breakpoints of threads.

use abi::breakpoint::{INSTRUCTION, READ, READ_WRITE, WRITE};
use core::ops::Range;

/// The kind of access that triggers a breakpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// The instruction at the address is about to be executed.
    #[default]
    Execute,
    /// Data is read.
    Read,
    /// Data is written.
    Write,
    /// Data is read or written.
    ReadWrite,
}

impl Access {
    /// Type and access as numbered by the ABI.
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Breakpoint {
    /// Its address; aligned to the size.
    pub address: usize,
    /// Bytes of data: 1, 2, 4 or 8; 0 for instructions.
    pub size: usize,
    /// The access that triggers it.
    pub access: Access,
}

/// The numbers of the breakpoints of an architecture.
#[derive(Clone, Debug)]
pub struct BreakpointNumbers {
    /// The breakpoints for instructions.
    pub instruction: Range<usize>,
    /// The breakpoints for data: the same numbers, or the following ones.
    pub data: Range<usize>,
    /// The end of the user address range.
    pub address_end: usize,
}
