//! The root task of the on-target benchmarks.
//!
//! It runs each variant of each benchmark in a fresh component, so that no result depends on earlier
//! measurements. The component prints the results; the root task adds one line at the end, `N benchmarks
//! done` or an error.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

mod counter;
mod runner;

use runner::Runner;
use suites::SUITES;
use userlib::{BootInfo, Environment, Outcome, Result, archive, println, runtime};

/// The parameter with the wanted benchmarks: those with this text in their `suite/name`; with `!SUITE,SUITE`, all
/// except those of these suites; if empty, all.
const FILTER: &str = "filter";

/// Suites that need several cores and a clock, or caches: they are run only if the filter begins with their name.
const ON_REQUEST: [&str; 3] = ["locks", "smp", "switch"];

/// The parameter with the only variant of each benchmark that is run; if empty, all.
const VARIANT: &str = "variant";

userlib::root!(main);

fn main(boot: &'static BootInfo) -> Result {
    let mut environment = Environment::from_boot_info(boot);
    let mut runner = Runner::new(&mut environment, boot)?;
    let filter = archive::parameter(FILTER);
    let wanted: Option<usize> = archive::parameter(VARIANT).parse().ok();
    let mut done = 0;
    for (suite, &(suite_name, benchmarks)) in SUITES.iter().enumerate() {
        for (index, benchmark) in benchmarks.iter().enumerate() {
            if !matches(suite_name, benchmark.name, filter) {
                continue;
            }
            for variant in 0..benchmark.variants {
                if wanted.is_some_and(|wanted| wanted != variant) {
                    continue;
                }
                let outcome = runner.run(suite, index, variant)?;
                if outcome != Outcome::Exited(0) {
                    let name = benchmark.name;
                    println!("{suite_name}/{name}, variant {variant}: {outcome:x?}");
                    runtime::exit(1)
                }
                done += 1;
            }
        }
    }
    println!("{done} benchmarks done");
    Ok(())
}

/// Whether a benchmark is selected by `filter` (see [`FILTER`]).
fn matches(suite: &str, name: &str, filter: &str) -> bool {
    if ON_REQUEST.contains(&suite) && !filter.starts_with(suite) {
        return false;
    }
    if let Some(unwanted) = filter.strip_prefix('!') {
        return unwanted.split(',').all(|unwanted| suite != unwanted);
    }
    match filter.split_once('/') {
        Some((before, after)) => suite.ends_with(before) && name.starts_with(after),
        None => suite.contains(filter) || name.contains(filter),
    }
}
