//! The kernel image for the ZCU102 board: a Zynq UltraScale+ MPSoC with Cortex-A53 application cores.
//!
//! Addresses and interrupts are those of the *Zynq UltraScale+ Device Technical Reference Manual*
//! (UG1085), chapters "System Addresses" and "Interrupts".
#![no_std]
#![no_main]

use core::ops::Range;

use arch_arm::cadence_uart::CadenceUart;
use arch_arm::generic_timer::GenericTimer;
use arch_arm::gic::Gic;
use arch_arm::platform::Platform;
use arch_arm::psci::{self, Conduit};
use arch_armv8::device_address;
use kernel::arch::{Exit, Irq, PhysAddr};

arch_armv8::kernel_image!(Zcu102);
arch_arm::log_to_port!(CadenceUart, device(0xff01_0000));

/// The interrupt controller: distributor, CPU interface and the registers for virtual machines.
const GIC: Range<PhysAddr> = PhysAddr(0xf900_0000)..PhysAddr(0xf908_0000);
const GIC_DISTRIBUTOR: usize = device(0xf901_0000);
const GIC_INTERFACE: usize = device(0xf902_0000);
const UART0: usize = device(0xff00_0000);

/// 32 private lines of each core, then 160 shared lines.
const INTERRUPTS: usize = 192;

/// The kernel's virtual address of a device.
const fn device(address: usize) -> usize {
    device_address(Zcu102::DEVICES, address)
}

// SAFETY: the registers of a serial port are at this address.
static CONSOLE: CadenceUart = unsafe { CadenceUart::at(UART0) };

struct Zcu102;

impl Platform for Zcu102 {
    type Controller = Gic<INTERRUPTS>;
    type Timer = GenericTimer;

    /// RAM in the lower two GiB; its size is set on the emulator's command line. The first 2 MiB are left to
    /// firmware.
    const RAM: Range<PhysAddr> = PhysAddr(0x20_0000)..PhysAddr(512 << 20);
    const DEVICES: &'static [PhysAddr] = &[PhysAddr(0xf900_0000), PhysAddr(0xff00_0000)];
    const RESERVED: &'static [Range<PhysAddr>] = &[GIC];
    /// The interrupt of the virtual timer.
    const TIMER_INTERRUPT: Irq = Irq(27);

    fn start() -> (Self::Controller, Self::Timer) {
        CONSOLE.start();
        #[cfg(feature = "log")]
        log::start();
        // SAFETY: these are the addresses of the devices, and only these drivers use them.
        unsafe {
            let controller = Gic::start(GIC_DISTRIBUTOR, GIC_INTERFACE);
            (controller, GenericTimer::start())
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
        psci::cpu_on(Conduit::Monitor, core, entry.0, core)
    }

    fn put_byte(byte: u8) {
        CONSOLE.put_byte(byte);
    }

    fn exit(exit: Exit) {
        // Firmware is at the monitor level, whichever level the kernel was started at.
        psci::exit(Conduit::Monitor, exit);
    }
}
