//! Messages, as programs see them.

use crate::CPtr;

/// A message to send.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// The label.
    pub label: usize,
    /// The message words.
    pub words: Vec<usize>,
    /// Addresses of the extra capabilities.
    pub caps: Vec<CPtr>,
}

impl Message {
    /// A message without capabilities.
    pub fn new(label: usize, words: &[usize]) -> Self {
        Self {
            label,
            words: words.to_vec(),
            caps: Vec::new(),
        }
    }

    /// The same with capabilities.
    #[must_use]
    pub fn with_caps(self, caps: &[CPtr]) -> Self {
        Self {
            caps: caps.to_vec(),
            ..self
        }
    }
}

/// The content of a program's registers and buffer after a system call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// The badge.
    pub badge: usize,
    /// The label.
    pub label: usize,
    /// The message words.
    pub words: Vec<usize>,
    /// The number of extra capabilities received.
    pub caps: usize,
    /// For each extra capability that was unwrapped, its badge.
    pub badges: [Option<usize>; abi::MAX_EXTRA_CAPS],
}
