//! The enhanced periodic interrupt timer of i.MX6 boards (i.MX 6Dual/6Quad reference manual, chapter
//! 24), used once at a time.

use crate::cap::Slot;
use crate::{Environment, Microseconds, Result, boot};
use tock_registers::interfaces::Writeable;
use tock_registers::registers::{ReadOnly, ReadWrite};
use tock_registers::{register_bitfields, register_structs};

/// Physical address of the registers of EPIT1.
const ADDRESS: usize = 0x020d_0000;
const INTERRUPT: usize = 88;
/// The peripheral clock in ticks per microsecond; the prescaler takes them back out.
const MEGAHERTZ: u32 = 66;

register_bitfields! [u32,
    Control [
        ENABLE OFFSET(0) NUMBITS(1) [],
        /// Counting starts at the load register when enabled.
        ENABLE_MODE OFFSET(1) NUMBITS(1) [],
        COMPARE_INTERRUPT OFFSET(2) NUMBITS(1) [],
        /// Counting starts over at the load register when it ends.
        RELOAD OFFSET(3) NUMBITS(1) [],
        /// Divides by this plus one.
        PRESCALER OFFSET(4) NUMBITS(12) [],
        WAIT_ENABLE OFFSET(19) NUMBITS(1) [],
        CLOCK_SOURCE OFFSET(24) NUMBITS(2) [
            Peripheral = 1
        ],
    ]
];

register_structs! {
    Registers {
        (0x00 => control: ReadWrite<u32, Control::Register>),
        (0x04 => status: ReadWrite<u32>),
        (0x08 => load: ReadWrite<u32>),
        (0x0c => compare: ReadWrite<u32>),
        (0x10 => _counter: ReadOnly<u32>),
        (0x14 => @END),
    }
}

pub(super) struct Timer {
    registers: &'static Registers,
}

impl Timer {
    pub(super) const LONGEST: Microseconds = Microseconds(u32::MAX as u64);

    pub(super) fn open(environment: &mut Environment) -> Result<Self> {
        let (_, address) = environment.map_device(ADDRESS)?;
        Ok(Self {
            // SAFETY: the page of the timer's registers is mapped there for good.
            registers: unsafe { &*(address as *const Registers) },
        })
    }

    pub(super) fn issue(slot: Slot) -> Result {
        boot::IRQ_CONTROL.get(INTERRUPT, slot)
    }

    pub(super) fn start(&self, time: Microseconds) -> Result {
        self.stop()?;
        let configuration = Control::CLOCK_SOURCE::Peripheral
            + Control::PRESCALER.val(MEGAHERTZ - 1)
            + Control::ENABLE_MODE::SET
            + Control::RELOAD::SET
            + Control::WAIT_ENABLE::SET
            + Control::COMPARE_INTERRUPT::SET;
        self.registers.control.write(configuration);
        self.registers.load.set(time.0.max(1) as u32);
        self.registers.compare.set(0);
        self.registers
            .control
            .write(configuration + Control::ENABLE::SET);
        Ok(())
    }

    pub(super) fn stop(&self) -> Result {
        self.registers.control.set(0);
        // Writing a one clears.
        self.registers.status.set(1);
        Ok(())
    }
}
