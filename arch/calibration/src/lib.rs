//! Calibration: the frequency of one counter, measured by another of known frequency.
//!
//! A measurement ends as soon as its error is small enough. A reading that was interrupted, which happens on a virtual
//! machine, has a large error, so it is repeated. A reference counter that has stopped ends the measurement, too.
#![cfg_attr(not(test), no_std)]
#![cfg_attr(target_os = "none", feature(optimize_attribute))]

/// Readings from which the first one of a measurement is chosen.
const FIRST_READINGS: usize = 8;

/// Readings after which a reference counter that has not counted enough is taken to have stopped. Even at a few
/// nanoseconds each they take longer than the longest measurement.
const MOST_READINGS: usize = 4_000_000;

/// Two counters, read at the same time.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// The reference counter.
    pub count: u32,
    /// The measured counter, before and after that.
    pub before: u64,
    /// See `before`.
    pub after: u64,
}

impl Reading {
    /// Reads both counters.
    pub fn now(counter: impl Fn() -> u64, reference: impl Fn() -> u32) -> Self {
        let before = counter();
        let count = reference();
        let after = counter();
        Self {
            count,
            before,
            after,
        }
    }

    /// Reads both counters when the reference counter changes, for a counter whose tick is longer than a
    /// reading; `None` if it has stopped.
    #[cfg_attr(target_os = "none", optimize(size))]
    pub fn at_change(counter: impl Fn() -> u64, reference: impl Fn() -> u32) -> Option<Self> {
        let mut before = counter();
        let former = reference();
        for _ in 0..MOST_READINGS {
            let next = counter();
            let count = reference();
            if count != former {
                // The former count was read after `before`.
                return Some(Self {
                    count,
                    before,
                    after: counter(),
                });
            }
            before = next;
        }
        None
    }

    /// The uncertainty of the reading, in ticks of the measured counter: the time in which the reference was read, and one
    /// tick, as the measured counter shows whole ticks.
    const fn uncertainty(&self) -> u64 {
        self.after - self.before + 1
    }
}

/// The reference counter. It counts up.
#[derive(Clone, Copy, Debug)]
pub struct Reference {
    /// Its ticks per second.
    pub frequency: u64,
    /// Its largest count, after which it wraps to zero.
    pub last: u32,
    /// Whether readings are taken when it changes. Otherwise up to one of its ticks has passed since it changed.
    pub at_change: bool,
    /// The ticks that a measurement takes at least.
    pub shortest: u32,
    /// The ticks after which it ends in any case.
    pub longest: u32,
}

/// A measured frequency, in hertz.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frequency {
    /// The most likely one.
    pub hertz: u64,
    /// The largest difference from the true one, as far as it comes from reading the counters.
    pub error: u64,
}

/// A measurement that has begun.
#[derive(Clone, Copy, Debug)]
pub struct Calibration {
    start: Reading,
}

impl Calibration {
    /// Begins a measurement with the most exact of some readings; `None` if there are none.
    #[cfg_attr(target_os = "none", optimize(size))]
    pub fn begin(read: &dyn Fn() -> Option<Reading>) -> Option<Self> {
        let mut start = read()?;
        for _ in 1..FIRST_READINGS {
            let other = read()?;
            if other.uncertainty() < start.uncertainty() {
                start = other;
            }
        }
        Some(Self { start })
    }

    /// Measures until the error is small enough; the most exact result if it does not become so in time, and `None` if the
    /// reference counter has stopped. `read` is that of `begin`; the reference counter may wrap at most once in between.
    #[cfg_attr(target_os = "none", optimize(size))]
    pub fn end(
        self,
        reference: &Reference,
        enough: u64,
        read: &dyn Fn() -> Option<Reading>,
    ) -> Option<Frequency> {
        let mut best: Option<Frequency> = None;
        for _ in 0..MOST_READINGS {
            let end = read()?;
            let counts = end.count.wrapping_sub(self.start.count) & reference.last;
            if counts < reference.shortest.max(1) {
                continue;
            }
            let measured = reference.frequency_between(&self.start, &end, counts.into());
            let best = best.get_or_insert(measured);
            if measured.error < best.error {
                *best = measured;
            }
            if best.error <= enough || counts >= reference.longest {
                return Some(*best);
            }
        }
        None
    }
}

impl Reference {
    /// The frequency of the measured counter by two readings, `counts` ticks of the reference apart.
    #[cfg_attr(target_os = "none", optimize(size))]
    fn frequency_between(&self, start: &Reading, end: &Reading, counts: u64) -> Frequency {
        // Twice the ticks between the middles of the readings, each of which is off by at most half of the time of its
        // reading.
        let ticks = end.before + end.after - start.before - start.after;
        let uncertainty = start.uncertainty() + end.uncertainty();
        let missing = u64::from(!self.at_change);
        let hertz = ticks * self.frequency / (2 * counts);
        let error =
            (uncertainty * self.frequency / 2 + missing * hertz) / (counts - missing).max(1);
        Frequency {
            hertz,
            // As all divisions round down.
            error: error + 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::Cell;

    /// A machine with both counters.
    struct Machine {
        /// The time in picoseconds.
        now: Cell<u64>,
        /// The ticks of both counters per second, and what the reference has counted at time zero.
        measured: u64,
        reference: Reference,
        offset: u32,
        /// The time that a reading of the reference takes, half of it before the count is read; every so many readings,
        /// including the first one, takes much longer.
        reading: u64,
        interrupted: Option<u64>,
        readings: Cell<u64>,
        /// The time at which the reference stops.
        stops: u64,
    }

    const SECOND: u128 = 1_000_000_000_000;

    impl Machine {
        fn new(measured: u64, reference: Reference, reading: u64) -> Self {
            Self {
                now: Cell::new(0),
                measured,
                reference,
                offset: 0,
                reading,
                interrupted: None,
                readings: Cell::new(0),
                stops: u64::MAX,
            }
        }

        fn ticks_until(time: u64, frequency: u64) -> u64 {
            (u128::from(time) * u128::from(frequency) / SECOND) as u64
        }

        fn pass(&self, time: u64) {
            self.now.set(self.now.get() + time);
        }

        fn count(&self) -> u32 {
            let reading = self.readings.replace(self.readings.get() + 1);
            self.pass(self.reading / 2);
            let counted = self.now.get().min(self.stops);
            let ticks = Self::ticks_until(counted, self.reference.frequency) as u32;
            let count = self.offset.wrapping_add(ticks) & self.reference.last;
            self.pass(self.reading / 2);
            // 70 us.
            if self.interrupted.is_some_and(|every| reading % every == 0) {
                self.pass(70_000_000);
            }
            count
        }

        fn read(&self) -> Option<Reading> {
            let counter = || {
                self.pass(2_000);
                Self::ticks_until(self.now.get(), self.measured)
            };
            if self.reference.at_change {
                Reading::at_change(counter, || self.count())
            } else {
                Some(Reading::now(counter, || self.count()))
            }
        }

        fn try_to_measure(&self) -> Option<Frequency> {
            let calibration = Calibration::begin(&|| self.read())?;
            calibration.end(&self.reference, ENOUGH, &|| self.read())
        }

        fn measure(&self) -> Frequency {
            self.try_to_measure().expect("the reference runs")
        }

        fn milliseconds(&self) -> u64 {
            self.now.get() / 1_000_000_000
        }
    }

    const ENOUGH: u64 = 200_000;
    const HPET: Reference = Reference {
        frequency: 100_000_000,
        last: u32::MAX,
        at_change: false,
        shortest: 100_000,
        longest: 2_000_000,
    };
    const CRYSTAL: Reference = Reference {
        frequency: 32_768,
        last: u32::MAX,
        at_change: true,
        shortest: 8,
        longest: 660,
    };

    fn require(measured: Frequency, machine: &Machine) {
        let off = measured.hertz.abs_diff(machine.measured);
        assert!(
            off <= measured.error,
            "{measured:?} instead of {}",
            machine.measured
        );
    }

    #[test]
    fn an_exact_reference_takes_the_least_time() {
        let machine = Machine::new(1_000_000_000, HPET, 2_000);
        let measured = machine.measure();
        require(measured, &machine);
        assert!(measured.error < 20_000, "{measured:?}");
        assert_eq!(machine.milliseconds(), 1);
    }

    #[test]
    fn slow_readings_make_it_longer_and_not_less_exact() {
        let machine = Machine::new(2_611_000_000, HPET, 400_000);
        let measured = machine.measure();
        require(measured, &machine);
        assert!(measured.error <= ENOUGH, "{measured:?}");
        assert!((4..8).contains(&machine.milliseconds()));
    }

    #[test]
    fn it_ends_although_the_error_is_large_and_says_so() {
        let machine = Machine::new(2_611_000_000, HPET, 10_000_000);
        let measured = machine.measure();
        require(measured, &machine);
        assert!(measured.error > ENOUGH, "{measured:?}");
        assert_eq!(machine.milliseconds(), 20);
    }

    #[test]
    fn interrupted_readings_are_repeated() {
        for every in [2, 3, 7] {
            let mut machine = Machine::new(2_611_000_000, HPET, 400_000);
            machine.interrupted = Some(every);
            let measured = machine.measure();
            require(measured, &machine);
            assert!(measured.error <= ENOUGH, "{measured:?}");
        }
    }

    #[test]
    fn a_slow_reference_is_read_when_it_changes() {
        let machine = Machine::new(39_000_000, CRYSTAL, 20_000);
        let measured = machine.measure();
        require(measured, &machine);
        assert!(measured.error <= ENOUGH, "{measured:?}");
        assert_eq!(machine.milliseconds(), 0);
    }

    #[test]
    fn the_reference_may_start_anew_meanwhile() {
        for last in [0xffff, 0xff_ffff, u32::MAX] {
            let mut machine = Machine::new(1_000_000_000, Reference { last, ..HPET }, 2_000);
            machine.reference.frequency = 1_193_182;
            machine.reference.shortest = 1_000;
            machine.offset = last - 500;
            require(machine.measure(), &machine);
        }
    }

    #[test]
    fn a_reference_that_stands_still_ends_it() {
        const MILLISECOND: u64 = 1_000_000_000;
        for reference in [HPET, CRYSTAL] {
            for stops in [0, MILLISECOND / 10] {
                let mut machine = Machine::new(2_611_000_000, reference, 2_000);
                machine.stops = stops;
                assert_eq!(machine.try_to_measure(), None, "{reference:?}");
                assert!(machine.milliseconds() < 60, "{reference:?}");
            }
        }
    }

    proptest! {
        /// Whatever the clocks, and however long readings take.
        #[test]
        fn the_true_frequency_is_within_the_error(
            measured in 1_000_000_u64..5_000_000_000,
            frequency in 10_000_000_u64..100_000_000,
            reading in 1_000_u64..5_000_000,
            every in prop::option::of(2_u64..20),
        ) {
            let reference = Reference {
                frequency,
                shortest: (frequency / 1_000) as u32,
                longest: (frequency / 50) as u32,
                ..HPET
            };
            let mut machine = Machine::new(measured, reference, reading);
            machine.interrupted = every;
            require(machine.measure(), &machine);
        }
    }
}
