//! The memory-mapped registers of the controller. Names and section numbers are those of IHI 0069.

use tock_registers::registers::{ReadOnly, ReadWrite};
use tock_registers::{register_bitfields, register_structs};

register_bitfields! { u32,
    /// Distributor control (section 12.9.4), as seen from the non-secure state, or if there is only one
    /// security state: the bits that are at the same place in both.
    pub(super) GICD_CTLR [
        /// A write has not taken effect everywhere yet.
        RWP OFFSET(31) NUMBITS(1) [],
        /// Affinity routing.
        ARE OFFSET(4) NUMBITS(1) [],
        /// Forward interrupts of group 1.
        EnableGrp1A OFFSET(1) NUMBITS(1) [],
        /// Forward interrupts of group 1 where affinity routing is off, or of group 0.
        EnableGrp1 OFFSET(0) NUMBITS(1) []
    ],
    /// Interrupt controller type (section 12.9.38).
    pub(super) GICD_TYPER [
        /// Lines implemented: 32 * (N + 1).
        ITLinesNumber OFFSET(0) NUMBITS(5) []
    ],
    /// Power state of the redistributor (section 12.11.42).
    pub(super) GICR_WAKER [
        /// The interface to the core is not awake yet.
        ChildrenAsleep OFFSET(2) NUMBITS(1) [],
        /// The core does not accept interrupts.
        ProcessorSleep OFFSET(1) NUMBITS(1) []
    ]
}

register_bitfields! { u64,
    /// Redistributor type (section 12.11.35).
    pub(super) GICR_TYPER [
        /// The affinity of its core.
        Affinity OFFSET(32) NUMBITS(32) [],
        /// No other redistributor follows.
        Last OFFSET(4) NUMBITS(1) []
    ]
}

register_structs! {
    /// The distributor, shared by all cores (section 12.8).
    #[allow(non_snake_case, reason = "the names of the manual")]
    pub(super) Distributor {
        (0x0000 => pub CTLR: ReadWrite<u32, GICD_CTLR::Register>),
        (0x0004 => pub TYPER: ReadOnly<u32, GICD_TYPER::Register>),
        (0x0008 => _implementation),
        (0x0080 => pub IGROUPR: [ReadWrite<u32>; 32]),
        (0x0100 => pub ISENABLER: [ReadWrite<u32>; 32]),
        (0x0180 => pub ICENABLER: [ReadWrite<u32>; 32]),
        (0x0200 => _set_pending),
        (0x0280 => pub ICPENDR: [ReadWrite<u32>; 32]),
        (0x0300 => _set_active),
        (0x0380 => pub ICACTIVER: [ReadWrite<u32>; 32]),
        (0x0400 => pub IPRIORITYR: [ReadWrite<u32>; 255]),
        (0x07fc => _reserved0),
        (0x0c00 => pub ICFGR: [ReadWrite<u32>; 64]),
        (0x0d00 => _reserved1),
        (0x6000 => pub IROUTER: [ReadWrite<u64>; 1020]),
        (0x7fe0 => @END),
    }
}

register_structs! {
    /// The redistributor of a core: its control frame, followed by the frame of the core's private
    /// interrupts (section 12.10).
    #[allow(non_snake_case, reason = "the names of the manual")]
    pub(super) Redistributor {
        (0x00000 => _control),
        (0x00008 => pub TYPER: ReadOnly<u64, GICR_TYPER::Register>),
        (0x00010 => _status),
        (0x00014 => pub WAKER: ReadWrite<u32, GICR_WAKER::Register>),
        (0x00018 => _reserved0),
        (0x10080 => pub IGROUPR0: ReadWrite<u32>),
        (0x10084 => _reserved1),
        (0x10100 => pub ISENABLER0: ReadWrite<u32>),
        (0x10104 => _reserved2),
        (0x10180 => pub ICENABLER0: ReadWrite<u32>),
        (0x10184 => _reserved3),
        (0x10280 => pub ICPENDR0: ReadWrite<u32>),
        (0x10284 => _reserved4),
        (0x10380 => pub ICACTIVER0: ReadWrite<u32>),
        (0x10384 => _reserved5),
        (0x10400 => pub IPRIORITYR: [ReadWrite<u32>; 8]),
        (0x10420 => _reserved6),
        (0x10c00 => pub ICFGR: [ReadWrite<u32>; 2]),
        (0x10c08 => @END),
    }
}
