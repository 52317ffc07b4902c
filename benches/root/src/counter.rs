//! A timer to count instructions on boards with an emulated processor without a counter.

use userlib::cap::Frame;
use userlib::{BootInfo, Environment, Result};

/// A page of device registers, and the offset of the counter in it.
pub type Counter = (Frame, usize);

/// The global timer of the Cortex-A9, if its cycle counter does not advance. On kzm the emulator counts.
#[cfg(target_arch = "arm")]
pub fn find(environment: &mut Environment) -> Result<Option<Counter>> {
    /// Cortex-A9 MPCore technical reference manual, section 1.5.
    const PRIVATE_REGION: usize = 0x00a0_0000;
    const GLOBAL_TIMER: usize = 0x200;
    if !userlib::board::HAS_CYCLE_COUNTER {
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

/// These processors have a counter.
#[cfg(not(target_arch = "arm"))]
pub fn find(_: &mut Environment) -> Result<Option<Counter>> {
    Ok(None)
}

/// Counter frequency in megahertz, for runs in which instructions are not counted.
#[cfg(target_arch = "x86_64")]
pub fn megahertz(boot: &'static BootInfo) -> usize {
    userlib::boot::tsc_megahertz(boot).map_or(1, |megahertz| megahertz as usize)
}

/// The emulated processors run at one gigahertz, and the timer is read so that it appears to, too.
#[cfg(not(target_arch = "x86_64"))]
pub fn megahertz(_: &'static BootInfo) -> usize {
    1000
}
