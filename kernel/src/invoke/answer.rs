//! Results of invocations.

use crate::error::Failure;
use crate::time::Microseconds;

/// A successful invocation's result for its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// An empty message.
    Nothing,
    /// The first so many of these words.
    Words([usize; 8], usize),
    /// The operation has written the reply message itself.
    Written,
    /// The reply follows in a later kernel entry.
    Later,
}

impl Answer {
    /// A result of one word.
    pub const fn word(word: usize) -> Self {
        Self::Words([word, 0, 0, 0, 0, 0, 0, 0], 1)
    }

    /// A result that is a length of time.
    pub fn time(time: Microseconds) -> Self {
        let ([a, b], count) = time.words();
        Self::Words([a, b, 0, 0, 0, 0, 0, 0], count)
    }
}

/// The end of an operation that has no result.
pub type Done = Result<(), Failure>;

/// Outcome of an invocation.
pub type Outcome = Result<Answer, Failure>;
