//! What the plugin wrote: marks of the guest and stretches with interrupts
//! off, and the delays that follow.
//!
//! The urgent thread is released at exact intervals. While nothing else happens
//! it runs as soon as it can. These *quiet* releases, some before and some
//! after all others, tell the interval and, for each of the others, when it would
//! have run if nothing else had happened. What it comes later than that is what
//! the others did to it; the kernel's way from the timer's interrupt to the
//! thread comes on top.

use anyhow::{Context, bail};

use crate::Result;
use crate::bench::measurement::Measurement;

/// The numbers of marks: `benches/component/src/suites/delay/mark.rs`.
const DONE: u64 = 0;
const QUIET: u64 = 1;
const WATCH: u64 = 2;
const RELEASED: u64 = 3;
const CALM: u64 = 4;

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
    let mut releases = [Vec::new(), Vec::new(), Vec::new()];
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
                    CALM => phase = Some(2),
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
                let [quiet, watched, calm] = std::mem::take(&mut releases);
                observations.push(Observation {
                    delays: delays(&quiet, &watched, &calm)?,
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

/// The delays of the watched releases; the others are quiet, before and after.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "they are below 2^53"
)]
fn delays(before: &[Release], watched: &[Release], after: &[Release]) -> Result<Vec<f64>> {
    /// How far a quiet release may be off: what a tick of the timer lasts, and
    /// where in its loop the other thread is interrupted.
    const IRREGULAR: i64 = 200;
    let (Some(first), Some(last)) = (before.first(), before.last()) else {
        bail!("there were no quiet releases");
    };
    let rough = (last.time - first.time) as f64 / (last.number - first.number).max(1) as f64;
    let prompt = |interval: f64, releases: &[Release]| {
        let excess = |one: &Release| (one.time - (one.number as f64 * interval) as i64, one.number);
        releases.iter().map(excess).min()
    };
    // The longer the time between two quiet releases, the better they tell the interval.
    let (from, to) = (prompt(rough, before), prompt(rough, after));
    let (Some((start, one)), Some((end, other))) = (from, to) else {
        bail!("there were no quiet releases afterwards");
    };
    let interval = rough + (end - start) as f64 / (other - one) as f64;
    let excess = |one: &Release| one.time - (one.number as f64 * interval) as i64;

    let quiet = || before.iter().chain(after);
    let prompt = quiet().map(excess).min().unwrap_or(0);
    if quiet().any(|one| excess(one) > prompt + IRREGULAR) {
        bail!("the urgent thread is not released at regular intervals");
    }
    let way = quiet().map(|one| one.way).min().unwrap_or(0);
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
        // Released at 1000, 2000, ...; the way takes 50 instructions; one is 300 late.
        let text = "mark 1 500 0\nmark 3 1050 50\nmark 3 2052 50\nmark 3 3050 50\nmark 2 3060 40\n\
                    mark 3 4050 50\nmark 3 5350 350\nmark 4 5400 10\nmark 3 6050 50\nmark 0 6100 10\n\
                    stretches 4 500 132600 10 350 1f a0\n";
        let observations = read(text).unwrap();
        assert_eq!(observations.len(), 1);
        assert_eq!(observations[0].delays, [50.0, 350.0]);
        assert_eq!(observations[0].path, [0x1f, 0xa0]);
    }

    #[test]
    fn a_coarse_timer_does_not_look_like_delay() {
        // Released every 1000.6 instructions, on a timer that ticks once in 20.
        let mut text = "mark 1 0 0\n".to_string();
        for number in 1..=1000 {
            match number {
                17 => text += "mark 2 0 0\n",
                985 => text += "mark 4 0 0\n",
                _ => {}
            }
            let time = (f64::from(number) * 1000.6 / 20.0).ceil() * 20.0;
            text += &format!("mark 3 {} 50\n", time + 50.0);
        }
        text += "mark 0 0 0\nstretches 1 1 1 1 1 0\n";
        let observations = read(&text).unwrap();
        let delays = &observations[0].delays;
        assert!(
            delays.iter().all(|delay| (0.0..=100.0).contains(delay)),
            "{delays:?}"
        );
    }

    #[test]
    fn irregular_releases_are_no_measure() {
        let text = "mark 1 500 0\nmark 3 1050 50\nmark 3 2950 50\nmark 3 3050 50\nmark 2 3060 40\n\
                    mark 4 4000 50\nmark 3 4050 50\nmark 0 6000 10\nstretches 1 1 1 1 1 0\n";
        assert!(read(text).is_err());
    }
}
