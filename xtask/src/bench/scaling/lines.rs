//! Cache lines: the lines that the plugin recorded while each core worked on core-local objects.

use anyhow::{Context, bail};
use serde_json::Value;

use super::{FINE, KERNEL, SMP};
use crate::Result;
use crate::bench::measurement::Measurement;

/// The operation, its parameter, and the unit.
pub(super) const LINES: &str = "lines";

/// The values of the parameter: which lines are counted.
const OWN: &str = "of one core";
const READ: &str = "read by several";
const SHARED: &str = "written and shared";
pub(super) const KINDS: [&str; 3] = [OWN, READ, SHARED];

/// The plugin's record for one benchmark.
#[derive(Debug, PartialEq)]
pub(super) struct Lines {
    own: u64,
    read: u64,
    shared: u64,
    /// The addresses of lines that are written and shared.
    addresses: Vec<u64>,
}

/// Reads the plugin's output.
pub(super) fn read(text: &str) -> Result<Vec<Lines>> {
    let rows = text.lines().filter_map(|line| line.strip_prefix("lines "));
    rows.map(|row| {
        let mut words = row.split(' ');
        let mut next = || -> Result<u64> {
            let word = words.next().context("the plugin's record is damaged")?;
            Ok(word.parse()?)
        };
        let (own, read, shared) = (next()?, next()?, next()?);
        let addresses = words.map(|word| u64::from_str_radix(word, 16));
        Ok(Lines {
            own,
            read,
            shared,
            addresses: addresses.collect::<std::result::Result<_, _>>()?,
        })
    })
    .collect()
}

/// The measurements for each benchmark, and the addresses of lines that are written and shared.
pub(super) fn complete(
    said: Vec<Measurement>,
    noted: &[Lines],
) -> Result<(Vec<Measurement>, Vec<String>)> {
    if said.len() != noted.len() {
        bail!(
            "the emulator noted the cache lines of {} benchmarks, but the guest ran {}",
            noted.len(),
            said.len()
        );
    }
    let (mut all, mut places) = (Vec::new(), Vec::new());
    for (one, lines) in said.iter().zip(noted) {
        for (kind, count) in [(OWN, lines.own), (READ, lines.read), (SHARED, lines.shared)] {
            let mut parameters = one.parameters.clone();
            parameters.insert(LINES.to_string(), Value::from(kind));
            #[expect(clippy::cast_precision_loss, reason = "there are not that many")]
            let count = count as f64;
            all.push(Measurement::new(SMP, LINES, parameters, LINES, &[count])?);
        }
        if !lines.addresses.is_empty() {
            places.push(format!("{}: {:x?}", one.parameters(), lines.addresses));
        }
    }
    Ok((all, places))
}

/// Complaints: a core that works on core-local objects must not touch lines that another core writes.
pub(in crate::bench) fn complaints(measured: &[Measurement]) -> Vec<String> {
    let is = |one: &Measurement, name: &str, value: &str| {
        one.parameters.get(name).and_then(Value::as_str) == Some(value)
    };
    let wrong = |one: &&Measurement| {
        one.operation == LINES && one.max > 0.0 && is(one, KERNEL, FINE) && is(one, LINES, SHARED)
    };
    measured
        .iter()
        .filter(wrong)
        .map(|one| {
            let (count, parameters) = (one.max, one.parameters());
            format!("{count} cache lines that another core touches are written ({parameters})")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::BIG;
    use super::super::tests::one;
    use super::*;
    use serde_json::json;

    fn said() -> Vec<Measurement> {
        vec![one(
            (SMP, LINES, "instructions"),
            json!({"operation": "call"}),
            4.0,
        )]
    }

    #[test]
    fn each_kind_of_lines_is_a_measurement() {
        let noted = read("mark 0 1\nlines 50 3 1 ffc0\n").unwrap();
        let (all, places) = complete(said(), &noted).unwrap();
        let counts: Vec<_> = all.iter().map(|one| one.mean).collect();
        assert_eq!(counts, [50.0, 3.0, 1.0]);
        assert_eq!(places.len(), 1);
        assert!(places[0].contains("ffc0"), "{places:?}");
    }

    #[test]
    fn a_record_that_does_not_fit_is_refused() {
        assert!(read("lines 1 2\n").is_err());
        assert!(read("lines 1 2 x\n").is_err());
        assert!(complete(said(), &[]).is_err());
    }

    #[test]
    fn lines_that_are_written_and_shared_are_found_unless_there_is_one_lock() {
        let measured = |kernel, text| {
            let (all, _) = complete(said(), &read(text).unwrap()).unwrap();
            all.into_iter()
                .map(|one| one.of(kernel))
                .collect::<Vec<_>>()
        };
        assert!(complaints(&measured(FINE, "lines 50 3 0\n")).is_empty());
        assert_eq!(complaints(&measured(FINE, "lines 50 3 1 40\n")).len(), 1);
        assert!(complaints(&measured(BIG, "lines 50 3 1 40\n")).is_empty());
    }
}
