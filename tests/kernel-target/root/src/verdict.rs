//! How a test ended.

use core::fmt;
use suite::support::protocol::{BY_TEST, FAILED, Report};
use userlib::{Fault, Message, Outcome};

/// How a test ended.
pub enum Verdict {
    /// Passed.
    Passed,
    /// Failed.
    Failed(How),
}

/// How a test failed.
pub enum How {
    /// The test reported it.
    Checked,
    /// The test panicked.
    Panicked,
    /// The test ended with an exit code.
    Exited(usize),
    /// The test faulted.
    Faulted {
        /// Whether the first thread faulted.
        first: bool,
        fault: Fault,
    },
    /// The test did not end.
    Endless,
}

impl Verdict {
    /// The verdict from a message of the test; none when a further thread has ended.
    pub fn of(badge: usize, message: &Message) -> Option<Self> {
        if message.label() == FAILED {
            return Some(Self::Failed(How::Checked));
        }
        let first = badge == BY_TEST;
        match Outcome::from(Fault::from_message(message)) {
            Outcome::Exited(0) => first.then_some(Self::Passed),
            Outcome::Exited(code) => Some(Self::Failed(How::Exited(code))),
            Outcome::Panicked => Some(Self::Failed(How::Panicked)),
            Outcome::Faulted(fault) => Some(Self::Failed(How::Faulted { first, fault })),
        }
    }
}

impl How {
    /// The failure with the test's report, for printing.
    pub fn with(self, report: Report) -> impl fmt::Display {
        Story { how: self, report }
    }
}

struct Story {
    how: How,
    report: Report,
}

impl fmt::Display for Story {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        if !self.report.is_empty() {
            return write!(out, "{}", self.report);
        }
        match &self.how {
            How::Checked => write!(out, "without a reason"),
            How::Panicked => write!(out, "panicked"),
            How::Exited(code) => write!(out, "exit code {code}"),
            How::Faulted { first: true, fault } => write!(out, "{fault:x?}"),
            How::Faulted { fault, .. } => write!(out, "in a further thread: {fault:x?}"),
            How::Endless => write!(out, "it did not end"),
        }
    }
}
