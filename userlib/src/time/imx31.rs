//! The clock of i.MX31 boards: the second enhanced periodic interrupt timer. The general purpose timer is
//! the kernel's.

use super::Microseconds;
use crate::board::{EPIT2, PERIPHERAL_MEGAHERTZ};
use crate::cap::{Attributes, Frame};
use crate::epit::Epit;
use crate::{Environment, Process, Result, Startup};
use abi::{BootInfo, Rights};
use core::cell::Cell;

/// Name of the mapped registers on a startup page.
const NAME: &str = "clock";

/// Counts of the peripheral clock in one of the timer's. A power of two, as it divides the clock of QEMU's
/// model evenly, which is not quite 39 MHz; of the quotient the model takes whole hertz only.
const DIVISOR: u32 = 32;

/// A clock. It must be read at least once in 58 minutes, or it loses that time.
pub struct Clock {
    frame: Option<Frame>,
    epit: Epit,
    last: Cell<u64>,
}

impl Clock {
    /// The clock, as the root task finds it: not running.
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

    /// Lets a process read the clock.
    ///
    /// # Panics
    /// When this clock was given by a parent, not started.
    pub fn give(&self, environment: &mut Environment, process: &mut Process) -> Result {
        let frame = self.frame.expect("only the process that started the clock can give it");
        process.map(environment, NAME, frame, Rights::READ, Attributes::DEVICE)?;
        Ok(())
    }

    /// The clock that the parent gave.
    ///
    /// # Panics
    /// When it did not.
    pub fn from_startup(startup: &Startup) -> Self {
        let (address, _) = startup.find_memory(NAME).expect("the parent gave no clock");
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
