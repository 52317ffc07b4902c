//! Sets, tests, and counts.

use std::fmt::Write;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use schedulability::generate::Generator;
use schedulability::model::{Overheads, Task, charge};
use schedulability::partition::{Fit, pack};
use schedulability::{Error, Ratio, Result, Time, global};
use system_analysis::Figures;

use crate::{CORES, Experiment, Policy, STEPS, TASKS, overheads};

/// What an experiment has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Curves {
    /// What it shows.
    pub title: String,
    /// The number of sets for each utilisation.
    pub sets: u32,
    /// The seed of the sets.
    pub seed: u64,
    /// A curve for each scheduler.
    pub curves: Vec<Curve>,
}

/// The sets that are schedulable with one scheduler's overheads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Curve {
    /// The scheduler.
    pub name: &'static str,
    /// The number of schedulable sets for each utilisation, which is the place plus one, in fifths.
    pub accepted: Vec<u32>,
}

/// The utilisation at a place of a curve.
pub(crate) fn utilisation(place: usize) -> f64 {
    (place + 1) as f64 / f64::from(STEPS)
}

/// Runs an experiment with so many sets for each utilisation, on all cores of the host.
///
/// # Errors
/// If a set cannot be made.
pub fn run(experiment: &Experiment, figures: &Figures, sets: u32, seed: u64) -> Result<Curves> {
    let schedulers = overheads::all(experiment.policy, experiment.statistic, figures);
    let places = CORES * STEPS as usize;
    let next = AtomicU32::new(0);
    let work = || -> Result<Vec<(usize, usize)>> {
        let mut accepted = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let place = (number / sets) as usize;
            if place >= places {
                return Ok(accepted);
            }
            let tasks = set(experiment, place, seed << 32 | u64::from(number))?;
            for (scheduler, (_, overheads)) in schedulers.iter().enumerate() {
                if is_schedulable(&tasks, experiment.policy, overheads.as_ref())? {
                    accepted.push((scheduler, place));
                }
            }
        }
    };
    let threads = thread::available_parallelism().map_or(1, Into::into);
    let found = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let each = threads
            .into_iter()
            .map(|thread| thread.join().expect("no test panics"));
        each.collect::<Result<Vec<_>>>()
    })?;
    let mut curves: Vec<_> = schedulers
        .iter()
        .map(|(name, _)| Curve {
            name,
            accepted: vec![0; places],
        })
        .collect();
    for (scheduler, place) in found.into_iter().flatten() {
        curves[scheduler].accepted[place] += 1;
    }
    Ok(Curves {
        title: experiment.title(),
        sets,
        seed,
        curves,
    })
}

fn set(experiment: &Experiment, place: usize, seed: u64) -> Result<Vec<Task>> {
    let mut random = Generator::new(seed);
    let utilisations = random.fixed_sum(TASKS, utilisation(place))?;
    let [shortest, longest] = experiment.periods.map(Time::from_micros);
    random.tasks_with_uniform_periods(&utilisations, shortest, longest)
}

fn is_schedulable(tasks: &[Task], policy: Policy, overheads: Option<&Overheads>) -> Result<bool> {
    match policy {
        Policy::Global => {
            charged(tasks, overheads, CORES).map_or(Ok(false), |tasks| globally(&tasks))
        }
        Policy::Partitioned => partitioned(tasks, overheads),
    }
}

/// The tasks with their overheads, or none if a job cannot meet its deadline with them.
fn charged(tasks: &[Task], overheads: Option<&Overheads>, cores: usize) -> Option<Vec<Task>> {
    let Some(overheads) = overheads else {
        return Some(tasks.to_vec());
    };
    let reload = vec![Time::ZERO; tasks.len()];
    let found = charge(tasks, &reload, overheads, cores);
    found.ok().map(|found| found.value)
}

fn used(tasks: &[Task]) -> Ratio {
    let zero = Ratio::from_integer(0.into());
    let rates = tasks.iter().map(Task::utilisation);
    rates.fold(zero, |sum, rate| sum + rate)
}

/// Whether one of the sufficient tests accepts. With deadlines that equal periods, the others accept no more: RTA
/// generalises BCL, and GFB load and FF-DBF.
fn globally(tasks: &[Task]) -> Result<bool> {
    if used(tasks) > Ratio::from_integer(CORES.into()) {
        return Ok(false);
    }
    let tests: [global::Test; 5] = [
        global::gfb,
        global::rta,
        global::bcl_iterative,
        global::bak,
        global::bar,
    ];
    for test in tests {
        match test(tasks, CORES) {
            Ok(found) if found.value.holds() => return Ok(true),
            Ok(_) | Err(Error::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

/// With deadlines that equal periods, a core is schedulable by EDF if and only if it is not overloaded (Liu and Layland,
/// 1973).
fn partitioned(tasks: &[Task], overheads: Option<&Overheads>) -> Result<bool> {
    let one = Ratio::from_integer(1.into());
    let fits = |_, places: &[usize]| {
        let of_core: Vec<_> = places.iter().map(|place| tasks[*place].clone()).collect();
        Ok(charged(&of_core, overheads, 1).is_some_and(|tasks| used(&tasks) <= one))
    };
    for fit in [Fit::Worst, Fit::First] {
        if pack(tasks, CORES, fit, fits)?.value.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

impl Curves {
    /// One line for each utilisation, with the share of schedulable sets for each scheduler.
    pub fn csv(&self) -> String {
        let names: Vec<_> = self
            .curves
            .iter()
            .map(|curve| format!("\"{}\"", curve.name))
            .collect();
        let mut csv = format!(
            "# {}; {} sets of {TASKS} tasks for each utilisation, seed {}\nutilisation,{}\n",
            self.title,
            self.sets,
            self.seed,
            names.join(",")
        );
        for place in 0..CORES * STEPS as usize {
            let _ = write!(csv, "{:.1}", utilisation(place));
            for curve in &self.curves {
                let _ = write!(csv, ",{:.3}", self.share(curve, place));
            }
            csv.push('\n');
        }
        csv
    }

    /// The share of sets that are schedulable.
    pub(crate) fn share(&self, curve: &Curve, place: usize) -> f64 {
        f64::from(curve.accepted[place]) / f64::from(self.sets.max(1))
    }
}
