//! The clock of i.MX31 boards: the second enhanced periodic interrupt timer. The kernel uses the general
//! purpose timer.

use super::Microseconds;
use crate::board::{EPIT2, PERIPHERAL_MEGAHERTZ};
use crate::cap::{Attributes, Frame};
use crate::epit::Epit;
use crate::startup::CLOCK;
use crate::{Environment, Process, Result, Startup};
use abi::{BootInfo, Rights};
use core::cell::Cell;

/// Ticks of the peripheral clock per timer count. It is a power of two, because that divides the clock
/// frequency of QEMU's model (not exactly 39 MHz) evenly; the model truncates the quotient to whole hertz.
const DIVISOR: u32 = 32;

/// The monotonic clock. It must be read at least once in 58 minutes, or it loses time; so must each clone.
#[derive(Clone)]
pub struct Clock {
    frame: Option<Frame>,
    epit: Epit,
    last: Cell<u64>,
}

impl Clock {
    /// Whether it has the time of the kernel's clock, to a microsecond.
    pub const IS_THE_KERNELS: bool = false;

    /// Starts the clock, in the root task.
    pub fn start(environment: &mut Environment, _: &'static BootInfo) -> Result<Self> {
        let (frame, address) = environment.map_device(EPIT2)?;
        let clock = Self::at(Some(frame), address);
        clock.epit.start_counting(DIVISOR);
        Ok(clock)
    }

    fn at(frame: Option<Frame>, address: usize) -> Self {
        Self {
            frame,
            epit: Epit::at(address),
            last: Cell::new(0),
        }
    }

    /// Gives a process access to the clock.
    ///
    /// # Panics
    /// If this clock was given by a parent, not started.
    pub fn give(&self, environment: &mut Environment, process: &mut Process) -> Result {
        let frame = self.frame.expect("only a started clock can be given");
        process.map(environment, CLOCK, frame, Rights::READ, Attributes::DEVICE)?;
        Ok(())
    }

    /// The clock that the parent gave.
    ///
    /// # Panics
    /// If the parent gave none.
    pub fn from_startup(startup: &Startup) -> Self {
        let (address, _) = startup
            .find_memory(CLOCK)
            .expect("the parent gave no clock");
        Self::at(None, address)
    }

    /// Time since the clock was started.
    pub fn now(&self) -> Microseconds {
        let last = self.last.get();
        let elapsed = self.epit.count().wrapping_sub(last as u32);
        let ticks = last + elapsed as u64;
        self.last.set(ticks);
        Microseconds(ticks * u64::from(DIVISOR) / u64::from(PERIPHERAL_MEGAHERTZ))
    }
}
