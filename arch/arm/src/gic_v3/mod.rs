//! The Arm Generic Interrupt Controller, versions 3 and 4, as seen by one core.
//!
//! Section numbers are those of the *Arm Generic Interrupt Controller Architecture Specification, GIC
//! architecture version 3 and version 4* (IHI 0069). Affinity routing is on, every interrupt is in
//! non-secure group 1, and the CPU interface is accessed by system registers.

mod cpu_interface;
mod registers;

#[cfg(feature = "smp")]
use core::sync::atomic::{AtomicU64, Ordering};

use aarch64_cpu::registers::MPIDR_EL1;
use kernel::arch::Irq;
#[cfg(feature = "smp")]
use kernel::sched::CORES;
use tock_registers::interfaces::{Readable, Writeable};

use crate::interrupt::{InterruptController, Trigger};
use crate::mmio::Mmio;
use registers::{Distributor, GICD_CTLR, GICD_TYPER, GICR_TYPER, GICR_WAKER, Redistributor};

/// Interrupts up to 15 are software-generated, those up to 31 are private to one core (section 2.2).
const FIRST_SHARED: usize = 32;
/// Interrupt numbers from here on have special meanings (section 2.2.1).
const FIRST_SPECIAL: u32 = 1020;
/// The middle of the priority range; all interrupts have this priority.
const PRIORITY: u32 = 0x80;
/// Bytes of the registers of one redistributor without virtual LPIs (section 12.10).
const REDISTRIBUTOR_SIZE: usize = 0x2_0000;

/// The affinity of each core.
#[cfg(feature = "smp")]
static AFFINITIES: [AtomicU64; CORES] = [const { AtomicU64::new(0) }; CORES];

/// A controller with `LINES` interrupt lines in use.
#[derive(Debug)]
pub struct GicV3<const LINES: usize> {
    distributor: Mmio<Distributor>,
    /// The redistributor of this core.
    redistributor: Mmio<Redistributor>,
}

impl<const LINES: usize> GicV3<LINES> {
    /// Takes over the controller: all interrupts masked, none pending.
    ///
    /// # Safety
    /// The distributor and the redistributors are at these addresses, and no other code uses them.
    pub unsafe fn start(distributor: usize, redistributors: usize) -> Self {
        // SAFETY: by contract.
        let gic = unsafe {
            Self {
                distributor: Mmio::at(distributor),
                redistributor: own_redistributor(redistributors),
            }
        };
        #[cfg(feature = "smp")]
        AFFINITIES[0].store(affinity(), Ordering::Relaxed);
        gic.start_distributor();
        gic.start_redistributor();
        cpu_interface::start();
        gic
    }

    /// Takes over the registers of this core, number `core`; the boot core has set up the distributor.
    ///
    /// # Safety
    /// As for [`GicV3::start`].
    #[cfg(feature = "smp")]
    pub unsafe fn start_core(distributor: usize, redistributors: usize, core: usize) -> Self {
        // SAFETY: by contract.
        let gic = unsafe {
            Self {
                distributor: Mmio::at(distributor),
                redistributor: own_redistributor(redistributors),
            }
        };
        AFFINITIES[core].store(affinity(), Ordering::Relaxed);
        gic.start_redistributor();
        cpu_interface::start();
        gic
    }

    fn start_distributor(&self) {
        let distributor = &self.distributor;
        distributor.CTLR.set(0);
        self.wait_for_distributor();
        let implemented = 32 * (distributor.TYPER.read(GICD_TYPER::ITLinesNumber) as usize + 1);
        let lines = LINES.min(implemented);
        for word in FIRST_SHARED / 32..lines.div_ceil(32) {
            distributor.ICENABLER[word].set(!0);
            distributor.ICPENDR[word].set(!0);
            distributor.ICACTIVER[word].set(!0);
            distributor.IGROUPR[word].set(!0);
        }
        for word in FIRST_SHARED / 4..lines.div_ceil(4) {
            distributor.IPRIORITYR[word].set(PRIORITY * 0x0101_0101);
        }
        for word in FIRST_SHARED / 16..lines.div_ceil(16) {
            distributor.ICFGR[word].set(0);
        }
        self.wait_for_distributor();
        distributor
            .CTLR
            .write(GICD_CTLR::ARE::SET + GICD_CTLR::EnableGrp1A::SET + GICD_CTLR::EnableGrp1::SET);
        for line in FIRST_SHARED..lines {
            distributor.IROUTER[line].set(affinity());
        }
        self.wait_for_distributor();
    }

    fn start_redistributor(&self) {
        let redistributor = &self.redistributor;
        redistributor.WAKER.write(GICR_WAKER::ProcessorSleep::CLEAR);
        while redistributor.WAKER.is_set(GICR_WAKER::ChildrenAsleep) {
            core::hint::spin_loop();
        }
        redistributor.ICENABLER0.set(!0);
        redistributor.ICPENDR0.set(!0);
        redistributor.ICACTIVER0.set(!0);
        redistributor.IGROUPR0.set(!0);
        for priorities in &redistributor.IPRIORITYR {
            priorities.set(PRIORITY * 0x0101_0101);
        }
    }

    /// Waits until the distributor has completed earlier writes (section 12.9.4).
    fn wait_for_distributor(&self) {
        while self.distributor.CTLR.is_set(GICD_CTLR::RWP) {
            core::hint::spin_loop();
        }
    }
}

/// The affinity of this core, in the order of `GICD_IROUTER` and `ICC_SGI1R_EL1`.
fn affinity() -> u64 {
    const FIELDS: u64 = 0xff_00ff_ffff;
    MPIDR_EL1.get() & FIELDS
}

/// The redistributor of this core, found by its affinity: redistributors are contiguous.
///
/// # Safety
/// Redistributors begin at `address`, and no other code uses that of this core.
unsafe fn own_redistributor(mut address: usize) -> Mmio<Redistributor> {
    let own = (affinity() >> 8 & 0xff00_0000) | (affinity() & 0xff_ffff);
    loop {
        // SAFETY: by contract, as long as the last redistributor is not passed.
        let candidate: Mmio<Redistributor> = unsafe { Mmio::at(address) };
        let kind = candidate.TYPER.extract();
        if kind.read(GICR_TYPER::Affinity) == own {
            return candidate;
        }
        assert!(
            !kind.is_set(GICR_TYPER::Last),
            "this core has no redistributor"
        );
        address += REDISTRIBUTOR_SIZE;
    }
}

impl<const LINES: usize> InterruptController for GicV3<LINES> {
    const LINES: usize = LINES;
    type Taken = u32;

    fn take(&mut self) -> Option<(Irq, u32)> {
        let id = cpu_interface::acknowledge();
        (id < FIRST_SPECIAL).then_some((Irq(id as usize), id))
    }

    fn end(&mut self, taken: u32) {
        cpu_interface::end(taken);
    }

    fn is_pending(&self) -> bool {
        cpu_interface::highest_pending() < FIRST_SPECIAL
    }

    fn mask(&mut self, irq: Irq, masked: bool) {
        let bit = 1 << (irq.0 % 32);
        let register = match (irq.0 < FIRST_SHARED, masked) {
            (true, true) => &self.redistributor.ICENABLER0,
            (true, false) => &self.redistributor.ISENABLER0,
            (false, true) => &self.distributor.ICENABLER[irq.0 / 32],
            (false, false) => &self.distributor.ISENABLER[irq.0 / 32],
        };
        register.set(bit);
    }

    fn set_trigger(&mut self, irq: Irq, trigger: Trigger) {
        // Two bits per line, of which the upper one means edge-triggered (section 12.9.9). They are fixed for
        // software-generated interrupts.
        let register = if irq.0 < FIRST_SHARED {
            &self.redistributor.ICFGR[irq.0 / 16]
        } else {
            &self.distributor.ICFGR[irq.0 / 16]
        };
        let edge = 2 << (irq.0 % 16 * 2);
        let others = register.get() & !edge;
        register.set(if trigger == Trigger::Edge {
            others | edge
        } else {
            others
        });
    }

    /// Number of cores in the boot core's cluster.
    const SIGNAL_TARGETS: usize = 16;

    #[cfg(not(feature = "smp"))]
    fn send_signal(&mut self, number: usize, target: usize) {
        cpu_interface::send_signal(affinity(), number, target);
    }

    #[cfg(feature = "smp")]
    fn send_signal(&mut self, number: usize, target: usize) {
        if let Some(affinity) = AFFINITIES.get(target) {
            let affinity = affinity.load(Ordering::Relaxed);
            cpu_interface::send_signal(affinity, number, (affinity & 0xf) as usize);
        }
    }

    #[cfg(feature = "smp")]
    fn route(&mut self, irq: Irq, core: usize) {
        self.distributor.IROUTER[irq.0].set(AFFINITIES[core].load(Ordering::Relaxed));
    }
}
