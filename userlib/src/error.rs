//! Errors of invocations.

use crate::Microseconds;
use crate::message::Message;
use abi::{ErrorCode, LookupFailure};

/// The result of an invocation.
pub type Result<T = ()> = core::result::Result<T, Error>;

/// Why an invocation failed, with what the kernel adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// An argument word is bad; its number.
    InvalidArgument(usize),
    /// A capability is bad; its number, 0 for the one invoked.
    InvalidCapability(usize),
    /// The object refuses this now, or never.
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
        /// How.
        failure: LookupFailure,
    },
    /// Too few words or capabilities.
    TruncatedMessage,
    /// Something is in the place.
    DeleteFirst,
    /// Something was made from it.
    RevokeFirst,
    /// Not enough memory in the untyped: the bytes left.
    NotEnoughMemory(usize),
    /// The endpoint asks for more time than the caller's scheduling context can ever lend.
    BudgetTooSmall {
        /// What it takes.
        needed: Microseconds,
        /// What there is at most.
        budget: Microseconds,
    },
    /// The server has used as much of the caller's time as the endpoint allows.
    LimitReached,
    /// A label that is not in the ABI.
    Unknown(usize),
    /// Not from the kernel: the parent's own allocator has no slot or no memory left.
    OutOfResources,
    /// Not from the kernel: the program to be loaded is not a proper ELF file of this machine.
    BadProgram(&'static str),
}

impl Error {
    /// The error that an answer with a nonzero label stands for.
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
