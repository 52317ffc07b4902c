//! The kernel image for the Jetson TX1, with Cortex-A57 cores.
//!
//! QEMU does not emulate the board itself; its machine *virt* with the same core is used instead, entered at
//! EL2, and with version 3 of the interrupt controller, which the board does not have.
#![no_std]
#![no_main]

#[path = "../../virt.rs"]
mod board;

use arch_arm::{gic_v3, virt};

type Controller = gic_v3::GicV3<{ virt::INTERRUPTS }>;
const INTERFACE: usize = virt::GIC_REDISTRIBUTORS;
