//! The kernel image for the KZM-ARM11-01 board: an i.MX31 with an ARM1136 core.
//!
//! Addresses and interrupts are those of the *MCIMX31 and MCIMX31L Applications Processors Reference
//! Manual* (MCIMX31RM), chapters "Memory Map" and "ARM11 Vectored Interrupt Controller (AVIC)".
#![no_std]
#![no_main]

use core::ops::Range;

use arch_arm::aarch32::machine::device_address;
use arch_arm::imx::{Avic, Epit, ExtendedGpt, Uart, Watchdog};
use arch_arm::platform::Platform;
use arch_arm::semihosting;
use kernel::arch::{Exit, Irq, PhysAddr};

arch_arm::aarch32_image!(Kzm);
arch_arm::log_to_port!(Uart, device(0x43f9_4000));

/// The page of the general purpose timer, which has no other registers.
const GPT_PAGE: usize = 0x53f9_0000;
/// The interrupt controller's page.
const AVIC_PAGE: usize = 0x6800_0000;
/// The page of the clock controller. It is reserved, because changing clocks changes the kernel's time.
const CLOCK_PAGE: usize = 0x53f8_0000;
const PAGE: usize = 0x1000;

const GPT: usize = device(GPT_PAGE);
const AVIC: usize = device(AVIC_PAGE);
const EPIT1: usize = device(0x53f9_4000);
const WATCHDOG: usize = device(0x53fd_c000);
const UART1: usize = device(0x43f9_0000);

/// The kernel's virtual address of a device.
const fn device(address: usize) -> usize {
    device_address(Kzm::DEVICES, address)
}

const fn page(address: usize) -> Range<PhysAddr> {
    PhysAddr(address)..PhysAddr(address + PAGE)
}

// SAFETY: the registers of a serial port are at this address.
static CONSOLE: Uart = unsafe { Uart::at(UART1) };

struct Kzm;

impl Platform for Kzm {
    type Controller = Avic;
    type Timer = ExtendedGpt;

    /// One bank of the memory controller.
    const RAM: Range<PhysAddr> = PhysAddr(0x8000_0000)..PhysAddr(0x9000_0000);
    const DEVICES: &'static [PhysAddr] = &[
        PhysAddr(0x43f0_0000),
        PhysAddr(0x53f0_0000),
        PhysAddr(AVIC_PAGE),
    ];
    const RESERVED: &'static [Range<PhysAddr>] =
        &[page(CLOCK_PAGE), page(GPT_PAGE), page(AVIC_PAGE)];
    const TIMER_INTERRUPT: Irq = Irq(29);

    fn start() -> (Self::Controller, Self::Timer) {
        CONSOLE.start();
        #[cfg(feature = "log")]
        log::start();
        // SAFETY: these are the addresses of the devices, and only these drivers use them.
        unsafe {
            let epit = Epit::start(EPIT1);
            let timer = ExtendedGpt::start(GPT, |counter| epit.measure(counter));
            (Avic::start(AVIC), timer)
        }
    }

    fn put_byte(byte: u8) {
        CONSOLE.put_byte(byte);
    }

    fn exit(exit: Exit) {
        match exit {
            // SAFETY: the watchdog is at this address; the reset ends the execution.
            Exit::Success => unsafe { Watchdog::at(WATCHDOG).reset() },
            // A reset cannot report a failure.
            Exit::Failure => semihosting::exit(exit),
        }
    }
}
