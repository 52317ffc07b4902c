//! Switches a core from the 64-bit state at EL2, in which it starts, to the 32-bit state at EL1, in which the
//! kernel of hikey32 runs. See `stub.s`.
#![no_std]
#![no_main]

core::arch::global_asm!(include_str!("stub.s"));

/// Entry point of the 32-bit kernel; the tool that assembles the boot image fills it in.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".data")]
static KERNEL_ENTRY: u64 = 0;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
