//! The addresses of instructions that were executed in sequence.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// The maximum number of addresses kept; of a longer path only the beginning is kept.
const KEPT: usize = 1 << 16;

/// A growing path.
#[derive(Default)]
pub struct Path {
    length: AtomicUsize,
    /// Allocated when needed: most of the possible processors do not exist.
    addresses: OnceLock<Box<[AtomicU64]>>,
}

impl Path {
    /// Appends an instruction.
    pub fn push(&self, address: u64) {
        let addresses = self
            .addresses
            .get_or_init(|| (0..KEPT).map(|_| AtomicU64::new(0)).collect());
        let length = self.length.load(Relaxed);
        if let Some(place) = addresses.get(length) {
            place.store(address, Relaxed);
        }
        self.length.store(length + 1, Relaxed);
    }

    /// The number of instructions.
    pub fn length(&self) -> usize {
        self.length.load(Relaxed)
    }

    /// Starts a new path. Returns the old length; the old addresses can still be copied.
    pub fn restart(&self) -> usize {
        let length = self.length();
        // Usually the length is 0 already, and no write is needed.
        if length != 0 {
            self.length.store(0, Relaxed);
        }
        length
    }

    /// The kept instructions in a range; valid until the first push after a restart.
    pub fn copy(&self, range: Range<usize>) -> Vec<u64> {
        let addresses = self.addresses.get().map_or(&[][..], |all| all);
        let kept = addresses.iter().take(range.end).skip(range.start);
        kept.map(|address| address.load(Relaxed)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{KEPT, Path};

    #[test]
    fn a_path_is_kept_until_the_next_begins() {
        let path = Path::default();
        assert_eq!(path.restart(), 0);
        path.push(7);
        path.push(8);
        let length = path.restart();
        assert_eq!((path.length(), path.copy(0..length)), (0, vec![7, 8]));
        path.push(9);
        assert_eq!(path.copy(0..path.length()), [9]);
    }

    #[test]
    fn all_instructions_of_a_long_path_count() {
        let path = Path::default();
        (0..=KEPT as u64).for_each(|address| path.push(address));
        let length = path.restart();
        assert_eq!((length, path.copy(1..length).len()), (KEPT + 1, KEPT - 1));
    }
}
