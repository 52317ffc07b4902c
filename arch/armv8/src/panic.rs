//! The end of a kernel that cannot go on.

use core::fmt::Write;
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicBool, Ordering};

use aarch64_cpu::asm::wfi;
use kernel::arch::Exit;
use kernel::console::Console;

use crate::{Armv8, Platform};

/// Says on the console what happened and where, and ends the run.
pub fn panic<P: Platform>(info: &PanicInfo<'_>) -> ! {
    static PANICKING: AtomicBool = AtomicBool::new(false);
    // Where saying it fails too, or ending the run, silence remains.
    if !PANICKING.swap(true, Ordering::Relaxed) {
        // A console cannot fail, and there is nobody to tell.
        let _ = writeln!(Console::<Armv8<P>>::new(), "\nkernel: {info}");
        P::exit(Exit::Failure);
    }
    halt()
}

/// Does nothing for ever.
pub(crate) fn halt() -> ! {
    loop {
        wfi();
    }
}
