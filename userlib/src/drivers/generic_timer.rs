//! The physical timer of Arm cores with the generic timer. It consists of core registers, to which users have
//! access with the ABI's option `user-timer` and in benchmark kernels; otherwise setting it raises an
//! exception.

use crate::board::PHYSICAL_TIMER_INTERRUPT;
use crate::cap::Slot;
use crate::{Environment, Microseconds, Process, Result, Startup, arch, boot, given};

/// What a component gets of this device.
pub(super) type Device = given::CoreRegisters;

pub(super) struct Timer {
    frequency: u64,
}

impl Timer {
    pub(super) const IS_THERE: bool = abi::config::USER_TIMER;

    /// A hundred years.
    pub(super) const LONGEST: Microseconds = Microseconds(100 * 365 * 86_400 * 1_000_000);

    pub(super) fn open(_: &mut Environment) -> Result<Self> {
        Ok(Self::new())
    }

    fn new() -> Self {
        Self {
            frequency: arch::timer_frequency(),
        }
    }

    /// Does nothing: every user has access or none.
    pub(super) fn give(&self, _: &mut Environment, _: &mut Process) -> Result {
        Ok(())
    }

    pub(super) fn from_startup(_: &Startup) -> Self {
        Self::new()
    }

    pub(super) fn of_device(_: &Device) -> Self {
        Self::new()
    }

    pub(super) fn issue(slot: Slot) -> Result {
        boot::IRQ_CONTROL.get(PHYSICAL_TIMER_INTERRUPT, slot)
    }

    pub(super) fn start(&self, time: Microseconds) -> Result {
        let (seconds, rest) = (time.0 / 1_000_000, time.0 % 1_000_000);
        let counts = seconds * self.frequency + rest * self.frequency / 1_000_000;
        arch::set_physical_timer(Some(counts));
        Ok(())
    }

    pub(super) fn stop(&self) -> Result {
        arch::set_physical_timer(None);
        Ok(())
    }
}
