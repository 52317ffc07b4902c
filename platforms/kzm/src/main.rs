//! The kernel image for the KZM-ARM11-01 board: an i.MX31 with an ARM1136 core.
#![no_std]
#![no_main]

#[path = "../../board/mod.rs"]
mod board;

use arch_arm::imx::{Avic, Epit, ExtendedGpt, Watchdog};
use arch_arm::platform::{BoardData, Platform};
use arch_arm::semihosting;
use kernel::arch::Exit;

arch_arm::aarch32_image!(Kzm);

struct Kzm;

impl Platform for Kzm {
    type Controller = Avic;
    type Timer = ExtendedGpt;

    const DATA: BoardData = board::DATA;

    fn start() -> (Self::Controller, Self::Timer) {
        board::start_ports();
        // SAFETY: these are the addresses of the devices, and only these drivers use them.
        unsafe {
            let epit = Epit::start(board::EPIT1);
            let timer = ExtendedGpt::start(board::GPT, |counter| epit.measure(counter));
            (Avic::start(board::AVIC), timer)
        }
    }

    fn put_byte(byte: u8) {
        board::put_byte(byte);
    }

    fn exit(exit: Exit) {
        match exit {
            // SAFETY: the watchdog is at this address; the reset ends the execution.
            Exit::Success => unsafe { Watchdog::at(board::WATCHDOG).reset() },
            // A reset cannot report a failure.
            Exit::Failure => semihosting::exit(exit),
        }
    }
}
