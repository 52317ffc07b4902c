//! The plugin's output: the longest waits of the interrupts that released the high-priority thread, and the
//! interrupts-disabled sections.

use anyhow::{Context, bail};

use super::verdict::longest_section;
use super::{INTERRUPTS_OFF, cores_of, several};
use crate::Result;
use crate::bench::boot;
use crate::bench::measurement::Measurement;

/// The numbers of marks: see `benches/component/src/mark.rs`.
const DONE: u64 = 0;
const WATCH: u64 = 1;
const RELEASED: u64 = 2;

/// The observations for one scenario with one number of attackers.
#[derive(Debug, Default, PartialEq)]
pub(in crate::bench) struct Observation {
    /// For each release, the number of instructions until the thread's first one.
    pub(super) delays: Vec<f64>,
    /// Statistics of the interrupts-disabled sections: their number, the sums of their lengths and of the
    /// squares of these, the shortest and the longest.
    count: u64,
    sum: f64,
    squares: f64,
    shortest: f64,
    longest: f64,
    /// The addresses of the longest section.
    pub(in crate::bench) path: Vec<u64>,
    /// The addresses executed during the longest delay.
    pub(in crate::bench) delayed: Vec<u64>,
    /// The longest time that a core has waited for others in one section.
    pub(super) wait: f64,
    pub(in crate::bench) awaited: Vec<u64>,
}

/// Reads the plugin's output.
pub(super) fn read(text: &str) -> Result<Vec<Observation>> {
    let mut observations = Vec::new();
    let mut delays = None;
    let (mut delayed, mut wait) = (None, None);
    for line in text.lines() {
        let mut words = line.split(' ');
        let kind = words.next();
        #[expect(clippy::cast_precision_loss, reason = "they are below 2^53")]
        let mut next = || -> Result<f64> {
            let word = words.next().context("the record is damaged")?;
            Ok(word.parse::<u64>()? as f64)
        };
        match kind {
            Some("mark") => match (next()? as u64, next()?) {
                (WATCH, _) => delays = Some(Vec::new()),
                (RELEASED, waited) => delays.iter_mut().for_each(|delays| delays.push(waited)),
                (DONE, _) => {}
                (mark, _) => bail!("there is no mark {mark}"),
            },
            Some("delay") => {
                next()?;
                delayed = Some(addresses(words)?);
            }
            Some("wait") => wait = Some((next()?, addresses(words)?)),
            Some("sections") => {
                let (count, sum, squares) = (next()?, next()?, next()?);
                let (shortest, longest) = (next()?, next()?);
                let delays = delays.take().context("the record is damaged")?;
                let delayed = delayed.take().context("the record is damaged")?;
                let (wait, awaited) = wait.take().context("the record is damaged")?;
                observations.push(Observation {
                    delays,
                    count: count as u64,
                    sum,
                    squares,
                    shortest,
                    longest,
                    path: addresses(words)?,
                    delayed,
                    wait,
                    awaited,
                });
            }
            Some(boot::LINE) => {}
            _ => bail!("the record is damaged: {line}"),
        }
    }
    Ok(observations)
}

fn addresses<'a>(words: impl Iterator<Item = &'a str>) -> Result<Vec<u64>> {
    let addresses = words.map(|word| u64::from_str_radix(word, 16));
    Ok(addresses.collect::<std::result::Result<_, _>>()?)
}

impl Observation {
    /// The paths that are longer than the requirements permit, with what they are: the longest section, and
    /// the longest wait for other cores. `one` is the measurement of its sections.
    pub(in crate::bench) fn too_long(&self, one: &Measurement) -> Vec<(&'static str, &[u64])> {
        let scenario = one.operation.strip_suffix(INTERRUPTS_OFF);
        let wait = several::longest_wait(scenario.unwrap_or_default(), cores_of(one));
        let section = longest_section(cores_of(one));
        let section = ("section", self.longest, section, &self.path);
        let wait = ("wait for other cores", self.wait, wait, &self.awaited);
        let all = [section, wait].into_iter();
        all.filter(|(_, length, bound, _)| length > bound)
            .map(|(what, _, _, path)| (what, &path[..]))
            .collect()
    }

    /// The sections, as a measurement with the other properties of `one`.
    pub(super) fn sections(&self, one: Measurement) -> Measurement {
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
    fn releases_count_while_they_are_watched() {
        let text = "mark 2 70\nmark 1 0\nmark 2 50\nmark 2 350\nmark 0 10\n\
                    delay 350 9 a\nwait 2 5 b0\nsections 4 500 132600 10 350 1f a0\n";
        let observations = read(text).unwrap();
        assert_eq!(observations.len(), 1);
        assert_eq!(observations[0].delays, [50.0, 350.0]);
        assert_eq!(observations[0].path, [0x1f, 0xa0]);
        assert_eq!(observations[0].delayed, [9, 10]);
        assert_eq!(observations[0].wait, 2.0);
        assert_eq!(observations[0].awaited, [5, 0xb0]);
    }

    #[test]
    fn what_is_damaged_is_refused() {
        for text in [
            "mark 1\n",
            "mark 7 0\n",
            "sections 1 1 1 1 1 0\n",
            "mark 1 0\nsections 1 1 1 1 1 0\n",
            "abacus\n",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_too_long_depends_on_the_scenario() {
        let observation = |longest, wait| Observation {
            longest,
            wait,
            path: vec![1],
            awaited: vec![2],
            ..Observation::default()
        };
        let of = |scenario: &str, observation: &Observation| -> Vec<u64> {
            let operation = format!("{scenario}{INTERRUPTS_OFF}");
            let cores = serde_json::Map::from_iter([("cores".to_string(), 2.into())]);
            let one = Measurement::new("delay", &operation, cores, "instructions", &[1.0]).unwrap();
            let found = observation.too_long(&one).into_iter();
            found.map(|(_, path)| path[0]).collect()
        };
        assert!(of("storm", &observation(3000.0, 3000.0)).is_empty());
        assert_eq!(of("storm", &observation(3001.0, 3001.0)), [1, 2]);
        assert!(of("deep lookups", &observation(3000.0, 7866.0)).is_empty());
    }
}
