//! QEMU's machine *virt*: where its devices are (`docs/system/arm/virt.rst` and `hw/arm/virt.c` in the
//! sources of QEMU). Several of our boards are played by it.

use core::ops::Range;

use kernel::arch::{Irq, PhysAddr};

/// Where RAM begins; as much as the command line says.
pub const RAM: usize = 0x4000_0000;
/// The distributor of either version of the interrupt controller.
pub const GIC_DISTRIBUTOR: usize = 0x0800_0000;
/// The CPU interface of version 2.
pub const GIC_INTERFACE: usize = 0x0801_0000;
/// The redistributors of version 3, of one core behind the other.
pub const GIC_REDISTRIBUTORS: usize = 0x080a_0000;
/// All of the interrupt controller, whichever version.
pub const GIC: Range<PhysAddr> = PhysAddr(GIC_DISTRIBUTOR)..PhysAddr(0x0900_0000);
/// The serial port, a PL011.
pub const UART: usize = 0x0900_0000;
/// Lines of the interrupt controller that users can ask for: 128 shared ones behind the 32 of each
/// core.
pub const INTERRUPTS: usize = 160;
/// The interrupt of the virtual timer.
pub const VIRTUAL_TIMER: Irq = Irq(27);
