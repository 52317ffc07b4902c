//! Why an operation that a thread has requested fails or stops.

use abi::{ErrorCode, LookupFailure};

/// Why an invocation failed, with the details for its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The argument word with this index is invalid.
    InvalidArgument(usize),
    /// The capability with this index is invalid; 0 is the invoked one.
    InvalidCapability(usize),
    /// The object does not allow the operation in its state, or at all.
    IllegalOperation,
    /// A number is out of range.
    Range {
        /// The least allowed.
        minimum: usize,
        /// The greatest allowed.
        maximum: usize,
    },
    /// An address is not aligned.
    Alignment,
    /// A slot or paging structure was not found.
    Lookup {
        /// Whether it is the source of a copy.
        source: bool,
        /// Why.
        failure: LookupFailure,
    },
    /// Too few words or capabilities.
    Truncated,
    /// The destination slot or address is not empty.
    DeleteFirst,
    /// The object has children in the derivation tree.
    RevokeFirst,
    /// Too little memory is left; the number of free bytes.
    NotEnoughMemory(usize),
    /// The caller can never have the budget that the endpoint's threshold requires; in microseconds.
    BudgetTooSmall {
        /// The budget that is needed.
        needed: usize,
        /// The caller's whole budget.
        budget: usize,
    },
}

impl Error {
    /// [`Error::Lookup`] of anything but the source of a copy.
    pub const fn lookup(failure: LookupFailure) -> Self {
        let source = false;
        Self::Lookup { source, failure }
    }

    /// [`Error::Range`].
    pub const fn range(minimum: usize, maximum: usize) -> Self {
        Self::Range { minimum, maximum }
    }

    /// The code and the message words.
    pub fn message(self) -> (ErrorCode, [usize; 5], usize) {
        let two = |first, second| [first, second, 0, 0, 0];
        let one = |word| two(word, 0);
        match self {
            Self::InvalidArgument(number) => (ErrorCode::InvalidArgument, one(number), 1),
            Self::InvalidCapability(number) => (ErrorCode::InvalidCapability, one(number), 1),
            Self::IllegalOperation => (ErrorCode::IllegalOperation, [0; 5], 0),
            Self::Range { minimum, maximum } => (ErrorCode::RangeError, two(minimum, maximum), 2),
            Self::Alignment => (ErrorCode::AlignmentError, [0; 5], 0),
            Self::Lookup { source, failure } => {
                let ([kind, a, b, c], count) = failure.words();
                let words = [source as usize, kind, a, b, c];
                (ErrorCode::FailedLookup, words, count + 1)
            }
            Self::Truncated => (ErrorCode::TruncatedMessage, [0; 5], 0),
            Self::DeleteFirst => (ErrorCode::DeleteFirst, [0; 5], 0),
            Self::RevokeFirst => (ErrorCode::RevokeFirst, [0; 5], 0),
            Self::NotEnoughMemory(bytes) => (ErrorCode::NotEnoughMemory, one(bytes), 1),
            Self::BudgetTooSmall { needed, budget } => {
                (ErrorCode::BudgetTooSmall, two(needed, budget), 2)
            }
        }
    }
}

/// Fails with an error unless `holds`.
///
/// # Errors
/// The given error.
#[inline(always)]
pub const fn ensure(holds: bool, error: Error) -> Result<(), Error> {
    if holds { Ok(()) } else { Err(error) }
}

/// Fails with [`Error::IllegalOperation`] unless `holds`.
///
/// # Errors
/// If it does not hold.
#[inline(always)]
pub const fn allow(holds: bool) -> Result<(), Error> {
    ensure(holds, Error::IllegalOperation)
}

/// An address does not resolve to a capability of the required kind.
pub(crate) struct Missing {
    pub(crate) address: usize,
    pub(crate) failure: LookupFailure,
}

/// Why an invocation has no result yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It failed.
    Error(Error),
    /// It stopped at a preemption point; the thread restarts its system call.
    Preempted,
}

/// An operation has stopped at a preemption point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preempted;

impl From<Preempted> for Failure {
    fn from(Preempted: Preempted) -> Self {
        Self::Preempted
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}
