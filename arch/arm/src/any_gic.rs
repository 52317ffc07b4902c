//! A Generic Interrupt Controller whose version becomes known when the kernel boots, for machines that have either.

use aarch64_cpu::registers::{ID_AA64PFR0_EL1, Readable};
use kernel::arch::Irq;

use crate::gic::{Acknowledged, Gic};
use crate::gic_v3::GicV3;
use crate::interrupt::{InterruptController, Trigger};

/// A controller with `LINES` interrupt lines in use.
#[derive(Debug)]
pub enum AnyGic<const LINES: usize> {
    /// Version 1 or 2.
    V2(Gic<LINES>),
    /// Version 3 or 4.
    V3(GicV3<LINES>),
}

/// The same expression for either controller.
macro_rules! either {
    ($any:expr, $gic:ident => $result:expr) => {
        match $any {
            AnyGic::V2($gic) => $result,
            AnyGic::V3($gic) => $result,
        }
    };
}

/// Where the registers of cores are in each version.
#[derive(Clone, Copy, Debug)]
pub struct Interfaces {
    /// The CPU interface of version 2.
    pub cpu: usize,
    /// The redistributors of version 3.
    pub redistributors: usize,
}

impl<const LINES: usize> AnyGic<LINES> {
    /// Takes over the controller: all interrupts masked, none pending.
    ///
    /// # Safety
    /// The registers of the implemented version are at these addresses, and no other code uses them.
    pub unsafe fn start(distributor: usize, interfaces: Interfaces) -> Self {
        // SAFETY: by contract.
        unsafe {
            match has_system_registers() {
                false => Self::V2(Gic::start(distributor, interfaces.cpu)),
                true => Self::V3(GicV3::start(distributor, interfaces.redistributors)),
            }
        }
    }

    /// Takes over the registers of this core, number `core`; the boot core has set up the distributor.
    ///
    /// # Safety
    /// As for [`AnyGic::start`].
    #[cfg(feature = "smp")]
    pub unsafe fn start_core(distributor: usize, interfaces: Interfaces, core: usize) -> Self {
        // SAFETY: by contract.
        unsafe {
            match has_system_registers() {
                false => Self::V2(Gic::start_core(distributor, interfaces.cpu, core)),
                true => Self::V3(GicV3::start_core(
                    distributor,
                    interfaces.redistributors,
                    core,
                )),
            }
        }
    }
}

/// Whether the core has the CPU interface of version 3 or 4 (Arm ARM, `ID_AA64PFR0_EL1.GIC`).
fn has_system_registers() -> bool {
    ID_AA64PFR0_EL1.get() >> 24 & 0xf != 0
}

impl<const LINES: usize> InterruptController for AnyGic<LINES> {
    const LINES: usize = LINES;
    /// The word of the acknowledge register.
    type Taken = u32;

    fn take(&mut self) -> Option<(Irq, u32)> {
        match self {
            Self::V2(gic) => gic.take().map(|(irq, taken)| (irq, taken.get())),
            Self::V3(gic) => gic.take(),
        }
    }

    fn end(&mut self, taken: u32) {
        match self {
            Self::V2(gic) => gic.end(Acknowledged::new(taken)),
            Self::V3(gic) => gic.end(taken),
        }
    }

    fn is_pending(&self) -> bool {
        either!(self, gic => gic.is_pending())
    }

    fn mask(&mut self, irq: Irq, masked: bool) {
        either!(self, gic => gic.mask(irq, masked));
    }

    fn set_trigger(&mut self, irq: Irq, trigger: Trigger) {
        either!(self, gic => gic.set_trigger(irq, trigger));
    }

    /// As many as either version reaches.
    const SIGNAL_TARGETS: usize = Gic::<LINES>::SIGNAL_TARGETS;

    #[cfg(feature = "smp")]
    fn route(&mut self, irq: Irq, core: usize) {
        either!(self, gic => gic.route(irq, core));
    }

    fn send_signal(&mut self, number: usize, target: usize) {
        either!(self, gic => gic.send_signal(number, target));
    }
}
