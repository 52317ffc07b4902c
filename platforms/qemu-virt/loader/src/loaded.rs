//! The parameters of a loader, on any board.

/// Filled in by the tool that assembles the boot image: the kernel's entry point, its first virtual and its
/// first physical address, and what the kernel finds in its first four registers.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".data")]
static LOADED: [u64; 7] = [0; 7];

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
