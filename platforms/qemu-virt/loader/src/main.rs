//! Enters the kernel in the state in which the loaders of ready-made systems do: kernel and initial task are in memory,
//! the MMU is on, every core enters, the first one last. For tests of that entry. See `loader.s`.
#![no_std]
#![no_main]

// Register groups of the interrupt controller, GICD_IGROUPR (IHI 0048B, section 4.3.4), and the GiB of the serial port.
core::arch::global_asm!(
    ".set GROUPS, 0x08000080",
    ".set SERIAL, 0",
    include_str!("loader.s")
);

mod loaded;
