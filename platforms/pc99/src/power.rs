//! End of a run.

use kernel::arch::Exit;
use x86_64::instructions::port::Port;
use x86_64::instructions::{hlt, interrupts};

use crate::serial::COM1;

/// Ends the run through QEMU's device `isa-debug-exit` or Bochs' shutdown port; halts on machines with
/// neither.
pub fn exit(exit: Exit) -> ! {
    /// The device's port, which the tool sets on the command line.
    const DEBUG_EXIT: u16 = 0xf4;
    /// Bochs' port, and the string that it accepts (Bochs user manual, section "Shutdown").
    const BOCHS: (u16, &[u8]) = (0x8900, b"Shutdown");
    let value: u32 = match exit {
        Exit::Success => 0x10,
        Exit::Failure => 0x11,
    };
    COM1.flush();
    // SAFETY: on machines without these devices, nothing is at these ports.
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
