//! The general purpose timer, as a yardstick: the rates of the processor's own timers depend on how
//! the boot loader set the clocks, but this one can count a crystal.
//!
//! Chapter 30 of the *i.MX 6Dual/6Quad Applications Processor Reference Manual* (IMX6DQRM).

use tock_registers::interfaces::{Readable, Writeable};
use tock_registers::registers::{ReadOnly, ReadWrite};
use tock_registers::{register_bitfields, register_structs};

use crate::mmio::Mmio;

register_bitfields! { u32,
    /// Control (section 30.6.1).
    CR [
        /// Reset; clears itself.
        SWR OFFSET(15) NUMBITS(1) [],
        /// Do not stop at compare events.
        FRR OFFSET(9) NUMBITS(1) [],
        /// What is counted.
        CLKSRC OFFSET(6) NUMBITS(3) [
            None = 0,
            Peripheral = 1,
            HighFrequency = 2,
            External = 3,
            Low = 4,
            CrystalDividedBy8 = 5,
            Crystal = 7
        ],
        /// Start from zero when enabled.
        ENMOD OFFSET(1) NUMBITS(1) [],
        /// Count.
        EN OFFSET(0) NUMBITS(1) []
    ]
}

register_structs! {
    /// The registers (section 30.6).
    Registers {
        (0x00 => cr: ReadWrite<u32, CR::Register>),
        (0x04 => pr: ReadWrite<u32>),
        (0x08 => sr: ReadWrite<u32>),
        (0x0c => ir: ReadWrite<u32>),
        (0x10 => _capture_and_compare),
        (0x24 => cnt: ReadOnly<u32>),
        (0x28 => @END),
    }
}

/// Frequency of the crystal divided by 8.
const FREQUENCY: u64 = 3_000_000;
/// A measurement takes this many counts: 2 ms.
const SPAN: u32 = 6_000;
/// The best of so many measurements counts.
const ATTEMPTS: usize = 3;
const MEGAHERTZ: u64 = 1_000_000;

/// The timer, in use for measuring.
#[derive(Debug)]
pub struct Gpt(Mmio<Registers>);

impl Gpt {
    /// Makes the timer count the crystal.
    ///
    /// # Safety
    /// The registers of a general purpose timer are at `address`, and nobody else uses them.
    pub unsafe fn start(address: usize) -> Self {
        // SAFETY: by contract.
        let gpt = Self(unsafe { Mmio::at(address) });
        gpt.reset();
        gpt.0.pr.set(0);
        gpt.0
            .cr
            .write(CR::CLKSRC::CrystalDividedBy8 + CR::FRR::SET + CR::ENMOD::SET);
        gpt.0
            .cr
            .write(CR::CLKSRC::CrystalDividedBy8 + CR::FRR::SET + CR::ENMOD::SET + CR::EN::SET);
        gpt
    }

    fn reset(&self) {
        self.0.cr.set(0);
        self.0.ir.set(0);
        self.0.cr.write(CR::SWR::SET);
        while self.0.cr.is_set(CR::SWR) {
            core::hint::spin_loop();
        }
    }

    /// How many ticks `counter` makes in a second, to the nearest megahertz, and leaves the timer
    /// to users, as it was after reset.
    pub fn measure(self, counter: &dyn Fn() -> u64) -> u64 {
        let mut best = (u64::MAX, 0);
        for _ in 0..ATTEMPTS {
            let start = self.read_together(counter);
            while self.0.cnt.get().wrapping_sub(start.count) < SPAN {
                core::hint::spin_loop();
            }
            let end = self.read_together(counter);
            let counts = u64::from(end.count.wrapping_sub(start.count));
            let frequency = (end.ticks - start.ticks) * FREQUENCY / counts;
            best = best.min((start.doubt + end.doubt, frequency));
        }
        self.reset();
        (best.1 + MEGAHERTZ / 2) / MEGAHERTZ * MEGAHERTZ
    }

    /// Both counters at the same moment: ours changes while nothing else does.
    fn read_together(&self, counter: &dyn Fn() -> u64) -> Reading {
        let previous = self.0.cnt.get();
        loop {
            let before = counter();
            let count = self.0.cnt.get();
            let after = counter();
            if count != previous {
                return Reading {
                    count,
                    ticks: before.midpoint(after),
                    doubt: after - before,
                };
            }
        }
    }
}

struct Reading {
    count: u32,
    ticks: u64,
    /// Ticks within which the reading was taken: an emulator may be interrupted in between.
    doubt: u64,
}
