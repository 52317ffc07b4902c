//! The path of one operation through the kernel, instruction by instruction.
//!
//! While the benchmarks run, the emulator writes the address of each instruction that it executes in the
//! kernel and in the functions that take time stamps. The instructions between two stamps are an operation;
//! the requested one is identified by its measured length.

mod debugger;
mod serialising;
mod trace;

use std::fmt::Write;
use std::fs;

use anyhow::Context;

use super::delay::{self, Observation, Observer};
use super::measurement::Measurement;
use super::run::Bench;
use crate::Result;
use crate::build::Built;
use crate::image::elf::Executable;
use crate::symbols::{Symbolizer, Symbols};
use crate::ui::{self, say};
pub(super) use trace::{Runs, Trace};

/// Shows the path of the first operation with a name and parameters that contain the words of `wanted`, in
/// the first variant unless another is chosen.
pub(super) fn show(bench: &Bench<'_>, wanted: &str) -> Result<()> {
    let built = bench.build()?;
    if delay::is_wanted(bench.filter()) {
        return show_section(bench, &built, wanted);
    }
    // The plugin counts for processors without a counter.
    let observer = Observer::prepare(bench, &built)?;
    let (measurements, runs) = bench.run(&built, Some(Trace::of(&built)?), Some(&observer))?;
    let one = measurements
        .iter()
        .find(|one| is_meant(one, wanted))
        .with_context(|| format!("no benchmark measures `{wanted}`"))?;
    let path = runs.path(one.min).with_context(|| {
        format!("{one} is not a single kernel entry; choose an operation that is one")
    })?;
    let symbolizer = Symbolizer::build(bench.workspace)?;
    let symbols = Symbols::of(&symbolizer, &built.kernel, path)?;
    ui::print(format!(
        "{one}: {} instructions in the kernel\n\n",
        path.len()
    ))?;
    let kernel = Executable::parse(&fs::read(&built.kernel)?)?;
    let counts = serialising::count(path, &kernel);
    ui::print(format!("serialising instructions: {counts}\n\n"))?;
    show_path(path, &symbols)
}

/// Shows the longest interrupts-disabled section of the first scenario that contains the words of `wanted`,
/// its longest delay, and with several cores the longest wait of a core for others.
fn show_section(bench: &Bench<'_>, built: &Built, wanted: &str) -> Result<()> {
    let (measurements, observations) = bench.observe(built)?;
    let (one, observation) = scenarios(&measurements, &observations)
        .find(|(one, _)| is_meant(one, wanted))
        .with_context(|| format!("no benchmark measures `{wanted}`"))?;
    let Observation {
        path,
        delayed,
        awaited,
        ..
    } = observation;
    let symbolizer = Symbolizer::build(bench.workspace)?;
    let show = |path: &[u64]| -> Result<()> {
        show_path(path, &Symbols::of(&symbolizer, &built.kernel, path)?)
    };
    ui::print(format!("{one}: {} instructions\n\n", path.len()))?;
    show(path)?;
    for (title, path) in [
        ("the longest delay", delayed),
        ("the longest wait for other cores", awaited),
    ] {
        if !path.is_empty() {
            ui::print(format!("\n{title}: {} instructions\n\n", path.len()))?;
            show(path)?;
        }
    }
    Ok(())
}

/// Says where sections, and waits of a core for others, spent their instructions if they are too long.
pub(super) fn say_too_long(
    bench: &Bench<'_>,
    built: &Built,
    measurements: &[Measurement],
    observations: &[Observation],
) {
    for (one, observation) in scenarios(measurements, observations) {
        for (what, path) in observation.too_long(one) {
            // The measurements are worth more than the names.
            let steps = Symbolizer::build(bench.workspace)
                .and_then(|symbolizer| Symbols::of(&symbolizer, &built.kernel, path))
                .map_or_else(|error| error.to_string(), |it| by_step(path, &it));
            let length = path.len();
            say(&format!(
                "{one}: a {what} of {length} instructions:\n{steps}"
            ));
        }
    }
}

/// The observations of the suite `delay`, each with the measurement of its sections.
fn scenarios<'a>(
    measurements: &'a [Measurement],
    observations: &'a [Observation],
) -> impl Iterator<Item = (&'a Measurement, &'a Observation)> {
    let sections = |one: &&Measurement| one.operation.ends_with(delay::INTERRUPTS_OFF);
    measurements.iter().filter(sections).zip(observations)
}

fn show_path(path: &[u64], symbols: &Symbols) -> Result<()> {
    let (functions, steps) = (by_function(path, symbols), by_step(path, symbols));
    ui::print(format!("{functions}\n{steps}"))
}

/// Whether the name and parameters of a measurement contain the words of `wanted`.
fn is_meant(one: &Measurement, wanted: &str) -> bool {
    let name = format!("{} {}", one.operation, one.parameters());
    wanted
        .split([' ', ',', '='])
        .filter(|word| !word.is_empty())
        .all(|wanted| name.split([' ', ',', ':']).any(|word| word == wanted))
}

/// Instructions for each function, most of them first.
fn by_function(path: &[u64], symbols: &Symbols) -> String {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for &address in path {
        let name = &symbols.at(address).function;
        match counts.iter_mut().find(|(known, _)| known == name) {
            Some((_, count)) => *count += 1,
            None => counts.push((name.clone(), 1)),
        }
    }
    counts.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let mut text = String::new();
    for (name, count) in counts {
        let _ = writeln!(text, "{count:>6}  {name}");
    }
    text
}

/// The path in order of execution: consecutive instructions of one function are one step.
fn by_step(path: &[u64], symbols: &Symbols) -> String {
    let places: Vec<_> = path.iter().map(|&address| symbols.at(address)).collect();
    let mut text = String::new();
    for step in places.chunk_by(|a, b| a.function == b.function) {
        let (first, last) = (step[0], step[step.len() - 1]);
        let _ = writeln!(
            text,
            "{:>6}  {:<50} {} .. {}",
            step.len(),
            first.function,
            first.location,
            last.location
        );
    }
    text
}
