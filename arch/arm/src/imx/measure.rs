//! Calibration: measuring the frequency of one counter by another.

/// Number of measurements, of which the most exact one is used.
const ATTEMPTS: usize = 3;
const MEGAHERTZ: u64 = 1_000_000;

/// A counter of known frequency.
pub(super) struct Calibration<'a> {
    /// Reads the counter, which counts up and wraps around to zero.
    pub(super) read: &'a dyn Fn() -> u32,
    /// Its ticks per second.
    pub(super) frequency: u64,
    /// The ticks that one measurement takes.
    pub(super) span: u32,
}

impl Calibration<'_> {
    /// The frequency of `counter`, to the nearest megahertz.
    pub(super) fn measure(&self, counter: &dyn Fn() -> u64) -> u64 {
        let mut best = (u64::MAX, 0);
        for _ in 0..ATTEMPTS {
            let start = self.read_together(counter);
            while (self.read)().wrapping_sub(start.count) < self.span {
                core::hint::spin_loop();
            }
            let end = self.read_together(counter);
            let counts = u64::from(end.count.wrapping_sub(start.count));
            let frequency = (end.ticks - start.ticks) * self.frequency / counts;
            best = best.min((start.doubt + end.doubt, frequency));
        }
        (best.1 + MEGAHERTZ / 2) / MEGAHERTZ * MEGAHERTZ
    }

    /// Reads both counters at the same time, which is when the reference counter changes.
    fn read_together(&self, counter: &dyn Fn() -> u64) -> Reading {
        let previous = (self.read)();
        loop {
            let before = counter();
            let count = (self.read)();
            let after = counter();
            if count != previous {
                return Reading {
                    count,
                    ticks: before.midpoint(after),
                    doubt: after - before,
                };
            }
        }
    }
}

struct Reading {
    count: u32,
    ticks: u64,
    /// Ticks within which the reading was taken; many if an emulator was interrupted in between.
    doubt: u64,
}
