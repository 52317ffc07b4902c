//! What Arm cores share: drivers of the interrupt controllers, timers and consoles that stand around
//! more than one of them, the list that a board fills in ([`platform`]), and the 32-bit architecture
//! ([`aarch32`]).
//!
//! What is an architecture version's own (caches, translation look-aside buffers, barriers) is in the
//! crates `arch-armv6`, `arch-armv7` and their siblings; what is a board's own is in `platforms`. Modules
//! whose instructions ARMv6 does not have are left out there.
#![cfg_attr(not(test), no_std)]

pub mod aarch32;
pub mod cadence_uart;
pub mod core_local;
pub mod cortex_a9;
#[cfg(any(target_feature = "v7", target_arch = "aarch64"))]
pub mod generic_timer;
pub mod gic;
#[cfg(target_arch = "aarch64")]
pub mod gic_v3;
pub mod imx;
pub mod interrupt;
pub mod irq_control;
pub mod lines;
pub mod mmio;
pub mod pl011;
pub mod platform;
#[cfg(any(target_feature = "v7", target_arch = "aarch64"))]
pub mod psci;
#[cfg(any(target_arch = "arm", target_arch = "aarch64"))]
pub mod semihosting;
#[cfg(feature = "semihosting-log")]
mod semihosting_log;
#[cfg(all(feature = "smp", any(target_arch = "arm", target_arch = "aarch64")))]
pub mod smp;
pub mod timer;
pub mod user_timer;
pub mod virt;
