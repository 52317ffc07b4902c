//! The kernel image for the HiKey, with Cortex-A53 cores, in the 32-bit state.
//!
//! QEMU's machine *virt* is used instead of the board: it has the same cores, and other devices. The core
//! starts in the 64-bit state at EL2; a stub (`stub/`) before this image switches to the 32-bit state. The
//! stub stays in memory, because further cores start in the same way.
#![no_std]
#![no_main]

use core::ops::Range;

use arch_arm::aarch32::machine::device_address;
use arch_arm::generic_timer::GenericTimer;
use arch_arm::gic::Gic;
use arch_arm::pl011::Pl011;
use arch_arm::platform::Platform;
use arch_arm::psci::{self, Conduit};
use arch_arm::virt;
use kernel::arch::{Exit, Irq, PhysAddr};

arch_arm::aarch32_image!(Hikey32);

/// Address of the stub; see its link script.
#[cfg(feature = "smp")]
const STUB: usize = virt::RAM + (512 << 10);
/// Load address of the kernel, after the stub.
const LOAD: usize = virt::RAM + (1 << 20);

const GIC_DISTRIBUTOR: usize = device(virt::GIC_DISTRIBUTOR);
const GIC_INTERFACE: usize = device(virt::GIC_INTERFACE);
const UART: usize = device(virt::UART);

/// The kernel's virtual address of a device.
const fn device(address: usize) -> usize {
    device_address(Hikey32::DEVICES, address)
}

// SAFETY: the registers of a serial port are at this address.
static CONSOLE: Pl011 = unsafe { Pl011::at(UART) };

struct Hikey32;

impl Platform for Hikey32 {
    type Controller = Gic<{ virt::INTERRUPTS }>;
    type Timer = GenericTimer;

    /// The end is that of `platform.toml`: on this machine, an access beyond the end of RAM is an abort.
    const RAM: Range<PhysAddr> = PhysAddr(LOAD)..PhysAddr(virt::RAM + (512 << 20));
    const DEVICES: &'static [PhysAddr] = &[PhysAddr(virt::GIC_DISTRIBUTOR), PhysAddr(virt::UART)];
    const RESERVED: &'static [Range<PhysAddr>] = &[virt::GIC, PhysAddr(virt::RAM)..PhysAddr(LOAD)];
    const TIMER_INTERRUPT: Irq = virt::VIRTUAL_TIMER;

    fn start() -> (Self::Controller, Self::Timer) {
        CONSOLE.start();
        // SAFETY: these are the addresses of the devices, and only these drivers use them.
        unsafe {
            (
                Gic::start(GIC_DISTRIBUTOR, GIC_INTERFACE),
                GenericTimer::start(),
            )
        }
    }

    #[cfg(feature = "smp")]
    fn start_core(core: usize) -> (Self::Controller, Self::Timer) {
        // SAFETY: as above.
        unsafe {
            let controller = Gic::start_core(GIC_DISTRIBUTOR, GIC_INTERFACE, core);
            (controller, GenericTimer::start())
        }
    }

    /// The affinity of a core is its number: there is one cluster.
    #[cfg(feature = "smp")]
    fn power_on(core: usize, entry: PhysAddr) -> bool {
        // Further cores start in the stub, too.
        psci::cpu_on(Conduit::Monitor, core, STUB, entry.0)
    }

    fn put_byte(byte: u8) {
        CONSOLE.put_byte(byte);
    }

    fn exit(exit: Exit) {
        psci::exit(Conduit::Monitor, exit);
    }
}
