//! Enters the kernel in the state in which the loaders of ready-made systems do: kernel and initial task are in
//! memory, the MMU is on, every core enters, the first one last. For tests of that entry. See `loader.s` of
//! qemu-virt, and `firmware.s` for the steps before it if this program itself is the firmware at level 3.
#![no_std]
#![no_main]

// Register groups of the interrupt controller, GICD_IGROUPR (IHI 0048B, section 4.3.4), and the GiB of the serial port.
core::arch::global_asm!(
    ".set GROUPS, 0xf9010080",
    ".set SERIAL, 3",
    include_str!("firmware.s"),
    include_str!("../../../qemu-virt/loader/src/loader.s")
);

#[path = "../../../qemu-virt/loader/src/loaded.rs"]
mod loaded;
