//! The execution state AArch32: exceptions, floating point, the kernel's own address space, and the boot path
//! up to the portable kernel. The trait [`Version`] has the parts that are specific to an architecture version;
//! a platform makes the image ([`aarch32_image`](crate::aarch32_image)).
//!
//! The assembly of this folder is assembled by the crate of the architecture version, after that
//! version's macros.
//!
//! The kernel uses only the 32-bit instruction set. Users may execute Thumb code, but the restart address
//! of a system call assumes the longer instruction, as the interface specifies.

mod boot;
#[cfg(feature = "smp")]
mod core_local;
mod fastpath;
mod fpu;
mod kernel_space;
mod state;
mod translation;
mod trap;
mod undefined;
mod user_access;
mod version;

pub use fastpath::system_call_entry;
pub use kernel_space::{DEVICE_BASE, KERNEL_BASE, WINDOW_SIZE, device_address};
pub use trap::{FATAL_STACK_SIZE, data_abort, fatal, prefetch_abort, undefined};
pub use version::Version;

/// Core-local data.
pub type CoreLocal = crate::core_local::CoreLocal<super::Context>;

use crate::machine::Machine;
