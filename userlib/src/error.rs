//! Errors of invocations.

use crate::Microseconds;
use crate::message::Message;
use abi::{ErrorCode, LookupFailure};

/// The result of an invocation.
pub type Result<T = ()> = core::result::Result<T, Error>;

/// Why an invocation failed, with the details from the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The argument word with this index is invalid.
    InvalidArgument(usize),
    /// The capability with this index is invalid; 0 is the invoked one.
    InvalidCapability(usize),
    /// The object does not allow the operation in its state, or at all.
    IllegalOperation,
    /// A value is not in the range allowed.
    Range {
        /// The least value allowed.
        minimum: usize,
        /// The greatest value allowed.
        maximum: usize,
    },
    /// An address is not aligned.
    Alignment,
    /// A capability address did not resolve, or (in mappings) a paging structure is missing.
    FailedLookup {
        /// Whether the source failed, not the destination.
        source: bool,
        /// The lookup error.
        failure: LookupFailure,
    },
    /// Too few words or capabilities.
    TruncatedMessage,
    /// The destination slot or address is not empty.
    DeleteFirst,
    /// The object has children in the derivation tree.
    RevokeFirst,
    /// Not enough memory in the untyped; the number of free bytes.
    NotEnoughMemory(usize),
    /// The endpoint's threshold is more than the budget of the caller's scheduling context.
    BudgetTooSmall {
        /// The budget that is needed.
        needed: Microseconds,
        /// The context's whole budget.
        budget: Microseconds,
    },
    /// The server has used as much of the caller's budget as the endpoint's limit allows.
    LimitReached,
    /// An error code that is not in the ABI.
    Unknown(usize),
    /// Not from the kernel: the parent's own allocator is out of slots or memory.
    OutOfResources,
    /// Not from the kernel: the program to be loaded is not a valid ELF file for this machine.
    BadProgram(&'static str),
}

impl Error {
    /// The error that a reply with a nonzero label reports.
    #[cold]
    pub fn from_answer(answer: &Message) -> Self {
        match ErrorCode::from_number(answer.label()) {
            Some(ErrorCode::InvalidArgument) => Self::InvalidArgument(answer.word(0)),
            Some(ErrorCode::InvalidCapability) => Self::InvalidCapability(answer.word(0)),
            Some(ErrorCode::IllegalOperation) => Self::IllegalOperation,
            Some(ErrorCode::RangeError) => Self::Range {
                minimum: answer.word(0),
                maximum: answer.word(1),
            },
            Some(ErrorCode::AlignmentError) => Self::Alignment,
            Some(ErrorCode::FailedLookup) => {
                let words = [1, 2, 3, 4].map(|index| answer.word(index));
                match LookupFailure::from_words(words) {
                    Some(failure) => Self::FailedLookup {
                        source: answer.word(0) != 0,
                        failure,
                    },
                    None => Self::Unknown(answer.label()),
                }
            }
            Some(ErrorCode::TruncatedMessage) => Self::TruncatedMessage,
            Some(ErrorCode::DeleteFirst) => Self::DeleteFirst,
            Some(ErrorCode::RevokeFirst) => Self::RevokeFirst,
            Some(ErrorCode::NotEnoughMemory) => Self::NotEnoughMemory(answer.word(0)),
            Some(ErrorCode::BudgetTooSmall) => Self::BudgetTooSmall {
                needed: Microseconds(answer.word(0) as u64),
                budget: Microseconds(answer.word(1) as u64),
            },
            Some(ErrorCode::LimitReached) => Self::LimitReached,
            Some(ErrorCode::NoError) | None => Self::Unknown(answer.label()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extra_words_are_decoded() {
        let range = Message::new(ErrorCode::RangeError as usize, &[1, 9]);
        assert_eq!(
            Error::from_answer(&range),
            Error::Range {
                minimum: 1,
                maximum: 9
            }
        );
        let lookup = Message::new(ErrorCode::FailedLookup as usize, &[1, 4, 32, 0x2a, 20]);
        assert_eq!(
            Error::from_answer(&lookup),
            Error::FailedLookup {
                source: true,
                failure: LookupFailure::GuardMismatch {
                    bits_left: 32,
                    guard_found: 0x2a,
                    bits_found: 20
                }
            }
        );
        assert_eq!(Error::from_answer(&Message::empty(77)), Error::Unknown(77));
    }
}
