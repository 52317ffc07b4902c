//! Time: the time stamp counter is the clock, and the local APIC's timer interrupts at a deadline (Intel
//! SDM vol. 3, sections 18.17 and 12.5.4).

use kernel::time::Ticks;
use x86_64::registers::model_specific::Msr;

use crate::apic::LocalApic;

/// The time stamp counter.
pub fn time_stamp() -> u64 {
    // SAFETY: the instruction exists on every 64-bit processor and has no side effects.
    unsafe { core::arch::x86_64::_rdtsc() }
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
        /// Counts per tick of the time stamp counter, times 2^32; at most one.
        rate: u64,
    },
}

impl Timer {
    /// The timer of `apic`. Without deadlines its clock is calibrated by the time stamp counter, which has
    /// the given frequency.
    pub fn new(apic: &mut LocalApic, has_deadline: bool, ticks_per_second: u64) -> Self {
        if has_deadline {
            apic.use_tsc_deadline();
            // The mode must be set before the first deadline (section 12.5.4.1).
            // SAFETY: only orders memory accesses.
            unsafe { core::arch::x86_64::_mm_mfence() };
            Self::Deadline
        } else {
            Self::Count {
                rate: measure_rate(apic, ticks_per_second),
            }
        }
    }

    /// Starts the timer of another core; its local APIC has the same clock.
    #[cfg(feature = "smp")]
    pub fn start(self, apic: &mut LocalApic) {
        match self {
            Self::Deadline => {
                apic.use_tsc_deadline();
                // As above.
                // SAFETY: only orders memory accesses.
                unsafe { core::arch::x86_64::_mm_mfence() };
            }
            Self::Count { .. } => apic.use_count(),
        }
    }

    /// Makes the timer interrupt at `deadline`, or soon after; immediately if the deadline has passed.
    pub fn arm(&self, apic: &mut LocalApic, deadline: Ticks) {
        match *self {
            Self::Deadline => {
                // Zero would disarm the timer.
                let value = deadline.0.max(1);
                // SAFETY: the register exists, see `new`.
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

/// A count, between two readings of the time stamp counter.
struct Sample {
    before: u64,
    count: u32,
    after: u64,
}

impl Sample {
    fn take(apic: &LocalApic) -> Self {
        let before = time_stamp();
        let count = apic.count();
        Self {
            before,
            count,
            after: time_stamp(),
        }
    }

    /// The most exact of some samples: on a virtual machine any of them may be interrupted.
    fn best(apic: &LocalApic) -> Self {
        const SAMPLES: usize = 16;
        let mut best = Self::take(apic);
        for _ in 1..SAMPLES {
            let sample = Self::take(apic);
            if sample.after - sample.before < best.after - best.before {
                best = sample;
            }
        }
        best
    }
}

/// Counts per tick, times 2^32, measured for 20 ms.
fn measure_rate(apic: &mut LocalApic, ticks_per_second: u64) -> u64 {
    apic.use_count();
    apic.set_count(u32::MAX);
    let start = Sample::best(apic);
    while time_stamp() - start.before < ticks_per_second / 50 {
        core::hint::spin_loop();
    }
    let end = Sample::best(apic);
    apic.set_count(0);
    let ticks = (end.before + end.after - start.before - start.after) / 2;
    // If its clock were the faster one, it would interrupt early, and be armed again.
    ((u64::from(start.count - end.count) << 32) / ticks).min(1 << 32)
}
