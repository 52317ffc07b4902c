//! The clock of Arm cores with the generic timer: the counter of that timer, which users may read.

use super::Microseconds;
use crate::{Environment, Process, Result, Startup, arch};
use abi::BootInfo;

/// The monotonic clock.
#[derive(Clone, Debug)]
pub struct Clock {
    frequency: u64,
}

impl Clock {
    /// Whether it has the time of the kernel's clock, to a microsecond.
    pub const IS_THE_KERNELS: bool = true;

    fn new() -> Self {
        Self {
            frequency: arch::timer_frequency(),
        }
    }

    /// Starts the clock, in the root task.
    pub fn start(_: &mut Environment, _: &'static BootInfo) -> Result<Self> {
        Ok(Self::new())
    }

    /// Gives a process access to the clock; it has access in any case.
    pub fn give(&self, _: &mut Environment, _: &mut Process) -> Result {
        Ok(())
    }

    /// The clock that the parent gave.
    pub fn from_startup(_: &Startup) -> Self {
        Self::new()
    }

    /// Time since an unspecified time before the start.
    pub fn now(&self) -> Microseconds {
        let count = arch::timer_count();
        let (seconds, rest) = (count / self.frequency, count % self.frequency);
        Microseconds(seconds * 1_000_000 + rest * 1_000_000 / self.frequency)
    }
}
