//! The clock of Arm cores with the generic timer: its count of the generic timer, which users may read.

use super::Microseconds;
use crate::{Environment, Process, Result, Startup, arch};
use abi::BootInfo;

/// A clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    frequency: u64,
}

impl Clock {
    fn new() -> Self {
        Self {
            frequency: arch::timer_frequency(),
        }
    }

    /// The clock, as the root task finds it.
    pub fn start(_: &mut Environment, _: &'static BootInfo) -> Result<Self> {
        Ok(Self::new())
    }

    /// Lets a process read the clock, which it may anyway.
    pub fn give(&self, _: &mut Environment, _: &mut Process) -> Result {
        Ok(())
    }

    /// The clock that the parent gave.
    pub fn from_startup(_: &Startup) -> Self {
        Self::new()
    }

    /// Time since some moment before the start.
    pub fn now(&self) -> Microseconds {
        let count = arch::timer_count();
        let (seconds, rest) = (count / self.frequency, count % self.frequency);
        Microseconds(seconds * 1_000_000 + rest * 1_000_000 / self.frequency)
    }
}
