//! Enters the kernel in the state in which the loaders of ready-made systems do: kernel and initial task are in memory,
//! the MMU is on, every core enters, the first one last. For tests of that entry. See `loader.s`.
#![no_std]
#![no_main]

core::arch::global_asm!(include_str!("loader.s"));

/// What the tool that assembles the boot image knows: the kernel's entry point, its first virtual and its first physical
/// address, and what the kernel finds in its first four registers.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".data")]
static LOADED: [u64; 7] = [0; 7];

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
