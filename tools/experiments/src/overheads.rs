//! Overheads of schedulers for four cores.

use schedulability::Time;
use schedulability::model::{Overheads, Releases};
use system_analysis::Figures;

use crate::Policy;

/// Which of the measured values count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// The means.
    Mean,
    /// The largest.
    Worst,
}

/// Measured by S. Holzapfel (BE thesis, UNSW, 2018), in cycles of 3.4 GHz, mean and worst: seL4-MCS 10.0.0, LITMUS^RT
/// 4.9.30, and RASP on Linux 4.9.115 with PREEMPT_RT, on an Intel processor, with 16 tasks.
struct Measured {
    name: &'static str,
    policy: Policy,
    context_switch: [u64; 2],
    schedule: [u64; 2],
    release: [u64; 2],
    release_latency: [u64; 2],
    remote_reschedule: [u64; 2],
}

const MEASURED: [Measured; 5] = [
    Measured {
        name: "seL4, user level",
        policy: Policy::Global,
        context_switch: [8_830, 10_508],
        schedule: [6_076, 7_729],
        release: [173, 429],
        release_latency: [15_472, 20_400],
        remote_reschedule: [2_373, 2_537],
    },
    Measured {
        name: "LITMUS^RT",
        policy: Policy::Global,
        context_switch: [3_027, 8_587],
        schedule: [5_377, 15_581],
        release: [11_324, 29_242],
        release_latency: [40_977, 105_081],
        remote_reschedule: [9_262, 91_255],
    },
    Measured {
        name: "RASP",
        policy: Policy::Global,
        context_switch: [855, 4_832],
        schedule: [1_509, 29_996],
        release: [32_387, 48_794],
        release_latency: [479_075, 2_000_000],
        remote_reschedule: [248_619, 561_792],
    },
    Measured {
        name: "seL4, user level",
        policy: Policy::Partitioned,
        context_switch: [5_103, 10_716],
        schedule: [4_409, 7_133],
        release: [173, 429],
        release_latency: [15_472, 20_400],
        remote_reschedule: [0, 0],
    },
    Measured {
        name: "LITMUS^RT",
        policy: Policy::Partitioned,
        context_switch: [2_642, 6_684],
        schedule: [3_928, 8_029],
        release: [3_385, 12_345],
        release_latency: [36_180, 121_135],
        remote_reschedule: [0, 0],
    },
];

/// Nanoseconds of cycles at 3.4 GHz, rounded up.
const fn cycles(count: u64) -> Time {
    Time::from_nanos((count * 10).div_ceil(34))
}

impl Measured {
    fn overheads(&self, statistic: Statistic) -> Overheads {
        let of = |value: [u64; 2]| cycles(value[statistic as usize]);
        Overheads {
            // Ticks were not measured.
            tick_period: Time::LONGEST,
            tick: Time::ZERO,
            release: of(self.release),
            release_latency: of(self.release_latency),
            schedule: of(self.schedule),
            context_switch: of(self.context_switch),
            remote_reschedule: of(self.remote_reschedule),
            releases: Releases::Handler,
        }
    }
}

/// What was measured of this kernel, as of the others: a release is an interrupt that wakes the scheduler, and all else is
/// what an analysis charges. Waiting for other cores is left out, because it was not measured.
fn measured(bounds: Overheads, figures: &Figures) -> Overheads {
    let interrupt = Time::from_nanos(figures.interrupt.as_nanos());
    Overheads {
        release: interrupt,
        release_latency: interrupt,
        remote_reschedule: interrupt,
        ..bounds
    }
}

/// The curves of an experiment, with their overheads: none, those of others, and those of this kernel, as measured and by
/// its bounds. The decision of a user-level scheduler on this kernel takes as long as on seL4.
pub(crate) fn all(
    policy: Policy,
    statistic: Statistic,
    figures: &Figures,
) -> Vec<(&'static str, Option<Overheads>)> {
    let mut all = vec![("no overheads", None)];
    let of_policy = MEASURED.iter().filter(|one| one.policy == policy);
    all.extend(of_policy.map(|one| (one.name, Some(one.overheads(statistic)))));
    let decision = MEASURED
        .iter()
        .find(|one| one.policy == policy)
        .map_or(Time::ZERO, |one| one.overheads(statistic).schedule);
    // All are charged by one formula, which is that of schedulers in a kernel.
    let bounds = Overheads {
        releases: Releases::Handler,
        ..system_analysis::overheads(decision, figures, 1)
    };
    all.push(("this kernel, measured", Some(measured(bounds, figures))));
    all.push(("this kernel, bounds", Some(bounds)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_rounded_up() {
        assert_eq!(cycles(34), Time::from_nanos(10));
        assert_eq!(cycles(35), Time::from_nanos(11));
    }

    #[test]
    fn the_worst_is_not_below_the_mean() {
        for one in &MEASURED {
            let [mean, worst] =
                [Statistic::Mean, Statistic::Worst].map(|statistic| one.overheads(statistic));
            assert!(mean.context_switch < worst.context_switch, "{}", one.name);
            assert!(mean.schedule < worst.schedule && mean.release < worst.release);
            assert!(mean.release_latency < worst.release_latency);
            assert!(mean.remote_reschedule <= worst.remote_reschedule);
        }
    }
}
