//! Error codes of invocations.

/// Why an invocation failed: the label of the answer to a Call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum ErrorCode {
    /// It did not fail.
    NoError = 0,
    /// MR0: number of the bad argument word.
    InvalidArgument,
    /// MR0: number of the bad capability; 0 is the invoked one.
    InvalidCapability,
    /// The object does not allow the operation in its state, or at all.
    IllegalOperation,
    /// MR0, MR1: least and greatest value allowed.
    RangeError,
    /// An address is not aligned.
    AlignmentError,
    /// MR0: whether the source failed; MR1..: a lookup failure.
    FailedLookup,
    /// Too few words or capabilities.
    TruncatedMessage,
    /// The destination slot or address is not empty.
    DeleteFirst,
    /// The object has children in the derivation tree.
    RevokeFirst,
    /// MR0: number of free bytes.
    NotEnoughMemory,
    /// Escapement: the caller's whole budget is below what the endpoint asks for. MR0: the budget that
    /// it takes, MR1: the budget that there is, in microseconds (as words; what does not fit is
    /// [`usize::MAX`]).
    BudgetTooSmall = 1001,
    /// Escapement: the server has used as much of the caller's time as the endpoint allows.
    LimitReached = 1002,
}

impl ErrorCode {
    const ALL: [Self; 13] = [
        Self::NoError,
        Self::InvalidArgument,
        Self::InvalidCapability,
        Self::IllegalOperation,
        Self::RangeError,
        Self::AlignmentError,
        Self::FailedLookup,
        Self::TruncatedMessage,
        Self::DeleteFirst,
        Self::RevokeFirst,
        Self::NotEnoughMemory,
        Self::BudgetTooSmall,
        Self::LimitReached,
    ];

    /// The code with a given number.
    pub fn from_number(number: usize) -> Option<Self> {
        Self::ALL.into_iter().find(|code| *code as usize == number)
    }
}

/// Why a capability address did not resolve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookupFailure {
    /// The root is not a CNode.
    InvalidRoot,
    /// The slot is empty.
    MissingCapability {
        /// Address bits not yet resolved.
        bits_left: usize,
    },
    /// The address ends inside a level, or a level ends above the address.
    DepthMismatch {
        /// Address bits not yet resolved.
        bits_left: usize,
        /// Bits that the failing level would consume.
        bits_found: usize,
    },
    /// The guard does not match.
    GuardMismatch {
        /// Address bits not yet resolved.
        bits_left: usize,
        /// The guard of the CNode capability.
        guard_found: usize,
        /// Its size.
        bits_found: usize,
    },
}

impl LookupFailure {
    /// The failure that message words stand for; the inverse of [`words`](Self::words).
    pub const fn from_words(words: [usize; 4]) -> Option<Self> {
        let [kind, bits_left, found, size] = words;
        Some(match kind {
            1 => Self::InvalidRoot,
            2 => Self::MissingCapability { bits_left },
            3 => Self::DepthMismatch {
                bits_left,
                bits_found: found,
            },
            4 => Self::GuardMismatch {
                bits_left,
                guard_found: found,
                bits_found: size,
            },
            _ => return None,
        })
    }

    /// The message words that describe this failure, and how many of them count: type, bits left,
    /// then what was found.
    pub const fn words(self) -> ([usize; 4], usize) {
        match self {
            Self::InvalidRoot => ([1, 0, 0, 0], 1),
            Self::MissingCapability { bits_left } => ([2, bits_left, 0, 0], 2),
            Self::DepthMismatch {
                bits_left,
                bits_found,
            } => ([3, bits_left, bits_found, 0], 3),
            Self::GuardMismatch {
                bits_left,
                guard_found,
                bits_found,
            } => ([4, bits_left, guard_found, bits_found], 4),
        }
    }
}
