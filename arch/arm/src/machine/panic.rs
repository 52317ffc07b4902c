//! Kernel panics.

use core::fmt::Write;
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicBool, Ordering};

use kernel::arch::Exit;
use kernel::console::Console;

use super::{ExecutionState, Machine};
use crate::platform::Platform;

/// Writes the message and its source position to the console, and ends the run.
pub fn panic<V: ExecutionState, P: Platform>(info: &PanicInfo<'_>) -> ! {
    static PANICKING: AtomicBool = AtomicBool::new(false);
    // If the output or the exit panics too, the kernel halts silently.
    if !PANICKING.swap(true, Ordering::Relaxed) {
        // Console output does not fail, and an error could not be reported.
        let _ = writeln!(Console::<Machine<V, P>>::new(), "\nkernel: {info}");
        P::exit(Exit::Failure);
    }
    halt::<V>()
}

/// Halts this core.
pub(super) fn halt<V: ExecutionState>() -> ! {
    loop {
        V::wait_for_interrupt();
    }
}
