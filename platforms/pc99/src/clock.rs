//! How fast the time stamp counter runs.
//!
//! Where the processor does not tell, it is measured against channel 2 of the interval timer (Intel
//! 8254 data sheet, order number 231164), whose gate and output are in port 0x61.

use arch_x86_64::timer::time_stamp;
use raw_cpuid::{CpuId, CpuIdReaderNative};
use x86_64::instructions::port::Port;

/// Hz of the interval timer.
const PIT_FREQUENCY: u64 = 1_193_182;
/// Its ticks in about 10 ms.
const PIT_COUNT: u16 = 11_932;

const MEGAHERTZ: u64 = 1_000_000;

/// The frequency of the time stamp counter in MHz. It is a whole number because users get it in this
/// unit, and kernel and users must agree.
pub fn time_stamp_megahertz() -> u64 {
    let told = CpuId::with_cpuid_reader(CpuIdReaderNative)
        .get_tsc_info()
        .and_then(|info| info.tsc_frequency());
    let frequency = told.unwrap_or_else(measure);
    (frequency + MEGAHERTZ / 2) / MEGAHERTZ
}

/// The best of a few short measurements: on a virtual machine any of them may be interrupted.
fn measure() -> u64 {
    const ATTEMPTS: usize = 5;
    let (_, ticks) = [(); ATTEMPTS]
        .map(|()| measure_once())
        .into_iter()
        .min()
        .unwrap_or_default();
    ticks * PIT_FREQUENCY / u64::from(PIT_COUNT)
}

/// How uncertain one measurement is, and the ticks that it counted.
fn measure_once() -> (u64, u64) {
    const GATE: u8 = 1 << 0;
    const SPEAKER: u8 = 1 << 1;
    const OUTPUT: u8 = 1 << 5;
    /// Channel 2, low byte then high byte, mode 0: output rises at the end of the count.
    const ONCE: u8 = 0b10_11_000_0;
    let (mut control, mut command) = (Port::<u8>::new(0x61), Port::<u8>::new(0x43));
    let mut channel = Port::<u8>::new(0x42);
    let [low, high] = PIT_COUNT.to_le_bytes();
    // SAFETY: nobody uses this channel of the timer.
    unsafe {
        let others = control.read() & !(GATE | SPEAKER);
        control.write(others | GATE);
        command.write(ONCE);
        channel.write(low);
        // The count starts between two stamps, with the second byte, and ends between two others.
        let start = time_stamp();
        channel.write(high);
        let started = time_stamp();
        let mut before = started;
        let after = loop {
            let stamp = time_stamp();
            if control.read() & OUTPUT != 0 {
                break time_stamp();
            }
            before = stamp;
        };
        control.write(others);
        (
            (started - start) + (after - before),
            (before + after - start - started) / 2,
        )
    }
}
