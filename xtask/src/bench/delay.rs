//! The suite `delay`: how long the kernel can delay an urgent thread.
//!
//! The guest plays scenarios and measures nothing. A plugin of the emulator
//! (`xtask/plugin`) counts instructions, and this side makes measurements of
//! what it wrote.

mod observer;
mod page;
mod plot;
mod record;
mod verdict;

pub(super) use observer::Observer;
pub(super) use page::page;
pub(super) use plot::plot;
pub(super) use record::Observation;
pub(super) use verdict::complaints;

/// With how many attackers at most the suite is part of the tests.
pub(super) const FEW: u64 = 64;
/// The suite.
pub(super) const SUITE: &str = "delay";
/// What is behind the name of a scenario in the names of its two measurements.
pub(super) const DELAY: &str = ": delay";
pub(super) const INTERRUPTS_OFF: &str = ": interrupts off";

/// Whether a filter of benchmarks chooses this suite.
pub(super) fn is_wanted(filter: &str) -> bool {
    filter.starts_with(SUITE)
}
