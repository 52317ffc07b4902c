//! The execution state AArch64 of ARMv8-A: exceptions, caches, translation, floating point, and the boot
//! path up to the portable kernel. What it shares with AArch32 is in [`arch_arm::machine`]; a platform makes the image
//! ([`kernel_image`]).
//!
//! The kernel runs at exception level 1. Section numbers of the *Arm Architecture Reference Manual for
//! A-profile architecture* are those of DDI 0487, issue J.a.
#![no_std]
#![cfg_attr(target_os = "none", feature(optimize_attribute))]

mod boot;
mod cache;
mod cap;
mod context;
mod core_local;
mod debug;
mod device_tree;
mod fastpath;
mod fpu;
mod image;
mod initial_space;
mod invoke;
mod kernel_space;
mod paging;
mod spaces;
mod state;
mod trap;
mod user_access;

use arch_arm::machine::Machine;

pub use arch_arm::platform::Platform;
pub use boot::{Entered, conduit};
pub use cap::{Capability, FrameCap, FrameSize, Mapping};
pub use context::{Context, FpuContext};
pub use fastpath::synchronous_exception;
pub use kernel_space::{DEVICE_BASE, KERNEL_WINDOW, device_address};
pub use spaces::Asid;
pub use state::Aarch64;
pub use trap::{error, exception, fatal};

/// The architecture's state on one core of a platform.
pub type Armv8<P> = Machine<Aarch64, P>;
