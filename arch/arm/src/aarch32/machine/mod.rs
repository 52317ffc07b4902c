//! The execution state AArch32: exceptions, floating point, the kernel's own address space, and the boot path
//! up to the portable kernel. The module `version` has the parts that are specific to an architecture version;
//! a platform makes the image ([`aarch32_image`](crate::aarch32_image)).
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

/// Core-local data.
pub type CoreLocal = crate::core_local::CoreLocal<super::Context>;

/// The execution state AArch32.
#[derive(Debug)]
pub enum State {}

/// The architecture's state on one core of a platform.
pub type Machine<P> = crate::machine::Machine<State, P>;

core::arch::global_asm!(
    include_str!("version/version.s"),
    include_str!("start.s"),
    include_str!("trap.s"),
    include_str!("fpu.s"),
    ARMV6 = const cfg!(not(target_feature = "v7")) as usize,
    walk = const version::WALK,
    return_state = const super::Context::RETURN_STATE,
    restart_pc = const super::Context::RESTART_PC,
    thread_local = const super::Context::THREAD_LOCAL,
    fatal_stack_size = const FATAL_STACK_SIZE,
    stack = const CoreLocal::STACK,
    fatal_stack = const CoreLocal::FATAL_STACK,
    several_cores = const cfg!(feature = "smp") as usize,
);
