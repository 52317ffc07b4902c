//! The number of instructions from the boot image's first one to the root task's first one.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// The boot of the first processor.
pub struct Boot {
    /// The addresses of both instructions.
    addresses: Range<u64>,
    is_running: AtomicBool,
    count: AtomicU64,
}

/// What a block of instructions, about to be executed for the first time, is to the boot.
#[derive(Debug, PartialEq, Eq)]
pub enum Part {
    /// Before or after it: firmware, a user.
    None,
    /// Its instructions count.
    Some,
    /// The first one after it; so many instructions came before.
    End(u64),
}

impl Boot {
    /// A boot between instructions at these addresses.
    pub fn new(addresses: Range<u64>) -> Self {
        Self {
            addresses,
            is_running: AtomicBool::new(false),
            count: AtomicU64::new(0),
        }
    }

    /// A block that begins at this address.
    pub fn part(&self, start: u64) -> Part {
        let is_running = self.is_running.load(Relaxed);
        if !is_running && start == self.addresses.start && self.count.load(Relaxed) == 0 {
            self.is_running.store(true, Relaxed);
            return Part::Some;
        }
        if is_running && start == self.addresses.end {
            self.is_running.store(false, Relaxed);
            return Part::End(self.count.load(Relaxed));
        }
        if is_running { Part::Some } else { Part::None }
    }

    /// Executes an instruction of such a block.
    pub fn execute(&self, processor: u32) {
        if processor == 0 && self.is_running.load(Relaxed) {
            self.count.store(self.count.load(Relaxed) + 1, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Boot, Part};

    #[test]
    fn instructions_between_both_addresses_count() {
        let boot = Boot::new(0x100..0x900);
        assert_eq!(boot.part(0x50), Part::None);
        assert_eq!(boot.part(0x900), Part::None);
        boot.execute(0);
        assert_eq!(boot.part(0x100), Part::Some);
        boot.execute(0);
        assert_eq!(boot.part(0x50), Part::Some);
        boot.execute(0);
        boot.execute(1);
        assert_eq!(boot.part(0x900), Part::End(2));
        boot.execute(0);
        assert_eq!(boot.part(0x900), Part::None);
        assert_eq!(boot.part(0x100), Part::None);
    }
}
