//! What a switch between guests costs, from the results of the benchmark suite `switch`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use schedulability::guests::{SWITCH, Sample, best_fit};
use serde::Deserialize;
use system_analysis::Time;

use crate::{Result, print};

/// The suite.
const SUITE: &str = "switch";
/// What it measures: progress after a switch, and without one.
const AFTER_SWITCH: &str = "after_switch";
const WARM: &str = "warm";
/// A loss of less than this part of the longest time is noise.
const NOISE: i128 = 500;

/// The measurements.
#[derive(Args)]
pub(crate) struct Measured {
    /// The results of `cargo xtask bench --suite switch --json FILE`.
    file: PathBuf,
    /// How many of the counts a microsecond has: times are shown instead of counts.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    megahertz: Option<u32>,
}

/// A result of a benchmark, as far as it is used here.
#[derive(Deserialize)]
struct Figure {
    suite: String,
    operation: String,
    parameters: serde_json::Value,
    unit: String,
    min: f64,
    max: f64,
    mean: f64,
}

/// What a result of the suite is about.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    kib: u32,
    state: String,
    accesses: u64,
}

/// The figures of one number of accesses.
#[derive(Default)]
struct Point {
    after_switch: Option<Figure>,
    warm: Option<Figure>,
}

/// The points of each size of the working set and state of the caches.
type Progress = BTreeMap<(u32, String), BTreeMap<u64, Point>>;

/// Fits the cost of switches to measurements.
pub(crate) fn run(measured: &Measured) -> Result {
    let shown = measured.file.display();
    let text = fs::read(&measured.file).with_context(|| format!("cannot read {shown}"))?;
    let figures: Vec<Figure> = serde_json::from_slice(&text).with_context(|| {
        format!("{shown} has no results as `cargo xtask bench --json` writes them")
    })?;
    let unit = figures
        .iter()
        .find(|one| one.suite == SUITE)
        .map(|one| one.unit.clone());
    let Some(unit) = unit else {
        bail!(
            "{shown} has no results of the suite `{SUITE}`; measure it with `cargo xtask bench --suite {SUITE}`"
        );
    };
    let all = sorted(figures).with_context(|| format!("cannot use {shown}"))?;
    print(&text_of(
        &all,
        &Unit {
            name: unit,
            megahertz: measured.megahertz,
        },
    )?)
}

fn sorted(figures: Vec<Figure>) -> Result<Progress> {
    let mut all = Progress::new();
    for one in figures.into_iter().filter(|one| one.suite == SUITE) {
        let parameters: Parameters = serde_json::from_value(one.parameters.clone())
            .with_context(|| format!("a result of {} has other parameters", one.operation))?;
        let points = all.entry((parameters.kib, parameters.state)).or_default();
        let point = points.entry(parameters.accesses).or_default();
        match &*one.operation {
            AFTER_SWITCH => point.after_switch = Some(one),
            WARM => point.warm = Some(one),
            other => bail!("the suite `{SUITE}` has no operation `{other}`"),
        }
    }
    Ok(all)
}

/// How counts are shown.
struct Unit {
    name: String,
    megahertz: Option<u32>,
}

impl Unit {
    fn shown(&self, count: f64) -> String {
        match self.megahertz {
            Some(megahertz) => format!("{:.1} us", count / f64::from(megahertz)),
            None => format!("{count:.0}"),
        }
    }

    fn name(&self) -> &str {
        if self.megahertz.is_some() {
            "microseconds"
        } else {
            &self.name
        }
    }
}

/// A count as if it were nanoseconds: the fit knows only one unit.
fn time(count: f64) -> Time {
    Time::from_nanos(count.max(0.0).round() as u64)
}

/// The largest loss that was seen, and the samples.
fn samples(points: &BTreeMap<u64, Point>) -> Result<(f64, Vec<Sample>)> {
    let (mut worst, mut samples) = (0.0f64, Vec::new());
    for (accesses, point) in points {
        let (Some(after), Some(warm)) = (&point.after_switch, &point.warm) else {
            bail!("{accesses} accesses were not measured both with a switch and without");
        };
        worst = worst.max(after.max - warm.min);
        samples.push(Sample {
            time: time(after.mean),
            // A mean that noise puts above the other one.
            work: time(warm.mean.min(after.mean)),
        });
    }
    Ok((worst, samples))
}

fn text_of(all: &Progress, unit: &Unit) -> Result<String> {
    let mut text = format!(
        "progress after a switch to another address space, in {}\n\n  {:>11}  {:8} {:>8}  {:12} {:>6} {:>12}\n",
        unit.name(),
        "working set",
        "caches",
        "lost",
        "recovery",
        "f",
        "t_s"
    );
    let mut refill = 0.0f64;
    for ((kib, state), points) in all {
        let named = || format!("the working set of {kib} KiB with caches `{state}`");
        let (worst, samples) = samples(points).with_context(named)?;
        let last = samples
            .last()
            .map(|one| (one.time, one.time - one.work))
            .unwrap_or_default();
        let _ = write!(text, "  {:>11}  {state:8} ", format!("{kib} KiB"));
        if last.1 * NOISE < last.0 {
            let _ = writeln!(text, "{:>8}", "nothing");
            continue;
        }
        refill = refill.max(worst);
        let (loss, cost) = best_fit(&samples).with_context(named)?.value;
        let _ = writeln!(
            text,
            "{:>8}  {:12} {:>6.3} {:>12}",
            unit.shown(worst),
            loss,
            cost.progress,
            unit.shown(cost.recovery.nanos() as f64)
        );
    }
    let _ = match (refill > 0.0, unit.megahertz) {
        (false, _) => writeln!(
            text,
            "\nNothing is lost: there are no caches, as on all emulators, or they are larger than all of this memory."
        ),
        (true, Some(megahertz)) => writeln!(
            text,
            "\nfor the kernel's costs, `--overheads FILE`:\ncache-refill = \"{} us\"",
            (refill / f64::from(megahertz)).ceil()
        ),
        (true, None) => writeln!(text, "\nGive `--megahertz N` to see times."),
    };
    let _ = write!(text, "\n{SWITCH}");
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedulability::guests::{Loss, SwitchCost};

    /// Results for a processor that needs 40 counts for each access, and loses time as published for an i.MX6 with 64
    /// KiB of dirty caches at 800 MHz.
    fn results(loss: Loss, noise: f64) -> String {
        let cost = SwitchCost {
            progress: 0.131,
            recovery: Time::from_nanos(168_000),
        };
        let mut lines = Vec::new();
        for point in 1..=16u64 {
            let time = Time::from_nanos(point * 20_000);
            let lost = cost.lost(loss, time) * time.nanos() as f64;
            let after = time.nanos() as f64;
            let counts = [(AFTER_SWITCH, after), (WARM, after - lost)];
            for (operation, count) in counts {
                lines.push(format!(
                    r#"{{"suite":"switch","operation":"{operation}","parameters":{{"kib":64,"state":"dirty",
                    "accesses":{}}},"unit":"cycles","samples":32,"min":{},"max":{},"mean":{count},"stddev":1}}"#,
                    point * 512,
                    count - noise,
                    count + noise
                ));
            }
        }
        format!("[{}]", lines.join(",\n"))
    }

    fn report(text: &str, megahertz: Option<u32>) -> Result<String> {
        let all = sorted(serde_json::from_str(text)?)?;
        let name = "cycles".to_string();
        text_of(&all, &Unit { name, megahertz })
    }

    #[test]
    fn what_made_the_measurements_is_found() {
        for (loss, refill) in [
            (Loss::Flood, 183),
            (Loss::Linear, 92),
            (Loss::Exponential, 61),
        ] {
            let text = report(&results(loss, 10.0), Some(800)).unwrap();
            let row = text.lines().find(|line| line.contains("64 KiB")).unwrap();
            assert!(
                row.contains(&loss.to_string()) && row.contains("0.131"),
                "{text}"
            );
            assert!(row.ends_with("210.0 us"), "{text}");
            assert!(
                text.contains(&format!("cache-refill = \"{refill} us\"")),
                "{text}"
            );
        }
    }

    #[test]
    fn without_a_loss_nothing_is_fitted() {
        let text = results(Loss::Flood, 0.0).replace("after_switch", "warm2");
        assert!(
            report(&text, None)
                .unwrap_err()
                .to_string()
                .contains("`warm2`")
        );
        let all: Vec<serde_json::Value> = serde_json::from_str(&results(Loss::Flood, 0.0)).unwrap();
        let warm = all.iter().filter(|one| one["operation"] == WARM);
        let mut same: Vec<_> = warm.cloned().collect();
        let again = same.clone().into_iter().map(|mut one| {
            one["operation"] = AFTER_SWITCH.into();
            one
        });
        same.extend(again);
        let text = report(&serde_json::to_string(&same).unwrap(), None).unwrap();
        assert!(text.contains("Nothing is lost"), "{text}");
        assert!(!text.contains("cache-refill"), "{text}");
    }

    #[test]
    fn what_is_missing_is_named() {
        let all: Vec<serde_json::Value> = serde_json::from_str(&results(Loss::Flood, 0.0)).unwrap();
        let error = report(&serde_json::to_string(&all[1..]).unwrap(), None).unwrap_err();
        let error = format!("{error:#}");
        assert!(
            error.contains("working set of 64 KiB") && error.contains("512 accesses"),
            "{error}"
        );
        let few = report(&serde_json::to_string(&all[..4]).unwrap(), None).unwrap_err();
        assert!(
            format!("{few:#}").contains("three different times"),
            "{few:#}"
        );
    }
}
