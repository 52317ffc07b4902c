//! Text on the kernel's console: panics, and messages of debug kernels.

use core::fmt::{self, Write};
use core::marker::PhantomData;

use crate::arch::Arch;
use crate::sync::{Ticket, spin_loop};

/// Held by the core that prints a line.
static LINE: Ticket = Ticket::new();

/// The console of a platform.
pub struct Console<A: Arch>(PhantomData<A>);

impl<A: Arch> Console<A> {
    /// The console.
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<A: Arch> Write for Console<A> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            if byte == b'\n' {
                A::put_byte(b'\r');
            }
            A::put_byte(byte);
        }
        Ok(())
    }
}

/// Prints one line in debug kernels; nothing in others. Lines of different cores are not interleaved.
pub(crate) fn debug_line<A: Arch>(text: fmt::Arguments<'_>) {
    if cfg!(feature = "debug") {
        // Interrupts are disabled in the kernel, so that this core does not hold the lock.
        LINE.acquire(spin_loop);
        // A console cannot fail, and an error could not be reported.
        let _ = writeln!(Console::<A>::new(), "{text}");
        // SAFETY: this core has the lock.
        unsafe { LINE.release() };
    }
}
