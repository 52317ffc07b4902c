//! Time: the time stamp counter is the clock, and the local APIC's timer interrupts at a deadline (Intel
//! SDM vol. 3, sections 19.17 and 12.5.4).

use calibration::{Calibration, Reading, Reference};
use kernel::time::Ticks;
use x86_64::registers::model_specific::Msr;

use crate::apic::LocalApic;

/// The time stamp counter.
pub fn time_stamp() -> u64 {
    // SAFETY: the instruction exists on every 64-bit processor and has no side effects.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// The time stamp counter, read after all earlier and before all later instructions (Intel SDM vol. 2, RDTSC).
pub fn ordered_time_stamp() -> u64 {
    use core::arch::x86_64::_mm_lfence;
    // SAFETY: the barriers only order instructions.
    unsafe {
        _mm_lfence();
        let stamp = time_stamp();
        _mm_lfence();
        stamp
    }
}

/// IA32_TSC_DEADLINE.
const TSC_DEADLINE: u32 = 0x6e0;

/// The longest time, in ticks, that is counted in one step: the counter has 32 bits, and a tick is at most
/// one count.
const LONGEST: u64 = (1 << 32) - 2;

/// The way in which the timer is programmed.
#[derive(Clone, Copy, Debug)]
pub enum Timer {
    /// With a value of the time stamp counter.
    Deadline,
    /// With a count of its own clock.
    Count {
        /// Counts per tick of the time stamp counter, which are at most one, times 2^32.
        rate: u64,
    },
}

impl Timer {
    /// Starts the timer of a core; all local APICs have the same clock.
    pub fn start(self, apic: &mut LocalApic) {
        match self {
            Self::Deadline => {
                apic.use_tsc_deadline();
                // The mode must be set before the first deadline (section 12.5.4.1).
                // SAFETY: only orders memory accesses.
                unsafe { core::arch::x86_64::_mm_mfence() };
            }
            Self::Count { .. } => apic.use_count(),
        }
    }

    /// Makes the timer interrupt at `deadline`, or soon after; immediately if the deadline has passed.
    #[inline(always)]
    pub fn arm(&self, apic: &mut LocalApic, deadline: Ticks) {
        match *self {
            Self::Deadline => {
                // Zero would disarm the timer.
                let value = deadline.0.max(1);
                // SAFETY: the register exists, see `Starting::new`.
                unsafe { Msr::new(TSC_DEADLINE).write(value) };
            }
            Self::Count { .. } if deadline == Ticks::NEVER => apic.set_count(0),
            Self::Count { rate } => {
                let ticks = deadline.saturating_sub(Ticks(time_stamp()));
                // Rounded up; a deadline too far away takes several steps.
                let ticks = ticks.0.min(LONGEST);
                let count = (u128::from(ticks) * u128::from(rate)) >> 32;
                apic.set_count(count as u32 + 1);
            }
        }
    }
}

/// The timer at boot, before the frequency of the time stamp counter is known.
pub enum Starting {
    /// With deadlines: it has no clock of its own.
    Deadline,
    /// It counts down from its largest count since this reading.
    Count(Option<Calibration>),
}

impl Starting {
    /// Starts the timer of `apic`.
    #[cfg_attr(target_os = "none", optimize(size))]
    pub fn new(apic: &mut LocalApic, has_deadline: bool) -> Self {
        if has_deadline {
            Timer::Deadline.start(apic);
            return Self::Deadline;
        }
        apic.use_count();
        apic.set_count(u32::MAX);
        Self::Count(Calibration::begin(&|| Some(reading(apic))))
    }

    /// The timer. Without deadlines its clock is measured by the time stamp counter, which has the given frequency, for a
    /// millisecond since the start or longer.
    ///
    /// # Panics
    /// If the time stamp counter has stopped.
    #[cfg_attr(target_os = "none", optimize(size))]
    pub fn complete(self, apic: &mut LocalApic, ticks_per_second: u64) -> Timer {
        let Self::Count(calibration) = self else {
            return Timer::Deadline;
        };
        let reference = Reference {
            frequency: ticks_per_second,
            last: u32::MAX,
            at_change: false,
            shortest: (ticks_per_second / 1000) as u32,
            longest: (ticks_per_second / 50) as u32,
        };
        // An interrupt is late by at most this fraction of the time until its deadline.
        let enough = ticks_per_second / 10_000;
        let read = || Some(reading(apic));
        let Some(measured) = calibration.and_then(|it| it.end(&reference, enough, &read)) else {
            panic!("cannot calibrate the local APIC's timer: the time stamp counter has stopped");
        };
        apic.set_count(0);
        // If its clock were the faster one, it would interrupt early, and be armed again.
        let frequency = measured.hertz.min(ticks_per_second);
        Timer::Count {
            // Does not overflow for frequencies up to 8 GHz.
            rate: ((frequency << 31) / ticks_per_second) << 1,
        }
    }
}

/// The timer's count, as if it counted up, and the time stamp counter.
fn reading(apic: &LocalApic) -> Reading {
    let count = || (u32::MAX - apic.count()).into();
    Reading::now(count, || ordered_time_stamp() as u32)
}
