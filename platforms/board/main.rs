//! The kernel image of boards with an Arm generic interrupt controller, the generic timer, and firmware that has the
//! interface PSCI. They differ in data only, which is in `platform.toml`.
#![no_std]
#![no_main]
#![cfg_attr(target_arch = "aarch64", feature(rust_preserve_none_cc))]

#[path = "mod.rs"]
mod board;

use arch_arm::generic_timer::GenericTimer;
use arch_arm::platform::{BoardData, Platform};
use arch_arm::psci;
use board::{Controller, GIC_DISTRIBUTOR, INTERFACE};
use kernel::arch::Exit;
#[cfg(feature = "smp")]
use kernel::arch::PhysAddr;

#[cfg(target_arch = "arm")]
arch_arm::aarch32_image!(Board);
#[cfg(target_arch = "aarch64")]
arch_armv8::kernel_image!(Board);

struct Board;

impl Platform for Board {
    type Controller = Controller;
    type Timer = GenericTimer;

    const DATA: BoardData = board::DATA;

    fn start() -> (Self::Controller, Self::Timer) {
        board::start_ports();
        // SAFETY: these are the addresses of the devices, and only these drivers use them.
        unsafe {
            let controller = Controller::start(GIC_DISTRIBUTOR, INTERFACE);
            (controller, GenericTimer::start())
        }
    }

    #[cfg(feature = "smp")]
    fn start_core(core: usize) -> (Self::Controller, Self::Timer) {
        // SAFETY: as above.
        unsafe {
            let controller = Controller::start_core(GIC_DISTRIBUTOR, INTERFACE, core);
            (controller, GenericTimer::start())
        }
    }

    /// The affinity of a core is its number: there is one cluster.
    #[cfg(feature = "smp")]
    fn power_on(core: usize, entry: PhysAddr) -> bool {
        // Secondary cores start in the stub, too, if there is one; it expects the kernel's entry point.
        let (entry, argument) = match board::CORE_ENTRY {
            Some(stub) => (stub, entry.0),
            None => (entry.0, core),
        };
        psci::cpu_on(board::conduit(), core, entry, argument)
    }

    fn put_byte(byte: u8) {
        board::put_byte(byte);
    }

    fn exit(exit: Exit) {
        psci::exit(board::conduit(), exit);
    }
}
