//! Boards with an i.MX31 (MCIMX31RM, chapters "Memory Map" and "ARM11 Vectored Interrupt Controller
//! (AVIC)").

/// Registers of the first enhanced periodic interrupt timer.
pub const EPIT1: usize = 0x53f9_4000;
/// Its interrupt.
pub const EPIT1_INTERRUPT: usize = 28;
/// Frequency of the peripheral clock after reset of the board.
pub const PERIPHERAL_MEGAHERTZ: u32 = 39;
/// Registers of the second enhanced periodic interrupt timer; the kernel uses the general purpose timer.
pub const EPIT2: usize = 0x53f9_8000;
/// Number of lines of the interrupt controller.
pub const INTERRUPTS: usize = 64;
/// All lines are level-triggered.
pub const HAS_TRIGGERS: bool = false;
/// Neither the loader nor the kernel provides a device tree.
pub const HAS_DEVICE_TREE: bool = false;

/// Whether user mode can read the processor's cycle counter.
pub const HAS_CYCLE_COUNTER: bool = false;
