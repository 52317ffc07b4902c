//! The global timer: one counter of 64 bits for all cores, and a comparator for each.
//!
//! Section numbers are those of the *Cortex-A9 MPCore Technical Reference Manual* (DDI 0407).

use kernel::time::{Clock, Ticks};
use tock_registers::interfaces::{Readable, Writeable};
use tock_registers::registers::ReadWrite;
use tock_registers::{register_bitfields, register_structs};

use crate::mmio::Mmio;
use crate::timer::{Counter, Timer};

register_bitfields! { u32,
    /// Control (section 4.4.2).
    CONTROL [
        /// The counter runs at the peripheral clock divided by this value plus one.
        Prescaler OFFSET(8) NUMBITS(8) [],
        /// Advance the comparator automatically after each event.
        AutoIncrement OFFSET(3) NUMBITS(1) [],
        /// Raise an interrupt on an event of this core.
        IrqEnable OFFSET(2) NUMBITS(1) [],
        /// Compare, for this core.
        CompEnable OFFSET(1) NUMBITS(1) [],
        /// Count, for all cores.
        TimerEnable OFFSET(0) NUMBITS(1) []
    ],
    /// Interrupt status (section 4.4.3).
    STATUS [
        /// The counter has reached the comparator; cleared by writing one.
        Event OFFSET(0) NUMBITS(1) []
    ]
}

register_structs! {
    /// The registers (section 4.4.1).
    Registers {
        (0x00 => counter_low: ReadWrite<u32>),
        (0x04 => counter_high: ReadWrite<u32>),
        (0x08 => control: ReadWrite<u32, CONTROL::Register>),
        (0x0c => status: ReadWrite<u32, STATUS::Register>),
        (0x10 => comparator_low: ReadWrite<u32>),
        (0x14 => comparator_high: ReadWrite<u32>),
        (0x18 => auto_increment: ReadWrite<u32>),
        (0x1c => @END),
    }
}

/// Ticks per second, as measured by the boot core.
#[cfg(feature = "smp")]
static FREQUENCY: core::sync::atomic::AtomicU32 = core::sync::atomic::AtomicU32::new(0);

/// The timer, and the clock that it counts.
#[derive(Debug)]
pub struct GlobalTimer {
    registers: Mmio<Registers>,
    clock: Clock,
}

impl GlobalTimer {
    /// Starts the counter from zero. `measure` determines its frequency in ticks per second.
    ///
    /// # Safety
    /// The registers of the global timer are at `address`, and no other code uses them.
    pub unsafe fn start(address: usize, measure: impl FnOnce(&dyn Fn() -> u64) -> u64) -> Self {
        // SAFETY: by contract.
        let registers: Mmio<Registers> = unsafe { Mmio::at(address) };
        registers.control.set(0);
        registers.counter_low.set(0);
        registers.counter_high.set(0);
        registers.status.write(STATUS::Event::SET);
        registers.control.write(CONTROL::TimerEnable::SET);
        let frequency = measure(&|| count(&registers));
        #[cfg(feature = "smp")]
        FREQUENCY.store(frequency as u32, core::sync::atomic::Ordering::Relaxed);
        Self {
            registers,
            clock: Clock::new(frequency),
        }
    }

    /// Sets up the comparator of this core; the boot core has started the counter.
    ///
    /// # Safety
    /// As for [`GlobalTimer::start`].
    #[cfg(feature = "smp")]
    pub unsafe fn start_core(address: usize) -> Self {
        // SAFETY: by contract.
        let registers: Mmio<Registers> = unsafe { Mmio::at(address) };
        registers.control.write(CONTROL::TimerEnable::SET);
        registers.status.write(STATUS::Event::SET);
        let frequency = FREQUENCY.load(core::sync::atomic::Ordering::Relaxed);
        Self {
            registers,
            clock: Clock::new(frequency.into()),
        }
    }
}

/// Reads both halves of the counter. If the lower half overflows in between, the upper half differs
/// before and after, and both are read again (section 4.4.1).
fn count(registers: &Registers) -> u64 {
    loop {
        let high = registers.counter_high.get();
        let low = registers.counter_low.get();
        if registers.counter_high.get() == high {
            return u64::from(high) << 32 | u64::from(low);
        }
    }
}

impl Timer for GlobalTimer {
    const COUNTER: Counter = Counter::Memory(core::mem::offset_of!(Self, registers));

    fn now(&self) -> Ticks {
        Ticks(count(&self.registers))
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }

    fn set_deadline(&mut self, deadline: Ticks) {
        let registers = &self.registers;
        // The comparator is disabled while only one of its halves is written (section 4.4.4).
        registers.control.write(CONTROL::TimerEnable::SET);
        registers.status.write(STATUS::Event::SET);
        registers.comparator_low.set(deadline.0 as u32);
        registers.comparator_high.set((deadline.0 >> 32) as u32);
        // From revision r2p0 on the event is raised when the counter is at or past the comparator.
        registers
            .control
            .write(CONTROL::TimerEnable::SET + CONTROL::CompEnable::SET + CONTROL::IrqEnable::SET);
    }

    fn acknowledge(&mut self) {
        self.registers.control.write(CONTROL::TimerEnable::SET);
        self.registers.status.write(STATUS::Event::SET);
    }
}
