//! The kernel image for the Jetson TX1, with Cortex-A57 cores.
//!
//! QEMU does not emulate the board itself; its machine *virt* with the same core is used instead, entered at
//! EL2, and with version 3 of the interrupt controller, which the board does not have.
#![no_std]
#![no_main]

#[path = "../../virt.rs"]
mod board;

use core::ops::Range;

use arch_arm::{gic_v3, virt};
use kernel::arch::PhysAddr;

type Controller = gic_v3::GicV3<{ virt::INTERRUPTS }>;
const INTERFACE: usize = board::device(virt::GIC_REDISTRIBUTORS);
/// What there is if the loader does not say.
const RAM_SIZE: usize = 128 << 20;
const RESERVED: &[Range<PhysAddr>] = &[virt::GIC];
