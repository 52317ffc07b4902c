//! The kernel image for QEMU's machine *virt* itself, with any of its 64-bit cores and either version of its interrupt
//! controller. Addresses are those of [`arch_arm::virt`].
#![no_std]
#![no_main]

use core::ops::Range;

use arch_arm::any_gic::{Addresses, AnyGic};
use arch_arm::generic_timer::GenericTimer;
use arch_arm::pl011::Pl011;
use arch_arm::platform::Platform;
use arch_arm::{psci, virt};
use arch_armv8::{conduit, device_address};
use kernel::arch::{Exit, Irq, PhysAddr};

arch_armv8::kernel_image!(QemuVirt);

/// The kernel's virtual address of a device.
const fn device(address: usize) -> usize {
    device_address(QemuVirt::DEVICES, address)
}

// SAFETY: the registers of a serial port are at this address.
static CONSOLE: Pl011 = unsafe { Pl011::at(device(virt::UART)) };

type Controller = AnyGic<{ virt::INTERRUPTS }>;

const GIC: Addresses = Addresses {
    distributor: device(virt::GIC_DISTRIBUTOR),
    interface: device(virt::GIC_INTERFACE),
    redistributors: device(virt::GIC_REDISTRIBUTORS),
};

struct QemuVirt;

impl Platform for QemuVirt {
    type Controller = Controller;
    type Timer = GenericTimer;

    /// What there is on a machine of 2 GiB, if the loader does not say.
    const RAM: Range<PhysAddr> = PhysAddr(virt::RAM)..PhysAddr(virt::RAM + (2 << 30));
    const LOADED_DEVICE_TREE: Option<PhysAddr> = Some(PhysAddr(virt::RAM));
    const DEVICES: &'static [PhysAddr] = &[PhysAddr(virt::GIC_DISTRIBUTOR), PhysAddr(virt::UART)];
    const RESERVED: &'static [Range<PhysAddr>] = &virt::GIC_PARTS;
    const TIMER_INTERRUPT: Irq = virt::VIRTUAL_TIMER;

    fn start() -> (Self::Controller, Self::Timer) {
        CONSOLE.start();
        // SAFETY: these are the addresses of the devices, and only these drivers use them.
        unsafe { (Controller::start(GIC), GenericTimer::start()) }
    }

    #[cfg(feature = "smp")]
    fn start_core(core: usize) -> (Self::Controller, Self::Timer) {
        // SAFETY: as above.
        unsafe { (Controller::start_core(GIC, core), GenericTimer::start()) }
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
