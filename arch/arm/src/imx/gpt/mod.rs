//! The general purpose timer: a counter of 32 bits with three comparators.
//!
//! Section numbers are those of chapter 30 of the *i.MX 6Dual/6Quad Applications Processor Reference
//! Manual* (IMX6DQRM). See also the chapter "General Purpose Timer (GPT)" of the *MCIMX31 and MCIMX31L
//! Applications Processors Reference Manual* (MCIMX31RM). The timers differ only in the clocks that they
//! can count.

mod calibration;
mod extended;

pub use calibration::Gpt;
pub use extended::ExtendedGpt;

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
        /// The clock that is counted.
        CLKSRC OFFSET(6) NUMBITS(3) [
            None = 0,
            Peripheral = 1,
            HighFrequency = 2,
            External = 3,
            Low = 4,
            /// i.MX6.
            CrystalDividedBy8 = 5,
            /// i.MX6.
            Crystal = 7
        ],
        /// Count while the core waits for an interrupt.
        WAITEN OFFSET(3) NUMBITS(1) [],
        /// Start from zero when enabled.
        ENMOD OFFSET(1) NUMBITS(1) [],
        /// Count.
        EN OFFSET(0) NUMBITS(1) []
    ],
    /// Status (section 30.6.3): events, each cleared by writing a one.
    SR [
        /// The counter has gone from its largest value to zero.
        ROV OFFSET(5) NUMBITS(1) [],
        /// The counter has reached comparator 1.
        OF1 OFFSET(0) NUMBITS(1) []
    ],
    /// Which events raise the interrupt (section 30.6.4).
    IR [
        ROVIE OFFSET(5) NUMBITS(1) [],
        OF1IE OFFSET(0) NUMBITS(1) []
    ]
}

register_structs! {
    /// The registers (section 30.6).
    Registers {
        (0x00 => cr: ReadWrite<u32, CR::Register>),
        (0x04 => pr: ReadWrite<u32>),
        (0x08 => sr: ReadWrite<u32, SR::Register>),
        (0x0c => ir: ReadWrite<u32, IR::Register>),
        (0x10 => ocr1: ReadWrite<u32>),
        (0x14 => _capture_and_compare),
        (0x24 => cnt: ReadOnly<u32>),
        (0x28 => @END),
    }
}

/// Puts the timer into its reset state. It is disabled first, because the reset itself does not stop a
/// running timer (IMX6DQRM section 30.5).
fn reset(registers: &Mmio<Registers>) {
    use tock_registers::interfaces::{Readable, Writeable};
    registers.cr.set(0);
    registers.ir.set(0);
    registers.cr.write(CR::SWR::SET);
    while registers.cr.is_set(CR::SWR) {
        core::hint::spin_loop();
    }
}
