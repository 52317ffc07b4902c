//! QEMU's machine *virt* and the boards that it plays, in the 64-bit state. They differ in the core, in the version of the
//! interrupt controller and what of it is reserved, and in the memory. Addresses are those of [`arch_arm::virt`].

use core::ops::Range;

use arch_arm::generic_timer::GenericTimer;
use arch_arm::pl011::Pl011;
use arch_arm::platform::Platform;
use arch_arm::{psci, virt};
use arch_armv8::{conduit, device_address};
use kernel::arch::{Exit, Irq, PhysAddr};

use crate::{Controller, INTERFACE, RAM_SIZE, RESERVED};

arch_armv8::kernel_image!(Board);

/// The kernel's virtual address of a device.
pub(crate) const fn device(address: usize) -> usize {
    device_address(Board::DEVICES, address)
}

// SAFETY: the registers of a serial port are at this address.
static CONSOLE: Pl011 = unsafe { Pl011::at(device(virt::UART)) };

struct Board;

impl Platform for Board {
    type Controller = Controller;
    type Timer = GenericTimer;

    const RAM: Range<PhysAddr> = PhysAddr(virt::RAM)..PhysAddr(virt::RAM + RAM_SIZE);
    const LOADED_DEVICE_TREE: Option<PhysAddr> = Some(PhysAddr(virt::RAM));
    const DEVICES: &'static [PhysAddr] = &[PhysAddr(virt::GIC_DISTRIBUTOR), PhysAddr(virt::UART)];
    const RESERVED: &'static [Range<PhysAddr>] = RESERVED;
    const TIMER_INTERRUPT: Irq = virt::VIRTUAL_TIMER;

    fn start() -> (Self::Controller, Self::Timer) {
        CONSOLE.start();
        // SAFETY: these are the addresses of the devices, and only these drivers use them.
        unsafe {
            let controller = Controller::start(device(virt::GIC_DISTRIBUTOR), INTERFACE);
            (controller, GenericTimer::start())
        }
    }

    #[cfg(feature = "smp")]
    fn start_core(core: usize) -> (Self::Controller, Self::Timer) {
        // SAFETY: as above.
        unsafe {
            let distributor = device(virt::GIC_DISTRIBUTOR);
            let controller = Controller::start_core(distributor, INTERFACE, core);
            (controller, GenericTimer::start())
        }
    }

    /// The affinity of a core is its number: up to eight are one cluster.
    #[cfg(feature = "smp")]
    fn power_on(core: usize, entry: PhysAddr) -> bool {
        psci::cpu_on(conduit(), core, entry.0, core)
    }

    fn put_byte(byte: u8) {
        CONSOLE.put_byte(byte);
    }

    fn exit(exit: Exit) {
        psci::exit(conduit(), exit);
    }
}
