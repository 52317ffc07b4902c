//! Boards with a Zynq UltraScale+ MPSoC (UG1085, chapters "System Addresses" and "Interrupts").

/// The interrupt of the core's physical timer.
pub const PHYSICAL_TIMER_INTERRUPT: usize = 30;
/// The distributor, and the interface to the core.
pub const CONTROLLER_PAGES: [usize; 2] = [0xf901_0000, 0xf902_0000];
/// Number of interrupt lines available to users.
pub const INTERRUPTS: usize = 192;
/// The interrupt controller is a GIC.
pub const HAS_TRIGGERS: bool = true;
/// Neither the loader nor the kernel provides a device tree.
pub const HAS_DEVICE_TREE: bool = false;

/// Whether user mode can read the processor's cycle counter.
pub const HAS_CYCLE_COUNTER: bool = true;
