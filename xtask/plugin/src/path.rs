//! The addresses of instructions that a processor has executed, or has waited for, in sequence.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// The maximum number of addresses kept; of a longer path only the end is kept.
const KEPT: usize = 1 << 16;

/// An instruction of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub address: u64,
    /// Whether another processor has executed it, and this one has waited for that.
    pub is_waited_for: bool,
}

impl Step {
    /// In one word. The two highest bits of a kernel address are equal.
    const fn encode(self) -> u64 {
        self.address << 1 | self.is_waited_for as u64
    }

    const fn decode(word: u64) -> Self {
        Self {
            address: (word.cast_signed() >> 1).cast_unsigned(),
            is_waited_for: word & 1 != 0,
        }
    }
}

/// A growing path.
#[derive(Default)]
pub struct Path {
    length: AtomicUsize,
    /// Allocated when needed: most of the possible processors do not exist.
    steps: OnceLock<Box<[AtomicU64; KEPT]>>,
}

impl Path {
    /// Appends an instruction.
    #[inline]
    pub fn push(&self, step: Step) {
        let steps = self.steps.get_or_init(|| {
            let zeros: Box<[_]> = (0..KEPT).map(|_| AtomicU64::new(0)).collect();
            zeros.try_into().unwrap_or_else(|_| unreachable!())
        });
        let length = self.length.load(Relaxed);
        steps[length % KEPT].store(step.encode(), Relaxed);
        self.length.store(length + 1, Relaxed);
    }

    /// The number of instructions.
    #[inline]
    pub fn length(&self) -> usize {
        self.length.load(Relaxed)
    }

    /// Starts a new path. Returns the old length; the old instructions can still be copied.
    pub fn restart(&self) -> usize {
        self.length.swap(0, Relaxed)
    }

    /// The kept instructions in a range of a path with `range.end` instructions or more; valid until the first push
    /// after a restart.
    pub fn copy(&self, range: Range<usize>) -> impl Iterator<Item = Step> {
        let first = range.start.max(range.end.saturating_sub(KEPT));
        let steps = self.steps.get();
        (first..range.end)
            .filter_map(move |place| Some(Step::decode(steps?[place % KEPT].load(Relaxed))))
    }
}

#[cfg(test)]
mod tests {
    use super::{KEPT, Path, Step};

    fn own(address: u64) -> Step {
        Step {
            address,
            is_waited_for: false,
        }
    }

    #[test]
    fn addresses_of_all_machines_fit_with_their_origin() {
        for address in [0x8000_1001, 0xffff_0018, 0xffff_ff80_0000_0004, u64::MAX] {
            for is_waited_for in [false, true] {
                let step = Step {
                    address,
                    is_waited_for,
                };
                assert_eq!(Step::decode(step.encode()), step);
            }
        }
    }

    #[test]
    fn a_path_is_kept_until_the_next_begins() {
        let path = Path::default();
        assert_eq!(path.restart(), 0);
        path.push(own(7));
        path.push(own(8));
        let length = path.restart();
        assert_eq!(path.length(), 0);
        assert!(path.copy(0..length).eq([own(7), own(8)]));
        path.push(own(9));
        assert!(path.copy(0..path.length()).eq([own(9)]));
    }

    #[test]
    fn all_instructions_of_a_long_path_count_and_its_end_is_kept() {
        let path = Path::default();
        (0..=KEPT as u64).for_each(|address| path.push(own(address)));
        let length = path.restart();
        assert_eq!((length, path.copy(0..length).count()), (KEPT + 1, KEPT));
        assert!(path.copy(0..length).eq((1..=KEPT as u64).map(own)));
    }
}
