//! The path of one operation through the kernel, instruction by instruction.
//!
//! The benchmarks run once more while the emulator writes down the address of
//! each instruction that it executes in the kernel and in the functions that
//! take stamps. What lies between two stamps is an operation; the one in
//! question is known by its length, which is what was measured.

mod symbols;
mod trace;

use std::fmt::Write;

use anyhow::Context;

use super::measurement::Measurement;
use super::run::Bench;
use crate::Result;
use symbols::Symbols;
pub(super) use trace::{Runs, Trace};

/// Shows the path of the first operation whose name and parameters have the
/// words of `wanted`, in the first variant unless another is chosen.
pub(super) fn show(bench: &Bench<'_>, wanted: &str) -> Result<()> {
    let built = bench.build()?;
    let (measurements, runs) = bench.run(&built, Some(Trace::of(&built)?))?;
    let is_wanted = |one: &&Measurement| {
        let name = format!("{} {}", one.operation, one.parameters());
        wanted
            .split([' ', ',', '='])
            .filter(|word| !word.is_empty())
            .all(|wanted| name.split([' ', ',']).any(|word| word == wanted))
    };
    let one = measurements
        .iter()
        .find(is_wanted)
        .with_context(|| format!("no benchmark measures `{wanted}`"))?;
    let path = runs.path(one.min).with_context(|| {
        format!("the trace does not show {one}: it is not one stay in the kernel")
    })?;
    let symbols = Symbols::read(&built.kernel)?;
    println!("{one}: {} instructions in the kernel\n", path.len());
    print!("{}", by_function(path, &symbols));
    println!();
    print!("{}", by_step(path, &symbols));
    Ok(())
}

/// Instructions for each function, most of them first.
fn by_function(path: &[u64], symbols: &Symbols) -> String {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for &address in path {
        let name = symbols.at(address).function;
        match counts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => counts.push((name, 1)),
        }
    }
    counts.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let mut text = String::new();
    for (name, count) in counts {
        let _ = writeln!(text, "{count:>6}  {name}");
    }
    text
}

/// The way in the order in which it is taken: instructions in a row that stem
/// from one function are one step.
fn by_step(path: &[u64], symbols: &Symbols) -> String {
    let places: Vec<_> = path.iter().map(|&address| symbols.at(address)).collect();
    let mut text = String::new();
    for step in places.chunk_by(|a, b| a.function == b.function) {
        let (first, last) = (&step[0], &step[step.len() - 1]);
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
