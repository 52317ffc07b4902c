//! The timer of i.MX boards, in one-shot mode.

use crate::board::{EPIT1, EPIT1_INTERRUPT};
use crate::cap::{Attributes, Frame, Slot};
use crate::epit::Epit;
use crate::given;
use crate::startup::TIMER;
use crate::{Environment, Microseconds, Process, Result, Rights, Startup, boot};

/// What a component gets of this device.
pub(super) type Device = given::Registers;

pub(super) struct Timer {
    frame: Option<Frame>,
    epit: Epit,
}

impl Timer {
    pub(super) const IS_THERE: bool = true;

    pub(super) const LONGEST: Microseconds = Microseconds(u32::MAX as u64);

    pub(super) fn open(environment: &mut Environment) -> Result<Self> {
        let (frame, address) = environment.map_device(EPIT1)?;
        Ok(Self::at(Some(frame), address))
    }

    fn at(frame: Option<Frame>, address: usize) -> Self {
        Self {
            frame,
            epit: Epit::at(address),
        }
    }

    pub(super) fn give(&self, environment: &mut Environment, process: &mut Process) -> Result {
        let frame = self.frame.expect("only an opened timer can be given");
        let (rights, attributes) = (Rights::READ_WRITE, Attributes::DEVICE);
        process.map(environment, TIMER, frame, rights, attributes)?;
        Ok(())
    }

    pub(super) fn from_startup(startup: &Startup) -> Self {
        let (address, _) = startup
            .find_memory(TIMER)
            .expect("the parent gave no timer");
        Self::at(None, address)
    }

    pub(super) fn of_device(device: &Device) -> Self {
        // Four registers of 32 bits, and the counter.
        Self::at(None, device.place::<[u32; 5]>(0) as usize)
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
