//! The suite `delay`: how long the kernel can delay an urgent thread.
//!
//! The guest plays scenarios and measures nothing. A plugin of the emulator
//! (`xtask/plugin`) counts instructions, and this side makes measurements of
//! what it wrote.

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
pub(super) use verdict::complaints;

/// With how many attackers at most the suite is part of the tests.
pub(super) const FEW: u64 = 64;
/// And the same where there are several cores.
pub(super) const FEW_ELSEWHERE: u64 = 4;
/// The suite.
pub(super) const SUITE: &str = "delay";
/// What is behind the name of a scenario in the names of its two measurements.
pub(super) const DELAY: &str = ": delay";
pub(super) const INTERRUPTS_OFF: &str = ": interrupts off";
/// And in that of a third, if there are several cores.
pub(super) const WAITING: &str = ": waiting for other cores";

/// How many cores a measurement of this suite is about.
fn cores_of(one: &Measurement) -> u64 {
    let cores = one.parameters.get("cores").and_then(Value::as_u64);
    cores.unwrap_or(1)
}

/// Whether a filter of benchmarks chooses this suite.
pub(super) fn is_wanted(filter: &str) -> bool {
    filter.starts_with(SUITE)
}
