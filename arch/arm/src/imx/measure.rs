//! Measuring the frequency of one counter by another.

/// The best of so many measurements counts.
const ATTEMPTS: usize = 3;
const MEGAHERTZ: u64 = 1_000_000;

/// A counter of known frequency.
pub(super) struct Yardstick<'a> {
    /// Counts up, and starts over at zero.
    pub(super) read: &'a dyn Fn() -> u32,
    /// Counts in a second.
    pub(super) frequency: u64,
    /// How many counts a measurement takes.
    pub(super) span: u32,
}

impl Yardstick<'_> {
    /// How many ticks `counter` makes in a second, to the nearest megahertz.
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

    /// Both counters at the same moment: ours changes while nothing else does.
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
    /// Ticks within which the reading was taken: an emulator may be interrupted in between.
    doubt: u64,
}
