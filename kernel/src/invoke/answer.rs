//! What an invocation answers.

use abi::{ErrorCode, LookupFailure, WORD_BITS};

use crate::time::Microseconds;

/// Why an invocation failed, with what its caller learns about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// Argument word number so-and-so is bad.
    InvalidArgument(usize),
    /// Capability number so-and-so is bad; 0 is the invoked one.
    InvalidCapability(usize),
    /// The object refuses this now, or never.
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
    /// Something is in the place.
    DeleteFirst,
    /// Something was made from it.
    RevokeFirst,
    /// So many bytes are left.
    NotEnoughMemory(usize),
    /// The caller can never lend as much time as the endpoint asks for; in microseconds.
    BudgetTooSmall {
        /// What it takes.
        needed: usize,
        /// What there is at most.
        budget: usize,
    },
}

impl Error {
    /// The code and the message words.
    pub fn message(self) -> (ErrorCode, [usize; 5], usize) {
        let one = |word| [word, 0, 0, 0, 0];
        match self {
            Self::InvalidArgument(number) => (ErrorCode::InvalidArgument, one(number), 1),
            Self::InvalidCapability(number) => (ErrorCode::InvalidCapability, one(number), 1),
            Self::IllegalOperation => (ErrorCode::IllegalOperation, [0; 5], 0),
            Self::Range { minimum, maximum } => {
                (ErrorCode::RangeError, [minimum, maximum, 0, 0, 0], 2)
            }
            Self::Alignment => (ErrorCode::AlignmentError, [0; 5], 0),
            Self::Lookup { source, failure } => {
                let ([kind, a, b, c], count) = failure.words();
                (
                    ErrorCode::FailedLookup,
                    [source as usize, kind, a, b, c],
                    count + 1,
                )
            }
            Self::Truncated => (ErrorCode::TruncatedMessage, [0; 5], 0),
            Self::DeleteFirst => (ErrorCode::DeleteFirst, [0; 5], 0),
            Self::RevokeFirst => (ErrorCode::RevokeFirst, [0; 5], 0),
            Self::NotEnoughMemory(bytes) => (ErrorCode::NotEnoughMemory, one(bytes), 1),
            Self::BudgetTooSmall { needed, budget } => {
                (ErrorCode::BudgetTooSmall, [needed, budget, 0, 0, 0], 2)
            }
        }
    }
}

/// What a caller gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// An empty answer.
    Nothing,
    /// Some words.
    Words([usize; 8], usize),
    /// The operation has written the answer itself.
    Written,
    /// The answer comes later.
    Later,
}

impl Answer {
    /// One word.
    pub const fn word(word: usize) -> Self {
        Self::Words([word, 0, 0, 0, 0, 0, 0, 0], 1)
    }

    /// A length of time.
    pub fn time(time: Microseconds) -> Self {
        let ([a, b], count) = time_words(time);
        Self::Words([a, b, 0, 0, 0, 0, 0, 0], count)
    }
}

/// A length of time as message words: one on 64-bit machines, low and high on 32-bit ones.
pub(crate) const fn time_words(time: Microseconds) -> ([usize; 2], usize) {
    if WORD_BITS == 64 {
        ([time.0 as usize, 0], 1)
    } else {
        ([time.0 as usize, (time.0 >> 32) as usize], 2)
    }
}

/// Why an invocation has no answer yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It failed.
    Error(Error),
    /// It stopped at a preemption point; the thread will ask again.
    Preempted,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// What comes of an invocation.
pub type Outcome = Result<Answer, Failure>;
