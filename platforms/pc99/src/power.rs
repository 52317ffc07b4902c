//! The end of a run.

use kernel::arch::Exit;
use x86_64::instructions::port::Port;
use x86_64::instructions::{hlt, interrupts};

use crate::serial::COM1;

/// Ends the run through QEMU's device `isa-debug-exit`, or halts on machines without it.
pub fn exit(exit: Exit) -> ! {
    /// The device's port, as the tool's command line sets it.
    const DEBUG_EXIT: u16 = 0xf4;
    let value: u32 = match exit {
        Exit::Success => 0x10,
        Exit::Failure => 0x11,
    };
    COM1.flush();
    // SAFETY: without the device, nothing is at this port.
    unsafe { Port::new(DEBUG_EXIT).write(value) };
    interrupts::disable();
    loop {
        hlt();
    }
}
