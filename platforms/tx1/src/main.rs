//! The kernel image for the Jetson TX1, with Cortex-A57 cores.
//!
//! QEMU does not emulate the board itself; its machine *virt* with the same core is used instead, entered at
//! EL2, and with version 3 of the interrupt controller, which the board does not have. Addresses are those of
//! [`arch_arm::virt`].
#![no_std]
#![no_main]

use core::ops::Range;

use arch_arm::generic_timer::GenericTimer;
use arch_arm::gic_v3::GicV3;
use arch_arm::pl011::Pl011;
use arch_arm::platform::Platform;
use arch_arm::{psci, semihosting, virt};
use arch_armv8::{conduit, device_address};
use kernel::arch::{Exit, Irq, PhysAddr};

arch_armv8::kernel_image!(Tx1);

/// The kernel's virtual address of a device.
const fn device(address: usize) -> usize {
    device_address(Tx1::DEVICES, address)
}

// SAFETY: the registers of a serial port are at this address.
static CONSOLE: Console = Console(unsafe { Pl011::at(device(virt::UART)) });

struct Console(Pl011);
// SAFETY: each access is one volatile access to a device register, which any core may make.
unsafe impl Sync for Console {}

struct Tx1;

impl Platform for Tx1 {
    type Controller = GicV3<{ virt::INTERRUPTS }>;
    type Timer = GenericTimer;

    const RAM: Range<PhysAddr> = PhysAddr(virt::RAM)..PhysAddr(virt::RAM + (128 << 20));
    const LOADED_DEVICE_TREE: Option<PhysAddr> = Some(PhysAddr(virt::RAM));
    const DEVICES: &'static [PhysAddr] = &[PhysAddr(virt::GIC_DISTRIBUTOR), PhysAddr(virt::UART)];
    const RESERVED: &'static [Range<PhysAddr>] = &[virt::GIC];
    const TIMER_INTERRUPT: Irq = virt::VIRTUAL_TIMER;

    fn start() -> (Self::Controller, Self::Timer) {
        CONSOLE.0.start();
        // SAFETY: these are the addresses of the devices, and only these drivers use them.
        unsafe {
            let controller = GicV3::start(
                device(virt::GIC_DISTRIBUTOR),
                device(virt::GIC_REDISTRIBUTORS),
            );
            (controller, GenericTimer::start())
        }
    }

    #[cfg(feature = "smp")]
    fn start_core(core: usize) -> (Self::Controller, Self::Timer) {
        // SAFETY: as above.
        unsafe {
            let controller = GicV3::start_core(
                device(virt::GIC_DISTRIBUTOR),
                device(virt::GIC_REDISTRIBUTORS),
                core,
            );
            (controller, GenericTimer::start())
        }
    }

    /// The affinity of a core is its number: there is one cluster.
    #[cfg(feature = "smp")]
    fn power_on(core: usize, entry: PhysAddr) -> bool {
        psci::cpu_on(conduit(), core, entry.0, core)
    }

    fn put_byte(byte: u8) {
        CONSOLE.0.put_byte(byte);
    }

    fn exit(exit: Exit) {
        if exit == Exit::Success {
            psci::system_off(conduit());
        }
        semihosting::exit(exit);
    }
}
