//! The kernel image for the Sabre Lite: an i.MX 6Quad with Cortex-A9 cores.
//!
//! Addresses and interrupts are those of the *i.MX 6Dual/6Quad Applications Processor Reference Manual*
//! (IMX6DQRM), chapters 2 (memory map) and 3 (interrupts), and of the *Cortex-A9 MPCore Technical
//! Reference Manual* (ARM DDI 0407), section 1.5 (private memory region).
//!
//! The kernel gets no information about RAM. It probes for the most that the board can have; RAM outside the
//! kernel's window is given to users as device memory, which they can map but in which they cannot create
//! objects.
#![no_std]
#![no_main]

use core::ops::Range;

use arch_arm::aarch32::machine::device_address;
use arch_arm::cortex_a9::GlobalTimer;
#[cfg(feature = "smp")]
use arch_arm::cortex_a9::Scu;
use arch_arm::gic::Gic;
#[cfg(feature = "smp")]
use arch_arm::imx::Src;
use arch_arm::imx::{Gpt, Uart};
use arch_arm::platform::Platform;
use arch_arm::semihosting;
use kernel::arch::{Exit, Irq, PhysAddr};

arch_arm::aarch32_image!(Sabre);
arch_arm::log_to_port!(Uart, device(0x021e_8000));

/// The private memory region of the Cortex-A9.
const PRIVATE: usize = 0x00a0_0000;
const GIC_INTERFACE: usize = device(PRIVATE + 0x100);
const GLOBAL_TIMER: usize = device(PRIVATE + 0x200);
const GIC_DISTRIBUTOR: usize = device(PRIVATE + 0x1000);
/// The end of the region, including the outer cache's controller after the private memory region.
const PRIVATE_END: usize = PRIVATE + 0x3000;
/// Benchmarks read the global timer themselves if the processor has no cycle counter (QEMU 7.2).
const RESERVED: usize = if cfg!(feature = "bench") {
    PRIVATE + 0x1000
} else {
    PRIVATE
};
const GPT: usize = device(0x0209_8000);
const UART1: usize = device(0x0202_0000);

#[cfg(feature = "smp")]
const RESET_CONTROLLER: usize = device(0x020d_8000);
// SAFETY: the unit is at this address, and the page is mapped for the kernel.
#[cfg(feature = "smp")]
const SCU: Scu = unsafe { Scu::at(device(PRIVATE)) };

/// 32 private lines of each core, then 128 shared lines.
const INTERRUPTS: usize = 160;

/// The kernel's virtual address of a device.
const fn device(address: usize) -> usize {
    device_address(Sabre::DEVICES, address)
}

// SAFETY: the registers of a serial port are at this address.
static CONSOLE: Uart = unsafe { Uart::at(UART1) };

struct Sabre;

impl Platform for Sabre {
    type Controller = Gic<INTERRUPTS>;
    type Timer = GlobalTimer;

    const RAM: Range<PhysAddr> = PhysAddr(0x1000_0000)..PhysAddr(0x5000_0000);
    const DEVICES: &'static [PhysAddr] = &[
        PhysAddr(PRIVATE),
        PhysAddr(0x0200_0000),
        PhysAddr(0x0210_0000),
    ];
    const RESERVED: &'static [Range<PhysAddr>] = &[PhysAddr(RESERVED)..PhysAddr(PRIVATE_END)];
    const TIMER_INTERRUPT: Irq = Irq(27);
    const DEVICE_TREE: &'static [u8] = include_bytes!(concat!(env!("OUT_DIR"), "/device_tree.dtb"));

    fn start() -> (Self::Controller, Self::Timer) {
        CONSOLE.start();
        #[cfg(feature = "log")]
        log::start();
        // SAFETY: these are the addresses of the devices, and only these drivers use them.
        unsafe {
            let gpt = Gpt::start(GPT);
            let timer = GlobalTimer::start(GLOBAL_TIMER, |counter| gpt.measure(counter));
            (Gic::start(GIC_DISTRIBUTOR, GIC_INTERFACE), timer)
        }
    }

    #[cfg(feature = "smp")]
    fn join_caches() {
        SCU.join();
    }

    #[cfg(feature = "smp")]
    fn start_core(core: usize) -> (Self::Controller, Self::Timer) {
        // SAFETY: as above.
        unsafe {
            let controller = Gic::start_core(GIC_DISTRIBUTOR, GIC_INTERFACE, core);
            (controller, GlobalTimer::start_core(GLOBAL_TIMER))
        }
    }

    #[cfg(feature = "smp")]
    fn power_on(core: usize, entry: PhysAddr) -> bool {
        let exists = core < SCU.cores();
        if exists {
            // SAFETY: this is the address of the device.
            unsafe { Src::at(RESET_CONTROLLER) }.start(core, entry);
        }
        exists
    }

    fn put_byte(byte: u8) {
        CONSOLE.put_byte(byte);
    }

    fn exit(exit: Exit) {
        semihosting::exit(exit);
    }
}
