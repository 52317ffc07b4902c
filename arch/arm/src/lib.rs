//! The parts that Arm cores share: drivers of interrupt controllers, timers and consoles that are used
//! with more than one of them, the trait that a board implements ([`platform`]), the kernel's architecture in
//! both execution states ([`machine`]), and the 32-bit architecture ([`aarch32`]).
//!
//! The 64-bit architecture is the crate `arch-armv8`; parts that depend on the board are in `platforms`. The
//! compiler's target selects the version of the 32-bit architecture: modules that need instructions which ARMv6
//! lacks are left out there.
#![cfg_attr(not(test), no_std)]
#![cfg_attr(target_os = "none", feature(optimize_attribute))]

pub mod aarch32;
#[cfg(target_arch = "aarch64")]
pub mod any_gic;
pub mod breakpoints;
pub mod cache;
pub mod cadence_uart;
pub mod cap;
pub mod core_local;
pub mod cortex_a9;
pub mod device_tree;
#[cfg(any(target_feature = "v7", target_arch = "aarch64"))]
pub mod generic_timer;
pub mod gic;
#[cfg(target_arch = "aarch64")]
pub mod gic_v3;
pub mod imx;
pub mod interrupt;
pub mod irq_control;
pub mod lines;
mod log_port;
pub mod machine;
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
pub mod spaces;
pub mod timer;
pub mod user_timer;
