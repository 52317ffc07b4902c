//! Frequency of the time stamp counter.
//!
//! If the processor does not report it, it is measured by channel 2 of the interval timer (Intel 8254 data
//! sheet, order number 231164), with gate and output in port 0x61.

use arch_x86_64::timer::time_stamp;
use raw_cpuid::{CpuId, CpuIdReaderNative};
use x86_64::instructions::port::Port;

/// Frequency of the interval timer in hertz.
const PIT_FREQUENCY: u64 = 1_193_182;
/// Its ticks in about 20 ms, less than half of its counting range.
const DURATION: u16 = 23_864;

const MEGAHERTZ: u64 = 1_000_000;

/// The frequency of the time stamp counter in whole MHz, the unit of the ABI, so that kernel and users
/// convert times equally.
pub fn time_stamp_megahertz() -> u64 {
    let told = CpuId::with_cpuid_reader(CpuIdReaderNative)
        .get_tsc_info()
        .and_then(|info| info.tsc_frequency());
    let frequency = told.unwrap_or_else(measure);
    (frequency + MEGAHERTZ / 2) / MEGAHERTZ
}

/// Calibrates the counter: counts both clocks between two times.
fn measure() -> u64 {
    loop {
        let timer = IntervalTimer::start();
        let start = timer.best_sample();
        let end = loop {
            let end = timer.best_sample();
            if start.count.wrapping_sub(end.count) >= DURATION {
                break end;
            }
        };
        // If an interruption was so long that the count has ended, repeat the measurement.
        if timer.stop() {
            let ticks = (end.before + end.after - start.before - start.after) / 2;
            return ticks * PIT_FREQUENCY / u64::from(start.count - end.count);
        }
    }
}

/// Channel 2 of the interval timer, counting down from its largest count.
struct IntervalTimer {
    channel: Port<u8>,
    command: Port<u8>,
    control: Port<u8>,
    /// The other bits of the control port.
    others: u8,
}

/// A count, read between two time stamps.
struct Sample {
    before: u64,
    count: u16,
    after: u64,
}

impl IntervalTimer {
    fn start() -> Self {
        const GATE: u8 = 1 << 0;
        const SPEAKER: u8 = 1 << 1;
        /// Channel 2, low byte then high byte, mode 0: count down once.
        const COUNT_DOWN: u8 = 0b1011_0000;
        let (mut control, mut command) = (Port::new(0x61), Port::new(0x43));
        let mut channel = Port::new(0x42);
        // SAFETY: this is the only user of this timer channel.
        let others = unsafe {
            let others = control.read() & !(GATE | SPEAKER);
            control.write(others | GATE);
            command.write(COUNT_DOWN);
            channel.write(0xff);
            channel.write(0xff);
            others
        };
        Self {
            channel,
            command,
            control,
            others,
        }
    }

    fn sample(&self) -> Sample {
        /// Latches the count of channel 2 until it is read.
        const LATCH: u8 = 0b1000_0000;
        let (mut channel, mut command) = (self.channel.clone(), self.command.clone());
        // SAFETY: as above.
        unsafe {
            let before = time_stamp();
            command.write(LATCH);
            let after = time_stamp();
            let count = u16::from_le_bytes([channel.read(), channel.read()]);
            Sample {
                before,
                count,
                after,
            }
        }
    }

    /// The most accurate of several samples: on a virtual machine any of them may be interrupted.
    fn best_sample(&self) -> Sample {
        const SAMPLES: usize = 16;
        let mut best = self.sample();
        for _ in 1..SAMPLES {
            let sample = self.sample();
            if sample.after - sample.before < best.after - best.before {
                best = sample;
            }
        }
        best
    }

    /// Restores the control port; returns whether the count has not ended yet.
    fn stop(mut self) -> bool {
        /// The output rises at the end of the count.
        const OUTPUT: u8 = 1 << 5;
        // SAFETY: as above.
        unsafe {
            let ended = self.control.read() & OUTPUT != 0;
            self.control.write(self.others);
            !ended
        }
    }
}
