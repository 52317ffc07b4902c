//! The enhanced periodic interrupt timer of i.MX processors (i.MX 6Dual/6Quad reference manual, chapter
//! 24; MCIMX31 reference manual, chapter "Enhanced Periodic Interrupt Timer (EPIT)").

use crate::board::PERIPHERAL_MEGAHERTZ;
use tock_registers::fields::FieldValue;
use tock_registers::interfaces::{Readable, Writeable};
use tock_registers::registers::{ReadOnly, ReadWrite};
use tock_registers::{register_bitfields, register_structs};

register_bitfields! [u32,
    Control [
        ENABLE OFFSET(0) NUMBITS(1) [],
        /// When enabled, counting starts at the load register (without RELOAD: at the largest number).
        ENABLE_MODE OFFSET(1) NUMBITS(1) [],
        COMPARE_INTERRUPT OFFSET(2) NUMBITS(1) [],
        /// At the end, counting restarts at the load register (if clear: at the largest number).
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
    /// The registers.
    pub(crate) Registers {
        (0x00 => control: ReadWrite<u32, Control::Register>),
        (0x04 => status: ReadWrite<u32>),
        (0x08 => load: ReadWrite<u32>),
        (0x0c => compare: ReadWrite<u32>),
        (0x10 => counter: ReadOnly<u32>),
        (0x14 => @END),
    }
}

/// A timer.
#[derive(Clone, Copy)]
pub struct Epit(&'static Registers);

// SAFETY: the registers are mapped permanently, alike for all threads of the address space, and all accesses are volatile:
// if two threads use the timer at once, it counts what was written last.
unsafe impl Send for Epit {}

impl Epit {
    /// The timer with its register page mapped permanently at `address`.
    pub(crate) fn at(address: usize) -> Self {
        // SAFETY: by contract.
        Self(unsafe { &*(address as *const Registers) })
    }

    /// The timer with its register page shared as words.
    ///
    /// # Panics
    /// If they are too few.
    pub fn shared(words: &'static [core::sync::atomic::AtomicUsize]) -> Self {
        assert!(size_of_val(words) >= size_of::<Registers>());
        Self::at(words.as_ptr() as usize)
    }

    /// A configuration with the peripheral clock, divided.
    fn configuration(divisor: u32) -> FieldValue<u32, Control::Register> {
        Control::CLOCK_SOURCE::Peripheral
            + Control::PRESCALER.val(divisor - 1)
            + Control::ENABLE_MODE::SET
            + Control::WAIT_ENABLE::SET
    }

    fn enable(self, configuration: FieldValue<u32, Control::Register>) {
        self.0.control.write(configuration + Control::ENABLE::SET);
    }

    /// Interrupts periodically, after so many microseconds each, at least one.
    pub fn start(self, microseconds: u32) {
        self.stop();
        let configuration = Self::configuration(PERIPHERAL_MEGAHERTZ)
            + Control::RELOAD::SET
            + Control::COMPARE_INTERRUPT::SET;
        self.0.control.write(configuration);
        self.0.load.set(microseconds);
        self.0.compare.set(0);
        self.enable(configuration);
    }

    /// Stops the timer and clears its interrupt.
    pub fn stop(self) {
        self.0.control.set(0);
        // Writing one clears the status bit.
        self.0.status.set(1);
    }

    /// Counts from zero at the rate of the peripheral clock, divided; without interrupts.
    pub fn start_counting(self, divisor: u32) {
        self.stop();
        self.0.control.write(Self::configuration(divisor));
        self.enable(Self::configuration(divisor));
    }

    /// Counts since [`start_counting`](Self::start_counting), in 32 bits.
    pub fn count(self) -> u32 {
        u32::MAX - self.0.counter.get()
    }
}
