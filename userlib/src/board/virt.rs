//! QEMU's machine *virt*, which plays several boards.

/// Registers of the serial port, which is also the kernel's console.
pub const UART: usize = 0x0900_0000;
/// The interrupt of the core's physical timer, as the architecture recommends (Arm Base System
/// Architecture).
pub const PHYSICAL_TIMER_INTERRUPT: usize = 30;
/// Lines of the interrupt controller that users can ask for.
pub const INTERRUPTS: usize = 160;
/// The interrupt controller is a GIC.
pub const HAS_TRIGGERS: bool = true;
/// The loader brings a device tree for kernels of 64 bits.
pub const HAS_DEVICE_TREE: bool = cfg!(target_arch = "aarch64");
