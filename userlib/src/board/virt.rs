//! QEMU's machine *virt*, which emulates several of the boards.

/// The interrupt of the core's physical timer, with the number that the Arm Base System Architecture
/// recommends.
pub const PHYSICAL_TIMER_INTERRUPT: usize = 30;
/// Number of interrupt lines available to users.
pub const INTERRUPTS: usize = 160;
/// The interrupt controller is a GIC.
pub const HAS_TRIGGERS: bool = true;
/// The loader provides a device tree to 64-bit kernels.
pub const HAS_DEVICE_TREE: bool = cfg!(target_arch = "aarch64");

/// Whether user mode can read the processor's cycle counter.
pub const HAS_CYCLE_COUNTER: bool = true;
