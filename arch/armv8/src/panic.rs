//! Kernel panics.

use core::fmt::Write;
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicBool, Ordering};

use aarch64_cpu::asm::wfi;
use kernel::arch::Exit;
use kernel::console::Console;

use crate::{Armv8, Platform};

/// Writes the message and its source position to the console, and ends the run.
pub fn panic<P: Platform>(info: &PanicInfo<'_>) -> ! {
    static PANICKING: AtomicBool = AtomicBool::new(false);
    // If the output or the exit panics too, the kernel halts silently.
    if !PANICKING.swap(true, Ordering::Relaxed) {
        // Console output does not fail, and an error could not be reported.
        let _ = writeln!(Console::<Armv8<P>>::new(), "\nkernel: {info}");
        P::exit(Exit::Failure);
    }
    halt()
}

/// Halts this core.
pub(crate) fn halt() -> ! {
    loop {
        wfi();
    }
}
