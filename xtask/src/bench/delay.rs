//! The suite `delay`: how long the kernel can delay a high-priority thread.
//!
//! The guest runs scenarios and measures nothing. A plugin of the emulator (`xtask/plugin`) counts
//! instructions, and this side makes measurements of the plugin's output.

mod observer;
mod page;
mod plot;
mod record;
mod several;
mod verdict;

use serde_json::Value;

use super::measurement::Measurement;

pub(super) use observer::Observer;
pub(super) use page::page;
pub(super) use plot::plot;
pub(super) use record::Observation;
pub(super) use verdict::{BOUND, complaints};

/// The maximum number of attackers for which the suite is part of the tests.
pub(super) const FEW: u64 = 64;
/// The same with attackers on another core.
pub(super) const FEW_ELSEWHERE: u64 = 4;
/// The suite.
pub(super) const SUITE: &str = "delay";
/// The suffixes of a scenario's name in the names of its two measurements.
pub(super) const DELAY: &str = ": delay";
pub(super) const INTERRUPTS_OFF: &str = ": interrupts off";
/// The suffix of a third measurement, with several cores.
pub(super) const WAITING: &str = ": waiting for other cores";

/// The number of cores of a measurement of this suite.
fn cores_of(one: &Measurement) -> u64 {
    let cores = one.parameters.get("cores").and_then(Value::as_u64);
    cores.unwrap_or(1)
}

/// Whether a filter of benchmarks selects this suite.
pub(super) fn is_wanted(filter: &str) -> bool {
    filter.starts_with(SUITE)
}
