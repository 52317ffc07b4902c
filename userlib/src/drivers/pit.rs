//! The programmable interval timer of PCs, channel 0 (Intel 8254 data sheet).

use crate::cap::{IoApicPin, IoPort, Slot};
use crate::startup::TIMER;
use crate::{
    CPtr, Capability, Environment, Microseconds, Process, Result, Rights, Startup, boot, given,
};

/// Timer ticks per second.
const FREQUENCY: u64 = 1_193_182;
const CHANNEL_0: u16 = 0x40;
const COMMAND: u16 = 0x43;
/// Channel 0, low byte then high byte, mode 0: the output rises at the end of the count.
const ONE_SHOT: u8 = 0b0011_0000;
/// The I/O APIC input of the timer on all PCs with ACPI.
const PIN: IoApicPin = IoApicPin {
    io_apic: 0,
    pin: 2,
    level: false,
    active_low: false,
};
/// The timer's interrupt vector for users.
const VECTOR: usize = 2;

/// What a component gets of this device.
pub(super) type Device = given::Ports;

pub(super) struct Timer {
    ports: IoPort,
}

impl Timer {
    pub(super) const IS_THERE: bool = true;

    pub(super) const LONGEST: Microseconds = Microseconds(0xffff * 1_000_000 / FREQUENCY);

    pub(super) fn open(environment: &mut Environment) -> Result<Self> {
        let slot = environment.allocator.allocate_slot()?;
        boot::IO_PORT_CONTROL.issue(CHANNEL_0, COMMAND, slot)?;
        Ok(Self {
            ports: IoPort::at(CPtr(slot.index)),
        })
    }

    pub(super) fn give(&self, environment: &mut Environment, process: &mut Process) -> Result {
        process.give(environment, TIMER, self.ports, Rights::ALL)?;
        Ok(())
    }

    pub(super) fn from_startup(startup: &Startup) -> Self {
        Self {
            ports: startup.capability(TIMER),
        }
    }

    pub(super) fn of_device(device: &Device) -> Self {
        Self {
            ports: device.capability(),
        }
    }

    pub(super) fn issue(slot: Slot) -> Result {
        boot::IRQ_CONTROL.get_io_apic(PIN, VECTOR, slot)
    }

    pub(super) fn start(&self, time: Microseconds) -> Result {
        let ticks = (time.0 * FREQUENCY).div_ceil(1_000_000).clamp(1, 0xffff) as u16;
        let [low, high] = ticks.to_le_bytes();
        self.ports.out8(COMMAND, ONE_SHOT)?;
        self.ports.out8(CHANNEL_0, low)?;
        self.ports.out8(CHANNEL_0, high)
    }

    /// Does nothing: a one-shot timer stops by itself.
    pub(super) fn stop(&self) -> Result {
        Ok(())
    }
}
