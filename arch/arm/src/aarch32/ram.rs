//! Detection of the size of RAM.
//!
//! The loader of an ELF file passes no information on RAM, so the kernel probes. From the end of the memory
//! in use it goes up in steps of 1 MiB, writes a word at each step, and reads it back. Where there is no RAM
//! the word is lost. Where RAM is aliased, the first word of RAM changes: addresses past the end are decoded
//! as its beginning. Every word is restored, because it may be in use. Nothing past the first address that
//! is not RAM is accessed.

use core::ops::Range;

use kernel::arch::PhysAddr;

const STEP: usize = 1 << 20;

/// Single words of physical memory, not cached.
pub trait Words {
    /// Reads the word at an address.
    fn read(&self, address: PhysAddr) -> usize;
    /// Writes the word at an address.
    fn write(&self, address: PhysAddr, word: usize);
}

/// The end of the RAM that begins at `first`. It lies in `range`, of which nothing is in use.
pub fn find_end(first: PhysAddr, range: Range<PhysAddr>, words: &impl Words) -> PhysAddr {
    let start = range.start.0.next_multiple_of(STEP);
    let mut steps = (start..range.end.0).step_by(STEP).map(PhysAddr);
    steps
        .find(|&address| !is_ram(first, address, words))
        .unwrap_or(range.end)
}

/// Whether there is RAM at `address` that is not an alias of `first`.
fn is_ram(first: PhysAddr, address: PhysAddr, words: &impl Words) -> bool {
    let (first_word, word) = (words.read(first), words.read(address));
    // Different from both, so that a change is visible.
    let trial = [!word, !word ^ 1]
        .into_iter()
        .find(|&trial| trial != first_word)
        .unwrap_or(!word);
    words.write(address, trial);
    // In this order: the read of `first` clears what a floating bus retains of the write.
    let is_apart = words.read(first) == first_word;
    let is_there = words.read(address) == trial;
    words.write(address, word);
    is_apart && is_there
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    const FIRST: usize = 0x8000_0000;

    /// Memory of some mebibytes, by the first word of each.
    struct Memory {
        words: RefCell<Vec<usize>>,
        /// Whether addresses past the end are aliases of the beginning.
        repeats: bool,
    }

    impl Memory {
        fn new(mebibytes: usize, repeats: bool) -> Self {
            let words = (0..mebibytes).map(|index| index * 0x0101_0101).collect();
            Self {
                words: RefCell::new(words),
                repeats,
            }
        }

        fn index(&self, address: PhysAddr) -> Option<usize> {
            let index = (address.0 - FIRST) / STEP;
            let count = self.words.borrow().len();
            (index < count || self.repeats).then_some(index % count)
        }
    }

    impl Words for Memory {
        fn read(&self, address: PhysAddr) -> usize {
            self.index(address)
                .map_or(usize::MAX, |index| self.words.borrow()[index])
        }

        fn write(&self, address: PhysAddr, word: usize) {
            if let Some(index) = self.index(address) {
                self.words.borrow_mut()[index] = word;
            }
        }
    }

    fn end(memory: &Memory, used: usize, most: usize) -> usize {
        let range = PhysAddr(FIRST + used)..PhysAddr(FIRST + most * STEP);
        let before = memory.words.borrow().clone();
        let end = find_end(PhysAddr(FIRST), range, memory);
        assert_eq!(*memory.words.borrow(), before, "memory has changed");
        (end.0 - FIRST) / STEP
    }

    #[test]
    fn ram_ends_where_words_are_lost() {
        assert_eq!(end(&Memory::new(128, false), 0x12_3000, 256), 128);
        assert_eq!(end(&Memory::new(3, false), 0x12_3000, 256), 3);
    }

    #[test]
    fn ram_ends_where_it_is_seen_again() {
        // Memory in use is not written through its alias either.
        assert_eq!(end(&Memory::new(128, true), 0x52_3000, 256), 128);
        assert_eq!(end(&Memory::new(8, true), 0x12_3000, 256), 8);
    }

    #[test]
    fn ram_ends_where_the_platform_says_at_the_latest() {
        assert_eq!(end(&Memory::new(512, false), 0x12_3000, 480), 480);
        assert_eq!(end(&Memory::new(480, true), 0x12_3000, 480), 480);
    }
}
