//! The kernel image for QEMU's machine *virt* itself, with any of its 64-bit cores and either version of its interrupt
//! controller.
#![no_std]
#![no_main]

#[path = "../../virt.rs"]
mod board;

use core::ops::Range;

use arch_arm::any_gic::{AnyGic, Interfaces};
use arch_arm::virt;
use kernel::arch::PhysAddr;

type Controller = AnyGic<{ virt::INTERRUPTS }>;
const INTERFACE: Interfaces = Interfaces {
    cpu: board::device(virt::GIC_INTERFACE),
    redistributors: board::device(virt::GIC_REDISTRIBUTORS),
};
/// What there is on a machine of 2 GiB, if the loader does not say.
const RAM_SIZE: usize = 2 << 30;
const RESERVED: &[Range<PhysAddr>] = &virt::GIC_PARTS;
