//! The kernel image for the HiKey, with Cortex-A53 cores.
//!
//! QEMU does not emulate the board itself; its machine *virt* with the same core and the same version of the
//! interrupt controller is used instead.
#![no_std]
#![no_main]

#[path = "../../virt.rs"]
mod board;

use arch_arm::{gic, virt};

type Controller = gic::Gic<{ virt::INTERRUPTS }>;
const INTERFACE: usize = virt::GIC_INTERFACE;
