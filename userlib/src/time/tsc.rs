//! The clock of x86: the time stamp counter, which users may read.

use super::Microseconds;
use crate::startup::CLOCK;
use crate::{Environment, Process, Result, Startup, boot};
use abi::BootInfo;

/// The monotonic clock.
#[derive(Clone, Debug)]
pub struct Clock {
    megahertz: u32,
}

impl Clock {
    /// Whether it has the time of the kernel's clock, to a microsecond.
    pub const IS_THE_KERNELS: bool = true;

    /// Starts the clock, in the root task.
    ///
    /// # Panics
    /// If the boot information lacks the counter's frequency, which the ABI requires.
    pub fn start(_: &mut Environment, boot: &'static BootInfo) -> Result<Self> {
        match boot::tsc_megahertz(boot) {
            Some(megahertz) if megahertz > 0 => Ok(Self { megahertz }),
            _ => panic!("the boot information lacks the frequency of the time stamp counter"),
        }
    }

    /// Gives a process access to the clock.
    pub fn give(&self, environment: &mut Environment, process: &mut Process) -> Result {
        process.give_number(environment, CLOCK, self.megahertz as usize)
    }

    /// The clock that the parent gave.
    pub fn from_startup(startup: &Startup) -> Self {
        Self {
            megahertz: startup.number(CLOCK) as u32,
        }
    }

    /// Time since an unspecified time before the start.
    pub fn now(&self) -> Microseconds {
        Microseconds(crate::arch::time_stamp() / self.megahertz as u64)
    }
}
