//! The snoop control unit, which keeps the data caches of the cores coherent.
//!
//! *Cortex-A9 MPCore Technical Reference Manual* (DDI 0407), section 2.2.

use core::arch::asm;

use tock_registers::interfaces::{ReadWriteable, Readable, Writeable};
use tock_registers::registers::{ReadOnly, ReadWrite, WriteOnly};
use tock_registers::{register_bitfields, register_structs};

use crate::aarch32::cp15;
use crate::mmio::Mmio;

register_bitfields! { u32,
    /// Control (section 2.2.1).
    CONTROL [
        Enable OFFSET(0) NUMBITS(1) []
    ],
    /// Configuration (section 2.2.2).
    CONFIGURATION [
        /// Number of cores minus one.
        Cores OFFSET(0) NUMBITS(2) []
    ]
}

register_structs! {
    /// The registers (table 2-1).
    Registers {
        (0x00 => control: ReadWrite<u32, CONTROL::Register>),
        (0x04 => configuration: ReadOnly<u32, CONFIGURATION::Register>),
        (0x08 => _reserved),
        (0x0c => invalidate_all: WriteOnly<u32>),
        (0x10 => @END),
    }
}

/// The unit.
#[derive(Debug)]
pub struct Scu(Mmio<Registers>);

impl Scu {
    /// The unit at `address`.
    ///
    /// # Safety
    /// Its registers are there, and no other code uses them.
    pub const unsafe fn at(address: usize) -> Self {
        // SAFETY: by contract.
        Self(unsafe { Mmio::at(address) })
    }

    /// The number of cores.
    pub fn cores(&self) -> usize {
        self.0.configuration.read(CONFIGURATION::Cores) as usize + 1
    }

    /// Makes this core a part of the coherency domain, before its caches are enabled; the boot core also
    /// enables the unit (section 5.3.5).
    pub fn join(&self) {
        /// ACTLR.SMP and ACTLR.FW: this core takes part in coherency and broadcasts its cache and TLB
        /// maintenance operations (DDI 0388, section 4.3.10).
        const TAKE_PART: usize = 1 << 6 | 1;
        if !self.0.control.is_set(CONTROL::Enable) {
            // The tags of all ways of all cores.
            self.0.invalidate_all.set(0xffff);
            self.0.control.modify(CONTROL::Enable::SET);
        }
        // SAFETY: the caches are off.
        unsafe { cp15::set_auxiliary_control(cp15::auxiliary_control() | TAKE_PART) };
        // SAFETY: a barrier only waits.
        unsafe { asm!("isb", options(nostack, preserves_flags)) };
    }
}
