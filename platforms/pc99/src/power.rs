//! The end of a run.

use kernel::arch::Exit;
use x86_64::instructions::port::Port;
use x86_64::instructions::{hlt, interrupts};

use crate::serial::COM1;

/// Ends the run through QEMU's device `isa-debug-exit` or Bochs' shutdown port, or halts on machines
/// without either.
pub fn exit(exit: Exit) -> ! {
    /// The device's port, as the tool's command line sets it.
    const DEBUG_EXIT: u16 = 0xf4;
    /// Bochs' port, and the word that it waits for (Bochs user manual, section "Shutdown").
    const BOCHS: (u16, &[u8]) = (0x8900, b"Shutdown");
    let value: u32 = match exit {
        Exit::Success => 0x10,
        Exit::Failure => 0x11,
    };
    COM1.flush();
    // SAFETY: without the devices, nothing is at these ports.
    unsafe {
        Port::new(DEBUG_EXIT).write(value);
        for &byte in BOCHS.1 {
            Port::new(BOCHS.0).write(byte);
        }
    }
    interrupts::disable();
    loop {
        hlt();
    }
}
