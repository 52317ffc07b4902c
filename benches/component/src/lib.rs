//! The on-target benchmarks, one file for each suite.
//!
//! A benchmark is a function in the list of its suite, with the number of its variants. Each variant runs in
//! a fresh component, in which the first thread calls the function ([`perform`]); the root task knows only
//! the names ([`SUITES`]). A second component, the partner, runs the same program in another address space.
#![no_std]

mod bench;
mod crew;
pub mod locks;
mod mark;
mod measure;
mod partner;
pub mod protocol;
mod report;
mod suites;

pub use bench::MAX_CORES;
#[cfg(target_arch = "arm")]
pub use measure::Counter;
pub use suites::SUITES;

use bench::Bench;
use protocol::names;
use userlib::{Result, Startup};

/// A benchmark.
pub struct Benchmark {
    /// Its name; its results may have other names.
    pub name: &'static str,
    /// The number of its variants.
    pub variants: usize,
    /// Performs one variant.
    run: fn(&mut Bench, usize) -> Result,
}

/// Performs the benchmark that the runner chose, or acts as its partner.
pub fn perform(startup: &'static Startup) -> Result {
    let Some(suite) = startup.find_number(names::SUITE) else {
        return partner::stand_by(startup);
    };
    let (index, variant) = (
        startup.number(names::BENCHMARK),
        startup.number(names::VARIANT),
    );
    let (suite, benchmarks) = SUITES[suite];
    let mut bench = Bench::new(suite, startup);
    (benchmarks[index].run)(&mut bench, variant)
}
