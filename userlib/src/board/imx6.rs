//! Boards with an i.MX 6Quad (IMX6DQRM, chapters 2 and 3).

/// Registers of the first enhanced periodic interrupt timer.
pub const EPIT1: usize = 0x020d_0000;
/// Its interrupt.
pub const EPIT1_INTERRUPT: usize = 88;
/// Frequency of the peripheral clock.
pub const PERIPHERAL_MEGAHERTZ: u32 = 66;
/// Registers of the general purpose timer.
pub const GPT: usize = 0x0209_8000;
/// The interface to the core, and the distributor.
pub const CONTROLLER_PAGES: [usize; 2] = [0x00a0_0000, 0x00a0_1000];
/// Number of lines of the interrupt controller.
pub const INTERRUPTS: usize = 160;
/// The interrupt controller is a GIC.
pub const HAS_TRIGGERS: bool = true;
/// The kernel's image contains a device tree.
pub const HAS_DEVICE_TREE: bool = true;

/// Whether user mode can read the processor's cycle counter.
pub const HAS_CYCLE_COUNTER: bool = true;
