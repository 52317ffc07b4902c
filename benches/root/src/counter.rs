//! A timer to count instructions with, on boards whose emulated processor has no counter.

use userlib::cap::Frame;
use userlib::{BootInfo, Environment, Result};

/// A page of device registers, and the offset of the counter in it.
pub type Counter = (Frame, usize);

/// The global timer of the Cortex-A9, unless its cycle counter counts. On kzm the emulator counts.
#[cfg(target_arch = "arm")]
pub fn find(environment: &mut Environment) -> Result<Option<Counter>> {
    /// Cortex-A9 MPCore technical reference manual, section 1.5.
    const PRIVATE_REGION: usize = 0x00a0_0000;
    const GLOBAL_TIMER: usize = 0x200;
    if cfg!(devices = "imx31") {
        if !suites::Counter::Emulator.counts() {
            userlib::println!("nothing counts: only the emulator's plugin can, on this board");
            userlib::runtime::exit(1);
        }
        return Ok(None);
    }
    if suites::Counter::Cycles.counts() {
        return Ok(None);
    }
    let frame = environment.allocator.create_device_frame(PRIVATE_REGION)?;
    Ok(Some((frame, GLOBAL_TIMER)))
}

/// The processor has one.
#[cfg(not(target_arch = "arm"))]
pub fn find(_: &mut Environment) -> Result<Option<Counter>> {
    Ok(None)
}

/// How often the counter counts in a microsecond where nobody counts instructions.
#[cfg(target_arch = "x86_64")]
pub fn megahertz(boot: &'static BootInfo) -> usize {
    userlib::boot::tsc_megahertz(boot).map_or(1, |megahertz| megahertz as usize)
}

/// The emulator's processors have a gigahertz, and the timer is read so that it seems to have one.
#[cfg(not(target_arch = "x86_64"))]
pub fn megahertz(_: &'static BootInfo) -> usize {
    1000
}
