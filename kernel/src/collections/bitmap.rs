//! The set of priorities at which a thread is ready.

use abi::PRIORITIES;

const WORD: usize = usize::BITS as usize;
const WORDS: usize = PRIORITIES / WORD;
/// The index of the word of marks.
const MARKS: usize = WORDS;

/// A two-level bitmap: the greatest member is found by counting leading zeros twice. In addition to
/// priorities it holds *marks*, which are greater than all priorities.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PriorityBitmap {
    summary: usize,
    words: [usize; WORDS + 1],
}

impl PriorityBitmap {
    /// Offset of the summary word, with a bit for each other word that is not 0, for fast paths in assembly.
    pub const SUMMARY: usize = core::mem::offset_of!(Self, summary);
    /// Offset of the other words.
    pub const WORDS: usize = core::mem::offset_of!(Self, words);

    /// The empty set.
    pub const EMPTY: Self = Self {
        summary: 0,
        words: [0; WORDS + 1],
    };

    /// Adds a priority.
    pub fn insert(&mut self, priority: u8) {
        let (word, bit) = (priority as usize / WORD, priority as usize % WORD);
        self.words[word] |= 1 << bit;
        self.summary |= 1 << word;
    }

    /// Removes a priority.
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

    /// Whether the set has neither priorities nor marks.
    pub const fn is_empty(&self) -> bool {
        self.summary == 0
    }

    /// Whether another priority of the same word is in the set.
    pub const fn has_others_in_word(&self, priority: u8) -> bool {
        let (word, bit) = (priority as usize / WORD, priority as usize % WORD);
        self.words[word] & !(1 << bit) != 0
    }

    /// The highest priority of the set; with a mark, more than any priority.
    #[inline(always)]
    pub fn highest(&self) -> Option<u16> {
        let word = self.summary.checked_ilog2()? as usize;
        let bit = self.words[word].checked_ilog2()? as usize;
        Some((word * WORD + bit) as u16)
    }

    /// The highest priority of the set, regardless of marks.
    pub fn highest_priority(&self) -> Option<u8> {
        let word = (self.summary & !(1 << MARKS)).checked_ilog2()? as usize;
        let bit = self.words[word].checked_ilog2()? as usize;
        Some((word * WORD + bit) as u8)
    }

    /// Adds a mark. Its number is less than the number of bits of a word.
    pub fn mark(&mut self, mark: usize) {
        self.words[MARKS] |= 1 << mark;
        self.summary |= 1 << MARKS;
    }

    /// Removes a mark.
    pub fn unmark(&mut self, mark: usize) {
        self.words[MARKS] &= !(1 << mark);
        if !self.has_marks() {
            self.summary &= !(1 << MARKS);
        }
    }

    /// Whether there is any mark.
    #[inline(always)]
    pub const fn has_marks(&self) -> bool {
        self.words[MARKS] != 0
    }

    /// Whether a mark is set.
    #[cfg(any(test, feature = "invariants"))]
    pub const fn is_marked(&self, mark: usize) -> bool {
        self.words[MARKS] >> mark & 1 != 0
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
                prop_assert_eq!(bitmap.highest(), set.last().map(|last| u16::from(*last)));
                prop_assert_eq!(bitmap.contains(priority), insert);
            }
        }

        #[test]
        fn marks_are_beyond_all_priorities(priority: u8, mark in 0..8usize) {
            let mut bitmap = PriorityBitmap::EMPTY;
            bitmap.mark(mark);
            prop_assert!(bitmap.highest() >= Some(256));
            prop_assert_eq!(bitmap.highest_priority(), None);
            bitmap.insert(priority);
            prop_assert!(bitmap.has_marks() && bitmap.is_marked(mark));
            prop_assert!(bitmap.highest() >= Some(256));
            prop_assert_eq!(bitmap.highest_priority(), Some(priority));
            bitmap.unmark(mark);
            prop_assert!(!bitmap.has_marks() && !bitmap.is_marked(mark));
            prop_assert_eq!(bitmap.highest(), Some(priority.into()));
        }
    }
}
