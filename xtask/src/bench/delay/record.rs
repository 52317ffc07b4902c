//! What the plugin wrote: marks of the guest and stretches with interrupts
//! off, and the delays that follow.
//!
//! The urgent thread is released at exact intervals. While nothing else happens
//! it runs as soon as it can: these *quiet* releases tell the interval and,
//! for each later one, when it would have run if nothing else had happened.
//! What it comes later than that is what the others did to it; the kernel's
//! way from the timer's interrupt to the thread comes on top.

use anyhow::{Context, bail};

use crate::Result;
use crate::bench::measurement::Measurement;

/// The numbers of marks: `benches/component/src/suites/delay/mark.rs`.
const DONE: u64 = 0;
const QUIET: u64 = 1;
const WATCH: u64 = 2;
const RELEASED: u64 = 3;

/// What was observed of one scenario with one number of attackers.
#[derive(Debug, Default, PartialEq)]
pub(in crate::bench) struct Observation {
    /// For each release, the instructions until the thread's first one.
    pub(super) delays: Vec<f64>,
    /// Stretches with interrupts off: how many, the sums of their lengths and
    /// of the squares of these, the shortest and the longest.
    count: u64,
    sum: f64,
    squares: f64,
    shortest: f64,
    longest: f64,
    /// The addresses of the longest.
    pub(in crate::bench) path: Vec<u64>,
}

/// A release: which, when, and the length of the kernel's last stretch before.
#[derive(Clone, Copy)]
struct Release {
    number: i64,
    time: i64,
    way: i64,
}

/// Reads what the plugin wrote.
pub(super) fn read(text: &str) -> Result<Vec<Observation>> {
    let mut observations = Vec::new();
    let mut releases = [Vec::new(), Vec::new()];
    let (mut phase, mut number) = (None, 0);
    for line in text.lines() {
        let mut words = line.split(' ');
        let kind = words.next();
        let mut next = || -> Result<u64> {
            let word = words.next().context("the record is damaged")?;
            Ok(word.parse()?)
        };
        match kind {
            Some("mark") => {
                let (mark, time, way) = (next()?, next()?, next()?);
                match mark {
                    QUIET => (phase, number) = (Some(0), 0),
                    WATCH => phase = Some(1),
                    DONE => phase = None,
                    RELEASED => {
                        if let Some(phase) = phase {
                            releases[phase].push(Release {
                                number,
                                time: i64::try_from(time)?,
                                way: i64::try_from(way)?,
                            });
                            number += 1;
                        }
                    }
                    _ => bail!("there is no mark {mark}"),
                }
            }
            Some("stretches") => {
                #[expect(clippy::cast_precision_loss, reason = "they are below 2^53")]
                let mut next = || next().map(|number| number as f64);
                let (count, sum, squares) = (next()?, next()?, next()?);
                let (shortest, longest) = (next()?, next()?);
                let path = words.map(|word| u64::from_str_radix(word, 16));
                let [quiet, watched] = std::mem::take(&mut releases);
                observations.push(Observation {
                    delays: delays(&quiet, &watched)?,
                    count: count as u64,
                    sum,
                    squares,
                    shortest,
                    longest,
                    path: path.collect::<std::result::Result<_, _>>()?,
                });
            }
            _ => bail!("the record is damaged: {line}"),
        }
    }
    Ok(observations)
}

/// The delays of the watched releases.
fn delays(quiet: &[Release], watched: &[Release]) -> Result<Vec<f64>> {
    /// How far a quiet release may be off: what a tick of the timer lasts, and
    /// where in its loop the other thread is interrupted.
    const IRREGULAR: i64 = 200;
    let (Some(first), Some(last)) = (quiet.first(), quiet.last()) else {
        bail!("there were no quiet releases");
    };
    let intervals = (last.number - first.number).max(1);
    let interval = (last.time - first.time + intervals / 2).div_euclid(intervals);
    let excess = |release: &Release| release.time - release.number * interval;
    let prompt = quiet.iter().map(excess).min().unwrap_or(0);
    if quiet.iter().any(|one| excess(one) > prompt + IRREGULAR) {
        bail!("the urgent thread is not released at regular intervals");
    }
    let way = quiet.iter().map(|one| one.way).min().unwrap_or(0);
    #[expect(clippy::cast_precision_loss, reason = "they are below 2^53")]
    let delays = watched
        .iter()
        .map(|one| (way + excess(one) - prompt).max(0) as f64);
    Ok(delays.collect())
}

impl Observation {
    /// The stretches, as a measurement that is like `one` else.
    pub(super) fn stretches(&self, one: Measurement) -> Measurement {
        #[expect(clippy::cast_precision_loss, reason = "there are not that many")]
        let count = self.count.max(1) as f64;
        let mean = self.sum / count;
        let variance = (self.squares / count - mean * mean).max(0.0);
        let rounded = |value: f64| (value * 100.0).round() / 100.0;
        Measurement {
            samples: self.count,
            min: self.shortest,
            max: self.longest,
            mean: rounded(mean),
            stddev: rounded(variance.sqrt()),
            ..one
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_late_by_what_others_do() {
        // Released at 1000, 2000, ...; the way takes 50 instructions; the last is 300 late.
        let text = "mark 1 500 0\nmark 3 1050 50\nmark 3 2052 50\nmark 3 3050 50\nmark 2 3060 40\n\
                    mark 3 4050 50\nmark 3 5350 350\nmark 0 6000 10\nstretches 4 500 132600 10 350 1f a0\n";
        let observations = read(text).unwrap();
        assert_eq!(observations.len(), 1);
        assert_eq!(observations[0].delays, [50.0, 350.0]);
        assert_eq!(observations[0].path, [0x1f, 0xa0]);
    }

    #[test]
    fn irregular_releases_are_no_measure() {
        let text = "mark 1 500 0\nmark 3 1050 50\nmark 3 2950 50\nmark 3 3050 50\nmark 2 3060 40\n\
                    mark 0 6000 10\nstretches 1 1 1 1 1 0\n";
        assert!(read(text).is_err());
    }
}
