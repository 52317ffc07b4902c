//! The suites `locks` and `smp`: how cores affect each other.
//!
//! Where the emulator counts instructions, cores run in turn on one thread of the host. So these suites are
//! measured in time, with a thread for each core; and additionally in instructions, with one working core at
//! a time. Each suite boots the kernels that it compares, one after the other.

mod lines;
mod page;
mod plot;

use std::num::NonZero;
use std::thread::available_parallelism;

use anyhow::bail;
use serde_json::{Map, Value};

pub(super) use lines::complaints;
pub(super) use page::page;
pub(super) use plot::{locks_plot, pairs_plot, payload_plot};

use super::delay::Observer;
use super::measurement::{Measurement, NOISY};
use super::run::{Bench, Counted};
use crate::Result;
use crate::build::{Built, UserProfile};
use crate::cli::{BenchArguments, Cores};
use crate::platform::Platform;
use crate::ui::say;

/// The suites.
pub(super) const SUITES: [&str; 2] = [LOCKS, SMP];
const LOCKS: &str = "locks";
const SMP: &str = "smp";

/// The default maximum number of cores, if board and host have them.
const USUAL: u32 = 4;

/// The parameter that distinguishes the kernels of the suite `smp`, and its values.
const KERNEL: &str = "kernel";
const FINE: &str = "fine-grained";
const BIG: &str = "big lock";
const ONE: &str = "one core";

/// A run of a part of a suite.
struct Boot {
    /// The value of [`KERNEL`].
    kernel: &'static str,
    cores: Cores,
    counted: Counted,
    /// The common prefix of its benchmarks' names.
    part: &'static str,
}

/// The suite that a filter selects.
pub(super) fn wanted(filter: &str) -> Option<&'static str> {
    let (name, _) = split(filter);
    SUITES.into_iter().find(|suite| *suite == name)
}

/// Suite and benchmark of a filter.
fn split(filter: &str) -> (&str, &str) {
    filter.split_once('/').unwrap_or((filter, ""))
}

/// Whether a board has enough cores for these suites, if one is selected.
pub(super) fn fits(arguments: &BenchArguments, platform: &Platform) -> bool {
    let filter = arguments.suite.as_deref().unwrap_or_default();
    wanted(filter).is_none() || platform.cores > 1
}

/// Measures one of the suites.
pub(super) fn measure(bench: &Bench<'_>, suite: &str) -> Result<Vec<Measurement>> {
    let platform = bench.platform;
    if platform.cores == 1 {
        bail!(
            "{} has one core; the suite `{suite}` needs several",
            platform.name
        );
    }
    let asked = bench.arguments.cores;
    let count = if asked.are_several() {
        asked.count
    } else {
        // With more cores than host processors, the cores wait for the host's scheduler: each of these locks
        // is handed on to a core that does not run, which takes hours.
        let host = available_parallelism().map_or(1, NonZero::get);
        most(platform).min(u32::try_from(host).unwrap_or(USUAL).max(2))
    };
    let (_, chosen) = split(bench.filter());
    let mut measured = Vec::new();
    for boot in boots(suite, count) {
        if asked.big_lock && !boot.cores.big_lock {
            continue;
        }
        // Cache lines do not depend on time.
        if boot.counted == Counted::Ticks && chosen == lines::LINES {
            continue;
        }
        let part = match (chosen.starts_with(boot.part), boot.part.starts_with(chosen)) {
            (true, _) => chosen,
            (_, true) => boot.part,
            _ => continue,
        };
        let counted = match boot.counted {
            Counted::Instructions if bench.counted != Counted::Instructions => continue,
            Counted::Ticks if bench.counted == Counted::Cycles => Counted::Cycles,
            counted => counted,
        };
        let bench = Bench {
            cores: boot.cores,
            counted,
            ..*bench
        };
        let filter = format!("{suite}/{part}");
        let built = bench.build_with(false, &filter, UserProfile::Shipped)?;
        if boot.part == lines::LINES {
            measured.extend(cache_lines(&bench, &built, boot.kernel)?);
            continue;
        }
        let (mut more, _) = bench.run(&built, None, None)?;
        // The guest prints both, as it does not know the unit of its counter.
        more.retain(|one| match counted {
            Counted::Instructions => one.unit == "instructions",
            Counted::Ticks | Counted::Cycles => NOISY.contains(&&*one.unit),
        });
        measured.extend(more.into_iter().map(|one| one.of(boot.kernel)));
    }
    // One table for each unit.
    measured.sort_by(|a, b| a.unit.cmp(&b.unit));
    if measured.is_empty() {
        bail!("no benchmark is called `{}`", bench.filter());
    }
    Ok(measured)
}

/// The default number of cores of a platform.
fn most(platform: &Platform) -> u32 {
    USUAL.min(platform.cores)
}

/// Checks that cores which work on core-local objects do not touch lines that others write; returns the
/// complaints.
pub(super) fn examine(bench: &Bench<'_>) -> Result<Vec<String>> {
    if bench.platform.cores == 1 {
        return Ok(Vec::new());
    }
    let cores = Cores {
        count: most(bench.platform),
        big_lock: false,
    };
    let bench = Bench { cores, ..*bench };
    // The lines are the kernel's. Optimisation of programs at link time takes longer than all else here.
    let filter = format!("{SMP}/{}", lines::LINES);
    let built = bench.build_with(false, &filter, UserProfile::Tests)?;
    Ok(complaints(&cache_lines(&bench, &built, FINE)?))
}

/// Runs the benchmarks of cache lines on a kernel.
fn cache_lines(bench: &Bench<'_>, built: &Built, kernel: &str) -> Result<Vec<Measurement>> {
    let observer = Observer::prepare(bench, built)?.with_lines();
    let (said, _) = bench.run(built, None, Some(&observer))?;
    let (measured, places) = lines::complete(said, &lines::read(&observer.written()?)?)?;
    if kernel == FINE {
        for place in places {
            say(&format!("cache lines that are written and shared: {place}"));
        }
    }
    Ok(measured.into_iter().map(|one| one.of(kernel)).collect())
}

impl Measurement {
    /// The measurement with the kernel as a parameter, if several are compared.
    fn of(mut self, kernel: &str) -> Self {
        if !kernel.is_empty() {
            let name = (KERNEL.to_string(), Value::from(kernel));
            self.parameters = Map::from_iter([name].into_iter().chain(self.parameters));
        }
        self
    }
}

/// The runs of a suite with this number of cores.
fn boots(suite: &str, count: u32) -> Vec<Boot> {
    let fine = Cores {
        count,
        big_lock: false,
    };
    let big = Cores {
        count,
        big_lock: true,
    };
    let boot = |kernel, cores, counted, part| Boot {
        kernel,
        cores,
        counted,
        part,
    };
    if suite == LOCKS {
        return vec![
            boot("", Cores::ONE, Counted::Instructions, "transaction"),
            boot("", fine, Counted::Ticks, "contention"),
        ];
    }
    vec![
        boot(ONE, Cores::ONE, Counted::Ticks, "p"),
        boot(FINE, fine, Counted::Ticks, ""),
        boot(FINE, fine, Counted::Instructions, "latency"),
        boot(FINE, fine, Counted::Instructions, lines::LINES),
        boot(BIG, big, Counted::Ticks, ""),
        boot(BIG, big, Counted::Instructions, "latency"),
        boot(BIG, big, Counted::Instructions, lines::LINES),
    ]
}

/// The results of an operation by the number of cores: one series for each combination of the other
/// parameters.
struct Series<'a> {
    kernel: &'a str,
    /// The lock, or the length of the pause or payload.
    other: &'a Value,
    /// By number of cores, from one.
    points: Vec<(f64, &'a Measurement)>,
}

impl Series<'_> {
    /// The value of a point relative to that of one core.
    fn relative(&self, point: &Measurement) -> Option<f64> {
        let (_, one) = self.points.iter().find(|point| point.0 == 1.0)?;
        Some(point.best() / one.best())
    }
}

/// The series of an operation; `other` is the parameter other than cores and kernel.
fn series<'a>(measured: &'a [Measurement], operation: &str, other: &str) -> Vec<Series<'a>> {
    let mut all: Vec<Series<'_>> = Vec::new();
    let wanted = |one: &&Measurement| SUITES.contains(&&*one.suite) && one.operation == operation;
    for one in measured.iter().filter(wanted) {
        let parameter = |name| one.parameters.get(name);
        let (Some(other), Some(cores)) = (parameter(other), parameter("cores")) else {
            continue;
        };
        let kernel = parameter(KERNEL).and_then(Value::as_str).unwrap_or("");
        let point = (cores.as_f64().unwrap_or(0.0), one);
        let same = |series: &&mut Series<'_>| (series.kernel, series.other) == (kernel, other);
        match all.iter_mut().find(same) {
            Some(series) => series.points.push(point),
            None => all.push(Series {
                kernel,
                other,
                points: vec![point],
            }),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A result of one of the suites.
    pub(super) fn one(
        (suite, operation, unit): (&str, &str, &str),
        parameters: Value,
        sample: f64,
    ) -> Measurement {
        let Value::Object(parameters) = parameters else {
            panic!("parameters are an object")
        };
        Measurement::new(suite, operation, parameters, unit, &[sample]).unwrap()
    }

    #[test]
    fn a_suite_is_chosen_by_its_whole_name() {
        assert_eq!(wanted("smp"), Some("smp"));
        assert_eq!(wanted("locks/contention"), Some("locks"));
        assert_eq!(wanted("lock"), None);
        assert_eq!(wanted("!smp"), None);
    }

    #[test]
    fn series_are_told_apart_by_kernel_and_parameter() {
        let pairs = |kernel: &str, cores, rate| {
            let parameters = json!({"pause": 0, "cores": cores});
            one((SMP, "pairs", "1/s"), parameters, rate).of(kernel)
        };
        let measured = [
            pairs(FINE, 1, 100.0),
            pairs(FINE, 2, 190.0),
            pairs(BIG, 1, 80.0),
        ];
        let all = series(&measured, "pairs", "pause");
        assert_eq!(all.len(), 2);
        let (cores, point) = all[0].points[1];
        assert_eq!((cores, all[0].relative(point)), (2.0, Some(1.9)));
        assert_eq!(all[1].kernel, BIG);
    }
}
