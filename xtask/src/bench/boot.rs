//! The length of the boot, as the emulator's plugin counts it: from the boot image's first instruction to the root task's first
//! one. A boot that is too long is a complaint, so that it cannot grow.

use anyhow::Context;
use serde_json::Map;

use super::measurement::{Measurement, number};
use crate::Result;

/// The name that the suite has in results.
const SUITE: &str = "boot";
/// The most instructions.
const BOUND: f64 = 2_000_000.0;
/// The beginning of the plugin's line.
pub(super) const LINE: &str = "boot";

/// The result in the plugin's output.
pub(super) fn measurement(text: &str) -> Result<Measurement> {
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    let count = lines
        .filter(|(kind, _)| *kind == LINE)
        .find_map(|(_, count)| count.parse::<u32>().ok())
        .context("the emulator did not see the root task's first instruction")?;
    let operation = "to_root_task";
    Measurement::new(
        SUITE,
        operation,
        Map::new(),
        "instructions",
        &[count.into()],
    )
}

/// The complaint about a boot that is too long.
pub(super) fn complaints(measured: &[Measurement]) -> Vec<String> {
    let boots = measured.iter().filter(|one| one.suite == SUITE);
    boots
        .filter(|one| one.max > BOUND)
        .map(|one| {
            format!(
                "{one} takes {} instructions, more than {}",
                number(one.max),
                number(BOUND)
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_boot_is_a_complaint() {
        let of = |text| complaints(&[measurement(text).unwrap()]);
        assert!(of("boot 2000000\nmark 1 0\n").is_empty());
        let complaint = of("boot 2000001\n").concat();
        assert!(complaint.contains("2000001 instructions"), "{complaint}");
    }

    #[test]
    fn a_boot_that_was_not_seen_is_an_error() {
        assert!(measurement("mark 1 0\nboot\n").is_err());
    }
}
