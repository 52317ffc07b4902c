//! The enhanced periodic interrupt timer, used for calibration.
//!
//! Chapter "Enhanced Periodic Interrupt Timer (EPIT)" of the *MCIMX31 and MCIMX31L Applications
//! Processors Reference Manual* (MCIMX31RM). It can count the 32 kHz crystal; its rate does not depend
//! on how the boot loader set the other clocks.

use tock_registers::interfaces::{Readable, Writeable};
use tock_registers::registers::{ReadOnly, ReadWrite};
use tock_registers::{register_bitfields, register_structs};

use super::measure::measure;
use crate::mmio::Mmio;

register_bitfields! { u32,
    /// Control.
    CR [
        /// What is counted.
        CLKSRC OFFSET(24) NUMBITS(2) [
            None = 0,
            Peripheral = 1,
            HighFrequency = 2,
            Low = 3
        ],
        /// Start from the largest value when enabled.
        ENMOD OFFSET(1) NUMBITS(1) [],
        /// Count.
        EN OFFSET(0) NUMBITS(1) []
    ]
}

register_structs! {
    /// The registers.
    Registers {
        (0x00 => cr: ReadWrite<u32, CR::Register>),
        (0x04 => _status_load_and_compare),
        (0x10 => cnr: ReadOnly<u32>),
        (0x14 => @END),
    }
}

/// The timer, in use for calibration.
#[derive(Debug)]
pub struct Epit(Mmio<Registers>);

impl Epit {
    /// Makes the timer count the crystal.
    ///
    /// # Safety
    /// The registers of a timer are at `address`, and no other code uses them.
    pub unsafe fn start(address: usize) -> Self {
        // SAFETY: by contract.
        let epit = Self(unsafe { Mmio::at(address) });
        epit.0.cr.set(0);
        let setup = CR::CLKSRC::Low + CR::ENMOD::SET;
        epit.0.cr.write(setup);
        epit.0.cr.write(setup + CR::EN::SET);
        epit
    }

    /// The frequency of `counter`, to the nearest megahertz. Stops the timer, which users may then get.
    pub fn measure(self, counter: &dyn Fn() -> u64) -> u64 {
        // It counts down.
        let reference = || u32::MAX - self.0.cnr.get();
        let frequency = measure(counter, &reference, 32_768);
        self.0.cr.set(0);
        frequency
    }
}
