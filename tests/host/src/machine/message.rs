//! Messages, as programs see them.

use crate::CPtr;

/// What a program sends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// What it is about.
    pub label: usize,
    /// Its words.
    pub words: Vec<usize>,
    /// Addresses of the capabilities that go along.
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

/// What a program finds in its registers and buffer when a system call is done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// The badge.
    pub badge: usize,
    /// What it is about.
    pub label: usize,
    /// Its words.
    pub words: Vec<usize>,
    /// How many capabilities came along.
    pub caps: usize,
    /// For each capability, the badge that it arrived as, if it did.
    pub badges: [Option<usize>; abi::MAX_EXTRA_CAPS],
}
