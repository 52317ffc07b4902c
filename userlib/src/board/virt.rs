//! QEMU's machine *virt*, which emulates several of the boards.

/// The interrupt of the core's physical timer, with the number that the Arm Base System Architecture
/// recommends.
pub const PHYSICAL_TIMER_INTERRUPT: usize = 30;
/// The distributor; both pages of version 2's interface; version 3's translation service and redistributors.
pub const CONTROLLER_PAGES: [usize; 5] = [
    0x0800_0000,
    0x0801_0000,
    0x0801_1000,
    0x0808_0000,
    0x080a_0000,
];
/// Number of interrupt lines available to users.
pub const INTERRUPTS: usize = 160;
/// The interrupt controller is a GIC.
pub const HAS_TRIGGERS: bool = true;
/// The loader provides a device tree to 64-bit kernels.
pub const HAS_DEVICE_TREE: bool = cfg!(target_arch = "aarch64");

/// Whether user mode can read the processor's cycle counter.
pub const HAS_CYCLE_COUNTER: bool = true;
