//! The timer of i.MX boards, in one-shot mode.

use crate::board::{EPIT1, EPIT1_INTERRUPT};
use crate::cap::Slot;
use crate::epit::Epit;
use crate::{Environment, Microseconds, Result, boot};

pub(super) struct Timer {
    epit: Epit,
}

impl Timer {
    pub(super) const IS_THERE: bool = true;

    pub(super) const LONGEST: Microseconds = Microseconds(u32::MAX as u64);

    pub(super) fn open(environment: &mut Environment) -> Result<Self> {
        let (_, address) = environment.map_device(EPIT1)?;
        Ok(Self {
            epit: Epit::at(address),
        })
    }

    pub(super) fn issue(slot: Slot) -> Result {
        boot::IRQ_CONTROL.get(EPIT1_INTERRUPT, slot)
    }

    pub(super) fn start(&self, time: Microseconds) -> Result {
        self.epit.start(time.0.max(1) as u32);
        Ok(())
    }

    pub(super) fn stop(&self) -> Result {
        self.epit.stop();
        Ok(())
    }
}
