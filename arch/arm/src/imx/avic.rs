//! The interrupt controller of the i.MX31, AVIC: 64 lines, all level-triggered.
//!
//! Chapter "ARM11 Vectored Interrupt Controller (AVIC)" of the *MCIMX31 and MCIMX31L Applications
//! Processors Reference Manual* (MCIMX31RM). Vectors are not used, all lines raise IRQ, and all have
//! the same priority. The controller needs no end-of-interrupt write.

use kernel::arch::Irq;
use tock_registers::interfaces::{Readable, Writeable};
use tock_registers::registers::{ReadOnly, ReadWrite, WriteOnly};
use tock_registers::{register_bitfields, register_structs};

use crate::interrupt::{InterruptController, Trigger};
use crate::mmio::Mmio;

register_bitfields! { u32,
    /// Mask of normal interrupts.
    NIMASK [
        /// Interrupts up to this priority are masked.
        NIMASK OFFSET(0) NUMBITS(5) [
            None = 0x1f
        ]
    ],
    /// Enabling or disabling by number.
    NUMBER [
        LINE OFFSET(0) NUMBITS(6) []
    ]
}

register_structs! {
    /// The registers.
    #[allow(non_snake_case, reason = "the names of the manual")]
    Registers {
        (0x00 => INTCNTL: ReadWrite<u32>),
        (0x04 => NIMASK: ReadWrite<u32, NIMASK::Register>),
        (0x08 => INTENNUM: WriteOnly<u32, NUMBER::Register>),
        (0x0c => INTDISNUM: WriteOnly<u32, NUMBER::Register>),
        (0x10 => INTENABLEH: ReadWrite<u32>),
        (0x14 => INTENABLEL: ReadWrite<u32>),
        (0x18 => INTTYPEH: ReadWrite<u32>),
        (0x1c => INTTYPEL: ReadWrite<u32>),
        (0x20 => NIPRIORITY: [ReadWrite<u32>; 8]),
        (0x40 => _vectors_sources_and_forced),
        (0x58 => NIPNDH: ReadOnly<u32>),
        (0x5c => NIPNDL: ReadOnly<u32>),
        (0x60 => @END),
    }
}

/// The controller.
#[derive(Debug)]
pub struct Avic(Mmio<Registers>);

impl Avic {
    /// Takes over the controller: everything masked.
    ///
    /// # Safety
    /// The controller's registers are at `address`, and no other code uses them.
    pub unsafe fn start(address: usize) -> Self {
        // SAFETY: by contract.
        let avic = Self(unsafe { Mmio::at(address) });
        avic.0.INTENABLEH.set(0);
        avic.0.INTENABLEL.set(0);
        avic.0.INTCNTL.set(0);
        avic.0.INTTYPEH.set(0);
        avic.0.INTTYPEL.set(0);
        for priorities in &avic.0.NIPRIORITY {
            priorities.set(0);
        }
        avic.0.NIMASK.write(NIMASK::NIMASK::None);
        avic
    }

    /// The lines that are high and not masked. Unlike reading the vector register, this read has no side
    /// effects.
    fn pending(&self) -> u64 {
        u64::from(self.0.NIPNDH.get()) << 32 | u64::from(self.0.NIPNDL.get())
    }
}

impl InterruptController for Avic {
    const LINES: usize = 64;
    type Taken = ();

    fn take(&mut self) -> Option<(Irq, ())> {
        let pending = self.pending();
        (pending != 0).then(|| (Irq(pending.trailing_zeros() as usize), ()))
    }

    fn end(&mut self, _taken: ()) {}

    fn is_pending(&self) -> bool {
        self.pending() != 0
    }

    fn mask(&mut self, irq: Irq, masked: bool) {
        let line = NUMBER::LINE.val(irq.0 as u32);
        if masked {
            self.0.INTDISNUM.write(line);
        } else {
            self.0.INTENNUM.write(line);
        }
    }

    const HAS_TRIGGERS: bool = false;

    fn set_trigger(&mut self, _irq: Irq, _trigger: Trigger) {}

    #[cfg(feature = "smp")]
    fn route(&mut self, _irq: Irq, _core: usize) {}

    const SIGNAL_TARGETS: usize = 0;

    fn send_signal(&mut self, _number: usize, _target: usize) {}
}
