//! The clock of i.MX6 boards: the general purpose timer (i.MX 6Dual/6Quad reference manual, chapter
//! 30), counting the 24 MHz crystal divided by 8.

use super::Microseconds;
use crate::board::GPT;
use crate::cap::{Attributes, Frame};
use crate::startup::CLOCK;
use crate::{Environment, Process, Result, Startup};
use abi::{BootInfo, Rights};
use core::cell::Cell;
use tock_registers::interfaces::{Readable, Writeable};
use tock_registers::registers::{ReadOnly, ReadWrite};
use tock_registers::{register_bitfields, register_structs};

/// Timer ticks per microsecond.
const MEGAHERTZ: u64 = 3;
register_bitfields! [u32,
    Control [
        ENABLE OFFSET(0) NUMBITS(1) [],
        /// When enabled, counting starts at zero.
        ENABLE_MODE OFFSET(1) NUMBITS(1) [],
        WAIT_ENABLE OFFSET(3) NUMBITS(1) [],
        DOZE_ENABLE OFFSET(4) NUMBITS(1) [],
        CLOCK_SOURCE OFFSET(6) NUMBITS(3) [
            CrystalBy8 = 5
        ],
        /// Counting continues after a compare event.
        FREE_RUN OFFSET(9) NUMBITS(1) [],
        CRYSTAL_ENABLE OFFSET(10) NUMBITS(1) [],
    ]
];

register_structs! {
    Registers {
        (0x00 => control: ReadWrite<u32, Control::Register>),
        (0x04 => prescaler: ReadWrite<u32>),
        (0x08 => status: ReadWrite<u32>),
        (0x0c => interrupt: ReadWrite<u32>),
        (0x10 => _compare),
        (0x24 => counter: ReadOnly<u32>),
        (0x28 => @END),
    }
}

/// The monotonic clock. It must be read at least once in 23 minutes, or it loses time; so must each clone.
#[derive(Clone)]
pub struct Clock {
    frame: Option<Frame>,
    registers: &'static Registers,
    last: Cell<u64>,
}

// SAFETY: the registers are mapped permanently, alike for all threads of the address space, and once the clock is started
// it only reads one of them.
unsafe impl Send for Clock {}

impl Clock {
    /// Whether it has the time of the kernel's clock, to a microsecond.
    pub const IS_THE_KERNELS: bool = false;

    /// Starts the clock, in the root task.
    pub fn start(environment: &mut Environment, _: &'static BootInfo) -> Result<Self> {
        let (frame, address) = environment.map_device(GPT)?;
        let clock = Self::at(Some(frame), address);
        let registers = clock.registers;
        registers.control.set(0);
        registers.interrupt.set(0);
        registers.prescaler.set(0);
        let configuration = Control::CLOCK_SOURCE::CrystalBy8
            + Control::CRYSTAL_ENABLE::SET
            + Control::FREE_RUN::SET
            + Control::WAIT_ENABLE::SET
            + Control::DOZE_ENABLE::SET
            + Control::ENABLE_MODE::SET;
        registers.control.write(configuration);
        registers
            .control
            .write(configuration + Control::ENABLE::SET);
        Ok(clock)
    }

    fn at(frame: Option<Frame>, address: usize) -> Self {
        Self {
            frame,
            // SAFETY: the page of the timer's registers is mapped there permanently.
            registers: unsafe { &*(address as *const Registers) },
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
        let elapsed = self.registers.counter.get().wrapping_sub(last as u32);
        let ticks = last + elapsed as u64;
        self.last.set(ticks);
        Microseconds(ticks / MEGAHERTZ)
    }
}
