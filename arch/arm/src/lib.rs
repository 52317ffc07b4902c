//! What Arm cores share: drivers of the interrupt controllers, timers and consoles that stand around
//! more than one of them, and the rules of the 32-bit architecture's address spaces.
//!
//! What differs between architecture versions (traps, caches, translation look-aside buffers) is in
//! the crates `arch-armv7` and its siblings; what differs between boards is in `platforms`.
#![cfg_attr(not(test), no_std)]

pub mod aarch32;
pub mod cortex_a9;
#[cfg(any(target_arch = "arm", target_arch = "aarch64"))]
pub mod generic_timer;
pub mod gic;
#[cfg(target_arch = "aarch64")]
pub mod gic_v3;
pub mod imx;
pub mod interrupt;
pub mod irq_control;
pub mod mmio;
pub mod pl011;
#[cfg(any(target_arch = "arm", target_arch = "aarch64"))]
pub mod psci;
#[cfg(any(target_arch = "arm", target_arch = "aarch64"))]
pub mod semihosting;
#[cfg(feature = "semihosting-log")]
mod semihosting_log;
pub mod timer;
pub mod virt;
