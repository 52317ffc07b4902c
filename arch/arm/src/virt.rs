//! QEMU's machine *virt*: the addresses of its devices (`docs/system/arm/virt.rst` and `hw/arm/virt.c` in
//! the sources of QEMU). It emulates several of our boards.

use core::ops::Range;

use kernel::arch::{Irq, PhysAddr};

/// The start of RAM; its size is given on QEMU's command line.
pub const RAM: usize = 0x4000_0000;
/// The distributor of either version of the interrupt controller.
pub const GIC_DISTRIBUTOR: usize = 0x0800_0000;
/// The CPU interface of version 2.
pub const GIC_INTERFACE: usize = 0x0801_0000;
/// The redistributors of version 3, in the order of the cores.
pub const GIC_REDISTRIBUTORS: usize = 0x080a_0000;
/// The whole interrupt controller, of either version.
pub const GIC: Range<PhysAddr> = PhysAddr(GIC_DISTRIBUTOR)..PhysAddr(0x0900_0000);
/// The parts of the interrupt controller, of either version, that belong to the kernel: the distributor, the two pages of
/// the CPU interface; the translation service, which writes to memory, and the redistributors. Between them are the
/// registers for virtual machines, and those that turn writes of devices into interrupts.
pub const GIC_PARTS: [Range<PhysAddr>; 2] = [
    PhysAddr(GIC_DISTRIBUTOR)..PhysAddr(GIC_INTERFACE + 0x2000),
    PhysAddr(0x0808_0000)..PhysAddr(0x0900_0000),
];
/// The serial port, a PL011.
pub const UART: usize = 0x0900_0000;
/// Lines of the interrupt controller that users can request: 128 shared ones after the 32 private ones of
/// each core.
pub const INTERRUPTS: usize = 160;
/// The interrupt of the virtual timer.
pub const VIRTUAL_TIMER: Irq = Irq(27);
