//! The Arm Generic Interrupt Controller, versions 1 and 2, as seen by one core.
//!
//! Section numbers are those of the *ARM Generic Interrupt Controller Architecture Specification,
//! version 2.0* (IHI 0048B). On cores with two security states and no monitor the kernel runs in the secure one, so
//! it can access all registers. Every interrupt stays in group 0, which is signalled as IRQ as long as
//! `GICC_CTLR.FIQEn` is clear (section 2.2.2). Above a monitor it runs in the non-secure state: the monitor has put all
//! interrupts into group 1, for which the same bits then are (sections 4.3.1 and 4.4.1), and writes to `GICD_IGROUPR`
//! are ignored (section 4.3.4).

#[cfg(feature = "smp")]
use core::sync::atomic::{AtomicU32, Ordering};

use kernel::arch::Irq;
#[cfg(feature = "smp")]
use kernel::sched::CORES;
use tock_registers::interfaces::{Readable, Writeable};
use tock_registers::registers::{ReadOnly, ReadWrite, WriteOnly};
use tock_registers::{LocalRegisterCopy, register_bitfields, register_structs};

use crate::interrupt::{InterruptController, Trigger};
use crate::mmio::Mmio;

register_bitfields! { u32,
    /// Distributor control (section 4.3.1).
    GICD_CTLR [
        /// Forward interrupts to the CPU interfaces.
        Enable OFFSET(0) NUMBITS(1) []
    ],
    /// Interrupt controller type (section 4.3.2).
    GICD_TYPER [
        /// Lines implemented: 32 * (N + 1).
        ITLinesNumber OFFSET(0) NUMBITS(5) []
    ],
    /// Software generated interrupt (section 4.3.15).
    GICD_SGIR [
        /// The set of target cores.
        TargetListFilter OFFSET(24) NUMBITS(2) [
            List = 0,
            Others = 1,
            Own = 2
        ],
        /// One bit for each CPU interface.
        CPUTargetList OFFSET(16) NUMBITS(8) [],
        /// The interrupt number.
        SGIINTID OFFSET(0) NUMBITS(4) []
    ],
    /// CPU interface control (section 4.4.1).
    GICC_CTLR [
        /// Signal group 0 as FIQ instead of IRQ.
        FIQEn OFFSET(3) NUMBITS(1) [],
        /// Signal group 0 interrupts.
        Enable OFFSET(0) NUMBITS(1) []
    ],
    /// Interrupt acknowledge, end of interrupt and highest pending (sections 4.4.4, 4.4.5, 4.4.7).
    GICC_INTERRUPT [
        /// For software-generated interrupts: the core that requested it.
        CPUID OFFSET(10) NUMBITS(3) [],
        /// The interrupt; 1020 and above mean that there is none (section 3.2.5).
        InterruptID OFFSET(0) NUMBITS(10) []
    ]
}

register_structs! {
    /// The distributor, shared by all cores (section 4.1.2).
    #[allow(non_snake_case, reason = "the names of the manual")]
    Distributor {
        (0x000 => CTLR: ReadWrite<u32, GICD_CTLR::Register>),
        (0x004 => TYPER: ReadOnly<u32, GICD_TYPER::Register>),
        (0x008 => _implementation),
        (0x080 => IGROUPR: [ReadWrite<u32>; 32]),
        (0x100 => ISENABLER: [ReadWrite<u32>; 32]),
        (0x180 => ICENABLER: [ReadWrite<u32>; 32]),
        (0x200 => ISPENDR: [ReadWrite<u32>; 32]),
        (0x280 => ICPENDR: [ReadWrite<u32>; 32]),
        (0x300 => ISACTIVER: [ReadWrite<u32>; 32]),
        (0x380 => ICACTIVER: [ReadWrite<u32>; 32]),
        (0x400 => IPRIORITYR: [ReadWrite<u32>; 255]),
        (0x7fc => _reserved0),
        (0x800 => ITARGETSR: [ReadWrite<u32>; 255]),
        (0xbfc => _reserved1),
        (0xc00 => ICFGR: [ReadWrite<u32>; 64]),
        (0xd00 => _reserved2),
        (0xf00 => SGIR: WriteOnly<u32, GICD_SGIR::Register>),
        (0xf04 => @END),
    }
}

register_structs! {
    /// The CPU interface, one for each core at the same address (section 4.1.3).
    #[allow(non_snake_case, reason = "the names of the manual")]
    CpuInterface {
        (0x00 => CTLR: ReadWrite<u32, GICC_CTLR::Register>),
        (0x04 => PMR: ReadWrite<u32>),
        (0x08 => BPR: ReadWrite<u32>),
        (0x0c => IAR: ReadOnly<u32, GICC_INTERRUPT::Register>),
        (0x10 => EOIR: WriteOnly<u32, GICC_INTERRUPT::Register>),
        (0x14 => RPR: ReadOnly<u32>),
        (0x18 => HPPIR: ReadOnly<u32, GICC_INTERRUPT::Register>),
        (0x1c => @END),
    }
}

/// Interrupts up to 15 are software-generated, those up to 31 are private to one core (section 2.2.1).
const FIRST_SHARED: usize = 32;
/// Interrupt numbers from here on have special meanings (section 3.2.5).
const FIRST_SPECIAL: u32 = 1020;
/// The middle of the priority range; all interrupts have this priority.
const PRIORITY: u32 = 0x80;
/// The priority mask; interrupts of priorities below it are signalled, which are all.
const ALL_PRIORITIES: u32 = 0xff;

/// The CPU interface of the boot core, as a target.
const BOOT_CORE: u32 = 1;

/// The CPU interface of each core, as a target.
#[cfg(feature = "smp")]
static TARGETS: [AtomicU32; CORES] = [const { AtomicU32::new(BOOT_CORE) }; CORES];

/// CPU interface number `core`.
#[cfg(not(feature = "smp"))]
fn target_of(core: usize) -> u32 {
    1 << core
}

/// The CPU interface of a core; zero if there is no such core.
#[cfg(feature = "smp")]
fn target_of(core: usize) -> u32 {
    TARGETS
        .get(core)
        .map_or(0, |target| target.load(Ordering::Relaxed))
}

/// A controller with `LINES` interrupt lines in use.
#[derive(Debug)]
pub struct Gic<const LINES: usize> {
    distributor: Mmio<Distributor>,
    interface: Mmio<CpuInterface>,
}

impl<const LINES: usize> Gic<LINES> {
    /// Takes over the controller: all interrupts masked, none pending.
    ///
    /// # Safety
    /// The distributor and the CPU interface of this core are at these addresses, and no other code uses
    /// them.
    pub unsafe fn start(distributor: usize, interface: usize) -> Self {
        // SAFETY: by contract.
        let gic = unsafe {
            Self {
                distributor: Mmio::at(distributor),
                interface: Mmio::at(interface),
            }
        };
        gic.start_distributor();
        #[cfg(feature = "smp")]
        gic.introduce(0);
        gic.start_interface();
        gic
    }

    /// Takes over the registers of this core, number `core`; the boot core has set up the distributor.
    ///
    /// # Safety
    /// As for [`Gic::start`].
    #[cfg(feature = "smp")]
    pub unsafe fn start_core(distributor: usize, interface: usize, core: usize) -> Self {
        // SAFETY: by contract.
        let gic = unsafe {
            Self {
                distributor: Mmio::at(distributor),
                interface: Mmio::at(interface),
            }
        };
        let distributor = &gic.distributor;
        distributor.ICENABLER[0].set(!0);
        distributor.ICPENDR[0].set(!0);
        distributor.ICACTIVER[0].set(!0);
        distributor.IGROUPR[0].set(0);
        for word in 0..FIRST_SHARED / 4 {
            distributor.IPRIORITYR[word].set(PRIORITY * 0x0101_0101);
        }
        gic.introduce(core);
        gic.start_interface();
        gic
    }

    /// Records the CPU interface of a core, which reads its own number from its banked registers (section
    /// 4.3.12).
    #[cfg(feature = "smp")]
    fn introduce(&self, core: usize) {
        TARGETS[core].store(
            self.distributor.ITARGETSR[0].get() & 0xff,
            Ordering::Relaxed,
        );
    }

    fn start_distributor(&self) {
        let distributor = &self.distributor;
        distributor.CTLR.write(GICD_CTLR::Enable::CLEAR);
        let implemented = 32 * (distributor.TYPER.read(GICD_TYPER::ITLinesNumber) as usize + 1);
        let lines = LINES.min(implemented);
        for word in 0..lines.div_ceil(32) {
            distributor.ICENABLER[word].set(!0);
            distributor.ICPENDR[word].set(!0);
            distributor.ICACTIVER[word].set(!0);
            distributor.IGROUPR[word].set(0);
        }
        for word in 0..lines.div_ceil(4) {
            distributor.IPRIORITYR[word].set(PRIORITY * 0x0101_0101);
        }
        for word in FIRST_SHARED / 4..lines.div_ceil(4) {
            // CPU interface 0, that of the boot core.
            distributor.ITARGETSR[word].set(BOOT_CORE * 0x0101_0101);
        }
        for word in FIRST_SHARED / 16..lines.div_ceil(16) {
            distributor.ICFGR[word].set(0);
        }
        distributor.CTLR.write(GICD_CTLR::Enable::SET);
    }

    fn start_interface(&self) {
        self.interface.PMR.set(ALL_PRIORITIES);
        self.interface.BPR.set(0);
        self.interface
            .CTLR
            .write(GICC_CTLR::Enable::SET + GICC_CTLR::FIQEn::CLEAR);
    }
}

/// The value read from the acknowledge register.
pub type Acknowledged = LocalRegisterCopy<u32, GICC_INTERRUPT::Register>;

impl<const LINES: usize> InterruptController for Gic<LINES> {
    const LINES: usize = LINES;
    type Taken = Acknowledged;

    fn take(&mut self) -> Option<(Irq, Acknowledged)> {
        let acknowledged = self.interface.IAR.extract();
        let id = acknowledged.read(GICC_INTERRUPT::InterruptID);
        (id < FIRST_SPECIAL).then_some((Irq(id as usize), acknowledged))
    }

    fn end(&mut self, taken: Acknowledged) {
        // The whole word: software-generated interrupts are distinguished by their sender.
        self.interface.EOIR.set(taken.get());
    }

    fn is_pending(&self) -> bool {
        self.interface.HPPIR.read(GICC_INTERRUPT::InterruptID) < FIRST_SPECIAL
    }

    #[cfg(feature = "smp")]
    fn forget(&mut self, irq: Irq) {
        // Has no effect on a level-sensitive line (section 4.3.8).
        self.distributor.ICPENDR[0].set(1 << irq.0);
    }

    fn mask(&mut self, irq: Irq, masked: bool) {
        let bit = 1 << (irq.0 % 32);
        if masked {
            self.distributor.ICENABLER[irq.0 / 32].set(bit);
        } else {
            self.distributor.ISENABLER[irq.0 / 32].set(bit);
        }
    }

    fn set_trigger(&mut self, irq: Irq, trigger: Trigger) {
        // Two bits per line, of which the upper one means edge-triggered (section 4.3.13). They are fixed for
        // software-generated interrupts, and implementation defined for private ones.
        let register = &self.distributor.ICFGR[irq.0 / 16];
        let edge = 2 << (irq.0 % 16 * 2);
        let others = register.get() & !edge;
        register.set(if trigger == Trigger::Edge {
            others | edge
        } else {
            others
        });
    }

    const SIGNAL_TARGETS: usize = 8;

    #[cfg(feature = "smp")]
    fn route(&mut self, irq: Irq, core: usize) {
        let register = &self.distributor.ITARGETSR[irq.0 / 4];
        let shift = 8 * (irq.0 % 4);
        register.set(register.get() & !(0xff << shift) | target_of(core) << shift);
    }

    fn send_signal(&mut self, number: usize, target: usize) {
        // The target core must see earlier writes when it takes the interrupt; the write to the device does
        // not wait for them by itself.
        #[cfg(feature = "smp")]
        crate::smp::publish();
        self.distributor.SGIR.write(
            GICD_SGIR::TargetListFilter::List
                + GICD_SGIR::CPUTargetList.val(target_of(target))
                + GICD_SGIR::SGIINTID.val(number as u32),
        );
    }
}
