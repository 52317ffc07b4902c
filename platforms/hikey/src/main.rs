//! The kernel image for the HiKey, with Cortex-A53 cores.
//!
//! QEMU does not emulate the board itself; its machine *virt* with the same core and the same version of the
//! interrupt controller is used instead.
#![no_std]
#![no_main]

#[path = "../../virt.rs"]
mod board;

use core::ops::Range;

use arch_arm::{gic, virt};
use kernel::arch::PhysAddr;

type Controller = gic::Gic<{ virt::INTERRUPTS }>;
const INTERFACE: usize = board::device(virt::GIC_INTERFACE);
/// What there is if the loader does not say.
const RAM_SIZE: usize = 128 << 20;
const RESERVED: &[Range<PhysAddr>] = &[virt::GIC];
