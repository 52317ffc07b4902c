//! Schedulability experiments: which share of random task sets is schedulable, with the overheads of a scheduler.
//!
//! [`ALL`] lists them. [`run()`] returns [`Curves`], which are written as CSV or drawn as SVG. The same seed gives the
//! same sets, and all curves of an experiment are about the same sets.

mod overheads;
mod plot;
mod run;

pub use overheads::Statistic;
pub use run::{Curve, Curves, run};

use schedulability::Time;

/// The number of cores.
pub const CORES: usize = 4;
/// The number of tasks of a set.
pub const TASKS: usize = 16;
/// The number of sets for each utilisation, as in the published experiments.
pub const SETS: u32 = 500;
/// The seed of the curves in the book.
pub const SEED: u64 = 2018;
/// Utilisations are multiples of this part of one.
pub(crate) const STEPS: u32 = 5;

/// How jobs are assigned to cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Global EDF: the best of the sufficient tests.
    Global,
    /// Partitioned EDF: worst-fit or first-fit by decreasing utilisation, with the exact test of each core.
    Partitioned,
}

/// An experiment.
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    /// Its name for the command.
    pub name: &'static str,
    /// How jobs are assigned to cores.
    pub policy: Policy,
    /// The shortest and the longest period, in microseconds; they are uniform.
    pub periods: [u64; 2],
    /// Which overheads.
    pub statistic: Statistic,
}

const fn one(
    name: &'static str,
    policy: Policy,
    periods: [u64; 2],
    statistic: Statistic,
) -> Experiment {
    Experiment {
        name,
        policy,
        periods,
        statistic,
    }
}

const LONG: [u64; 2] = [1_000, 10_000];
const SHORT: [u64; 2] = [100, 1_000];

/// All experiments.
pub const ALL: [Experiment; 8] = [
    one("gedf-long-mean", Policy::Global, LONG, Statistic::Mean),
    one("gedf-long-worst", Policy::Global, LONG, Statistic::Worst),
    one("gedf-short-mean", Policy::Global, SHORT, Statistic::Mean),
    one("gedf-short-worst", Policy::Global, SHORT, Statistic::Worst),
    one("pedf-long-mean", Policy::Partitioned, LONG, Statistic::Mean),
    one(
        "pedf-long-worst",
        Policy::Partitioned,
        LONG,
        Statistic::Worst,
    ),
    one(
        "pedf-short-mean",
        Policy::Partitioned,
        SHORT,
        Statistic::Mean,
    ),
    one(
        "pedf-short-worst",
        Policy::Partitioned,
        SHORT,
        Statistic::Worst,
    ),
];

impl Experiment {
    /// What it shows, in one line.
    pub fn title(&self) -> String {
        let policy = match self.policy {
            Policy::Global => "global",
            Policy::Partitioned => "partitioned",
        };
        let overheads = match self.statistic {
            Statistic::Mean => "mean",
            Statistic::Worst => "worst-case",
        };
        let [shortest, longest] = self.periods.map(Time::from_micros);
        format!("{CORES}-core {policy} EDF, periods {shortest} to {longest}, {overheads} overheads")
    }
}

#[cfg(test)]
mod tests;
