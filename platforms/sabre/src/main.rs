//! The kernel image for the Sabre Lite: an i.MX 6Quad with Cortex-A9 cores.
//!
//! No loader describes the RAM, so the kernel probes for it, up to the board's maximum; RAM outside the
//! kernel's window is given to users as device memory, which they can map but in which they cannot create
//! objects.
#![no_std]
#![no_main]

#[path = "../../board/mod.rs"]
mod board;

use arch_arm::cortex_a9::GlobalTimer;
#[cfg(feature = "smp")]
use arch_arm::cortex_a9::Scu;
use arch_arm::imx::Gpt;
#[cfg(feature = "smp")]
use arch_arm::imx::Src;
use arch_arm::platform::{BoardData, Platform};
use arch_arm::semihosting;
use board::{Controller, GIC_DISTRIBUTOR, GLOBAL_TIMER, GPT, INTERFACE};
use kernel::arch::Exit;
#[cfg(feature = "smp")]
use kernel::arch::PhysAddr;

arch_arm::aarch32_image!(Sabre);

// SAFETY: the unit is at this address, and the page is mapped for the kernel.
#[cfg(feature = "smp")]
const SCU: Scu = unsafe { Scu::at(board::SCU) };

struct Sabre;

impl Platform for Sabre {
    type Controller = Controller;
    type Timer = GlobalTimer;

    const DATA: BoardData = board::DATA;

    fn start() -> (Self::Controller, Self::Timer) {
        board::start_ports();
        // SAFETY: these are the addresses of the devices, and only these drivers use them.
        unsafe {
            let gpt = Gpt::start(GPT);
            let timer = GlobalTimer::start(GLOBAL_TIMER, |counter| gpt.measure(counter));
            (Controller::start(GIC_DISTRIBUTOR, INTERFACE), timer)
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
            let controller = Controller::start_core(GIC_DISTRIBUTOR, INTERFACE, core);
            (controller, GlobalTimer::start_core(GLOBAL_TIMER))
        }
    }

    #[cfg(feature = "smp")]
    fn power_on(core: usize, entry: PhysAddr) -> bool {
        let exists = core < SCU.cores();
        if exists {
            // SAFETY: this is the address of the device.
            unsafe { Src::at(board::RESET_CONTROLLER) }.start(core, entry);
        }
        exists
    }

    fn put_byte(byte: u8) {
        board::put_byte(byte);
    }

    fn exit(exit: Exit) {
        semihosting::exit(exit);
    }
}
