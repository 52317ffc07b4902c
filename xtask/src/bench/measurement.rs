//! Measurements: the guest's output with statistics, and their JSON.

use std::fmt;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Result;

/// The results of one operation in a benchmark.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Measurement {
    pub(crate) suite: String,
    pub(crate) operation: String,
    pub(crate) parameters: Map<String, Value>,
    pub(crate) unit: String,
    /// The number of samples.
    pub(crate) samples: u64,
    pub(crate) min: f64,
    pub(crate) max: f64,
    pub(crate) mean: f64,
    /// For measured times, which other programs disturb: half of the samples are below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) median: Option<f64>,
    /// The standard deviation of the samples, not an estimate for a population.
    pub(crate) stddev: f64,
    /// The compiler of what was measured, in a reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) compiler: Option<String>,
}

/// The units of figures that other programs on the host disturb.
pub(super) const NOISY: [&str; 2] = ["ns", RATE];
const RATE: &str = "1/s";

/// A line of the guest's output.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    suite: String,
    operation: String,
    parameters: Map<String, Value>,
    unit: String,
    samples: Vec<f64>,
}

impl Measurement {
    /// Reads a line of the guest, if it contains results. The guest does not know the unit of its counter:
    /// that is `counted`. It prints whole numbers only: fractions of nanoseconds as picoseconds.
    pub(crate) fn from_guest(line: &str, counted: &str) -> Result<Option<Self>> {
        if !line.starts_with('{') {
            return Ok(None);
        }
        let line: Line =
            serde_json::from_str(line).with_context(|| format!("cannot use the result {line}"))?;
        let (unit, scale) = match &*line.unit {
            "count" => (counted, 1.0),
            "ps" => ("ns", 1000.0),
            unit => (unit, 1.0),
        };
        let samples: Vec<_> = line.samples.iter().map(|one| one / scale).collect();
        Self::new(
            &line.suite,
            &line.operation,
            line.parameters,
            unit,
            &samples,
        )
        .map(Some)
    }

    /// The statistics of `samples`.
    pub(crate) fn new(
        suite: &str,
        operation: &str,
        parameters: Map<String, Value>,
        unit: &str,
        samples: &[f64],
    ) -> Result<Self> {
        if samples.is_empty() {
            bail!("{suite}/{operation} has no samples");
        }
        #[expect(clippy::cast_precision_loss, reason = "there are not that many")]
        let count = samples.len() as f64;
        let mean = samples.iter().sum::<f64>() / count;
        let variance = samples
            .iter()
            .map(|sample| (sample - mean).powi(2))
            .sum::<f64>()
            / count;
        Ok(Self {
            suite: suite.to_string(),
            operation: operation.to_string(),
            parameters,
            unit: unit.to_string(),
            samples: samples.len() as u64,
            min: samples.iter().copied().fold(f64::INFINITY, f64::min),
            max: samples.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            mean: rounded(mean),
            median: NOISY.contains(&unit).then(|| rounded(median(samples))),
            stddev: rounded(variance.sqrt()),
            compiler: None,
        })
    }

    /// The value that represents all samples.
    pub(crate) fn typical(&self) -> f64 {
        self.median.unwrap_or(self.mean)
    }

    /// The sample with the least disturbance, which can only make work take longer (Chen and Revels, *Robust
    /// benchmarking in noisy environments*, 2016).
    pub(crate) fn best(&self) -> f64 {
        if self.unit == RATE {
            self.max
        } else {
            self.min
        }
    }

    /// Whether both measure the same operation.
    pub(crate) fn is_about_the_same_as(&self, other: &Self) -> bool {
        self.suite == other.suite
            && self.operation == other.operation
            && self.parameters == other.parameters
            && self.unit == other.unit
    }

    /// The parameters as text.
    pub(crate) fn parameters(&self) -> String {
        let words = self.parameters.iter().map(|(name, value)| match value {
            Value::String(text) => format!("{name} {text}"),
            value => format!("{name} {value}"),
        });
        words.collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Measurement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.suite, self.operation)?;
        match &*self.parameters() {
            "" => Ok(()),
            parameters => write!(f, " ({parameters})"),
        }
    }
}

/// The median.
fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let half = sorted.len() / 2;
    f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[half])
}

/// Rounded to two decimal places: precise enough, and stable and readable in a file.
fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// A number without insignificant digits.
pub(crate) fn number(value: f64) -> String {
    if value.fract() == 0.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.2}")
    }
}

/// Reads a list of measurements.
pub(crate) fn parse_list(text: &str) -> Result<Vec<Measurement>> {
    Ok(serde_json::from_str(text)?)
}

/// A list of measurements, one a line, so that changes are easy to read.
pub(crate) fn format_list(measurements: &[Measurement]) -> Result<String> {
    let lines: Result<Vec<_>> = measurements
        .iter()
        .map(|one| Ok(format!("  {}", serde_json::to_string(one)?)))
        .collect();
    Ok(format!("[\n{}\n]\n", lines?.join(",\n")))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn example(operation: &str, samples: &[f64]) -> Measurement {
        Measurement::new("ipc", operation, Map::new(), "instructions", samples).unwrap()
    }

    #[test]
    fn a_line_of_the_guest_is_read() {
        let line = r#"{"suite":"ipc","operation":"call","parameters":{"words":10,"space":"same"},"unit":"count","samples":[2,4,4,4,5,5,7,9]}"#;
        let one = Measurement::from_guest(line, "instructions")
            .unwrap()
            .unwrap();
        assert_eq!(
            (one.min, one.max, one.mean, one.stddev),
            (2.0, 9.0, 5.0, 2.0)
        );
        assert_eq!((one.samples, &*one.unit), (8, "instructions"));
        assert_eq!(one.to_string(), "ipc/call (words 10, space same)");
        assert_eq!(
            Measurement::from_guest("3 benchmarks done", "x").unwrap(),
            None
        );
        assert!(Measurement::from_guest("{\"suite\":", "x").is_err());
        assert!(Measurement::from_guest(&line.replace("2,4,4,4,5,5,7,9", ""), "x").is_err());
    }

    #[test]
    fn where_there_is_noise_the_median_stands_for_all() {
        let line = r#"{"suite":"locks","operation":"latency","parameters":{},"unit":"ps","samples":[9000,1500,2500,1000]}"#;
        let one = Measurement::from_guest(line, "ticks").unwrap().unwrap();
        assert_eq!((&*one.unit, one.min, one.max), ("ns", 1.0, 9.0));
        assert_eq!((one.mean, one.typical()), (3.5, 2.0));
        assert_eq!(example("call", &[1.0, 1.0, 4.0]).typical(), 2.0);
        assert_eq!(one.best(), one.min);
        let rate = Measurement {
            unit: "1/s".to_string(),
            ..one
        };
        assert_eq!(rate.best(), rate.max);
    }

    #[test]
    fn json_is_read_and_written_alike() {
        let list = vec![example("call", &[1.0]), example("send", &[1.0, 2.0, 2.0])];
        let text = format_list(&list).unwrap();
        assert_eq!(parse_list(&text).unwrap(), list);
        for key in [
            "suite",
            "operation",
            "parameters",
            "unit",
            "samples",
            "min",
            "max",
            "mean",
            "stddev",
        ] {
            assert_eq!(text.matches(&format!("\"{key}\":")).count(), 2, "{key}");
        }
    }
}
