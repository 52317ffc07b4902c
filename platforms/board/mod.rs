//! A board as `platform.toml` describes it, section `[board]`, and its console.
#![allow(dead_code, reason = "a board uses the registers that its devices have")]

#[cfg(target_arch = "arm")]
use arch_arm::aarch32::machine::device_address;
use arch_arm::platform::BoardData;
#[cfg(target_arch = "aarch64")]
use arch_armv8::device_address;
use kernel::arch::{Irq, PhysAddr};

// SAFETY: the registers of such a port are at this address.
static CONSOLE: Port = unsafe { Port::at(CONSOLE_ADDRESS) };

/// The kernel's virtual address of a device.
const fn device(address: usize) -> usize {
    device_address(DATA.devices, address)
}

/// Starts the console, and the port of the log, if there is one.
pub fn start_ports() {
    CONSOLE.start();
    #[cfg(feature = "log")]
    log::start();
}

/// Writes one byte to the console.
pub fn put_byte(byte: u8) {
    CONSOLE.put_byte(byte);
}

// What the tool has made: RAM, device registers and their drivers.
include!(concat!(
    env!("ESCAPEMENT_BOARD", "kernels are built by `cargo xtask`"),
    "/board.rs"
));
