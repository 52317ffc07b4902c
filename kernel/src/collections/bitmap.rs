//! The set of priorities at which somebody is ready.

use abi::PRIORITIES;

const WORD: usize = usize::BITS as usize;
const WORDS: usize = PRIORITIES / WORD;

/// A two-level bitmap: the greatest member is found by counting leading zeros twice.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PriorityBitmap {
    summary: usize,
    words: [usize; WORDS],
}

impl PriorityBitmap {
    /// Offset of the word that tells which of the others are not 0, for fast paths in assembly.
    pub const SUMMARY: usize = core::mem::offset_of!(Self, summary);
    /// Offset of the others.
    pub const WORDS: usize = core::mem::offset_of!(Self, words);

    /// The empty set.
    pub const EMPTY: Self = Self {
        summary: 0,
        words: [0; WORDS],
    };

    /// Adds a priority.
    pub fn insert(&mut self, priority: u8) {
        let (word, bit) = (priority as usize / WORD, priority as usize % WORD);
        self.words[word] |= 1 << bit;
        self.summary |= 1 << word;
    }

    /// Takes a priority out.
    pub fn remove(&mut self, priority: u8) {
        let (word, bit) = (priority as usize / WORD, priority as usize % WORD);
        self.words[word] &= !(1 << bit);
        if self.words[word] == 0 {
            self.summary &= !(1 << word);
        }
    }

    /// Whether a priority is in the set.
    pub const fn contains(&self, priority: u8) -> bool {
        let (word, bit) = (priority as usize / WORD, priority as usize % WORD);
        self.words[word] >> bit & 1 != 0
    }

    /// The most urgent priority of the set.
    pub fn highest(&self) -> Option<u8> {
        let word = self.summary.checked_ilog2()? as usize;
        let bit = self.words[word].checked_ilog2()? as usize;
        Some((word * WORD + bit) as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::PriorityBitmap;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn agrees_with_a_set(steps: Vec<(bool, u8)>) {
            let (mut bitmap, mut set) = (PriorityBitmap::EMPTY, BTreeSet::new());
            for (insert, priority) in steps {
                if insert {
                    bitmap.insert(priority);
                    set.insert(priority);
                } else {
                    bitmap.remove(priority);
                    set.remove(&priority);
                }
                prop_assert_eq!(bitmap.highest(), set.last().copied());
                prop_assert_eq!(bitmap.contains(priority), insert);
            }
        }
    }
}
