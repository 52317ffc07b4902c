//! Why there is no result.

use std::fmt;

use crate::Time;

/// What an analysis returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why there is no result; printed, it is one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// A parameter or a combination of them is impossible.
    Impossible {
        /// The task, context, server, or other thing concerned.
        what: String,
        /// What is wrong with it, and what to do.
        why: String,
    },
    /// More processor time is needed than is supplied in the long run, so that nothing has a bound.
    Overload {
        /// The task concerned.
        what: String,
        /// The utilisation that is needed, in parts per million, rounded up.
        needed: u64,
        /// What is supplied, in parts per million, rounded down.
        supplied: u64,
    },
    /// With overheads charged, a deadline is missed whatever else there is: so tests fail.
    Infeasible {
        /// The task concerned.
        what: String,
        /// Why it is missed, and what to do.
        why: String,
    },
    /// The search for a bound was given up.
    NotFound {
        /// What was searched.
        what: String,
        /// How far the search had come.
        reached: Time,
    },
    /// The method does not apply to this input.
    NotApplicable {
        /// The method.
        method: &'static str,
        /// Why not.
        why: String,
    },
}

impl Error {
    pub(crate) fn impossible(what: impl Into<String>, why: impl Into<String>) -> Self {
        let (what, why) = (what.into(), why.into());
        Self::Impossible { what, why }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |ppm: &u64| format!("{}.{:04} %", ppm / 10_000, ppm % 10_000);
        match self {
            Self::Impossible { what, why } => write!(f, "{what}: {why}"),
            Self::Infeasible { what, why } => write!(f, "{what}: with overheads, {why}"),
            Self::Overload {
                what,
                needed,
                supplied,
            } => write!(
                f,
                "{what}: with all that precedes it, it needs {} of the processor and {} is supplied, so its \
                 response time has no bound; lower costs or lengthen periods",
                percent(needed),
                percent(supplied),
            ),
            Self::NotFound { what, reached } => write!(
                f,
                "{what}: no bound was found up to {reached}, where the search was given up; choose periods with a \
                 smaller common multiple, or leave some processor time free"
            ),
            Self::NotApplicable { method, why } => write!(f, "{method} does not apply: {why}"),
        }
    }
}

impl std::error::Error for Error {}
