//! The system reset controller of the i.MX6, which holds secondary cores in reset and releases them.
//!
//! *i.MX 6Dual/6Quad Applications Processor Reference Manual* (IMX6DQRM), chapter 60.

use kernel::arch::PhysAddr;
use tock_registers::interfaces::{Readable, Writeable};
use tock_registers::register_structs;
use tock_registers::registers::ReadWrite;

use crate::mmio::Mmio;

register_structs! {
    /// The registers that are used.
    Registers {
        /// Control: bits 22 to 24 enable cores 1 to 3.
        (0x00 => control: ReadWrite<u32>),
        (0x04 => _reserved),
        /// For each core, its entry point after reset, and an argument.
        (0x20 => entries: [Entry; 4]),
        (0x40 => @END),
    }
}

#[repr(C)]
struct Entry {
    address: ReadWrite<u32>,
    argument: ReadWrite<u32>,
}

/// The enable bit of core `n` is bit `ENABLE + n`.
const ENABLE: usize = 21;

/// The controller.
#[derive(Debug)]
pub struct Src(Mmio<Registers>);

impl Src {
    /// The controller at `address`.
    ///
    /// # Safety
    /// Its registers are there.
    pub const unsafe fn at(address: usize) -> Self {
        // SAFETY: by contract.
        Self(unsafe { Mmio::at(address) })
    }

    /// Makes a secondary core begin at `entry`.
    pub fn start(&self, core: usize, entry: PhysAddr) {
        let place = &self.0.entries[core];
        place.address.set(entry.0 as u32);
        place.argument.set(core as u32);
        let control = self.0.control.get();
        self.0.control.set(control | 1 << (ENABLE + core));
    }
}
