//! The end of a kernel that cannot go on.

use core::fmt::Write;
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicBool, Ordering};

use kernel::arch::Exit;
use kernel::console::Console;

use super::{Machine, Version};
use crate::platform::Platform;

/// Says on the console what happened and where, and ends the run.
pub fn panic<V: Version, P: Platform>(info: &PanicInfo<'_>) -> ! {
    static PANICKING: AtomicBool = AtomicBool::new(false);
    // Where saying it fails too, or ending the run, silence remains.
    if !PANICKING.swap(true, Ordering::Relaxed) {
        // A console cannot fail, and there is nobody to tell.
        let _ = writeln!(Console::<Machine<V, P>>::new(), "\nkernel: {info}");
        P::exit(Exit::Failure);
    }
    halt::<V>()
}

/// Does nothing for ever.
pub(crate) fn halt<V: Version>() -> ! {
    loop {
        V::wait_for_interrupt();
    }
}
