//! The runs of the tests on each platform, and their order.
//!
//! Behaviour that is the same on every platform is tested on platforms that declare it (`covers` in
//! `platform.toml`); the others are booted for their own features: an architecture's registers, traps,
//! address spaces and fast paths, a board's interrupts, timers and memory. `--all` tests everything
//! everywhere.

mod examples;
mod fuzzer;
mod kinds;
mod planner;
mod ready_made;
mod suite;
mod systems;

pub(super) use examples::{TRACED, example, require_examples};

use std::collections::BTreeSet;
use std::path::Path;

use super::target::{Run, bochs};
use crate::Result;
use crate::cli::{Cores, Emulator, TestArguments};
use crate::platform::{Coverage, Platform};
use crate::system::System;
use crate::workspace::Workspace;
use kinds::{FUZZ, STRESS};
use planner::Planner;
use systems::DEMO;

/// The components whose response times must be in the trace of an example: the periodic tasks of one, and those that always
/// have something to do in others.
const OBSERVED: [(&str, &[&str]); 3] = [
    ("rates", &["sensor", "control", "logger"]),
    (DEMO, &["client-a", "client-b", "hog"]),
    ("modes", &["display"]),
];
/// The files of the suite that depend on a board.
const BOARD: &str =
    "arm_irq,arm_signals,boot_info,budget,call_reply,fpu,hidden_registers,irq,long_time,untyped";
/// The files of the suite that depend on an architecture or a board.
const ARCHITECTURE: &str = "arm_,asid,aarch64_,boot_info,breakpoints,budget,call_reply,fast_path,faults,fpu,frames,\
                   hidden_registers,hostile,io_ports,irq,long_time,registers,retype,stacks,syscalls,timeout,untyped,x86_";

/// The components whose response times must be in the trace of an example.
pub(super) fn observed(example: &str) -> &'static [&'static str] {
    let found = OBSERVED.iter().find(|(name, _)| *name == example);
    found.map_or(&[], |(_, components)| components)
}

/// The scope of the tests on a platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// Everything.
    All,
    /// All behaviour, and samples of slow tests; examples that depend on no architecture on one such platform.
    Portable,
    /// Files of the suite with these names, and tests of several cores.
    Own(&'static str),
}

impl Scope {
    /// The scope on a platform, for a short or a full run.
    pub(super) fn of(platform: &Platform, is_short: bool) -> Self {
        match platform.covers {
            _ if !is_short => Self::All,
            Coverage::Portable => Self::Portable,
            Coverage::Architecture => Self::Own(ARCHITECTURE),
            Coverage::Board => Self::Own(BOARD),
        }
    }
}

/// The boots of a platform: the suite and the fuzzer, if selected; parts of the suite that need a special
/// machine or kernel: a large machine, a `bench` kernel, the hardware debug interface; parts of both on two
/// cores; and the example systems. In the folder of a project, its system.
pub(super) fn runs<'a>(
    workspace: &'a Workspace,
    platform: &'a Platform,
    arguments: &'a TestArguments,
    project: Option<&Path>,
    scope: Scope,
) -> Result<Vec<Run<'a>>> {
    let planner = Planner::new(workspace, platform, arguments, scope);
    if arguments.emulator == Emulator::Bochs {
        let own = bochs(platform)?.tests.join(",");
        return Ok(vec![planner.part(&planner.filter.or(&own))?]);
    }
    if let Some(folder) = project {
        return planner.of_project(folder);
    }
    let parts = [
        planner.suite()?,
        planner.other_machines()?,
        planner.loaded()?,
        planner.on_several_cores()?,
        planner.in_host_time()?,
        planner.on_other_kernels()?,
        planner.on_large_machine()?,
        planner.examples()?,
        planner.streams()?,
        planner.traces()?,
        planner.fuzzers()?,
    ];
    let mut runs: Vec<_> = parts.into_iter().flatten().collect();
    // Cargo compiles a kernel again when only its number of cores has changed.
    runs.sort_by_key(|run| run.cores.count > Cores::TWO.count);
    if scope != Scope::All {
        choose_files(
            &mut runs,
            &System::target_tests(workspace)?.name,
            &System::fuzzer(workspace)?.name,
        );
    }
    Ok(runs)
}

/// Chooses the files of the suite that are compiled: programs with the same options hold the tests of all runs on them,
/// and no others. The fuzzer, which uses what the tests share, takes the suite as these runs have it, and none of its
/// tests where there is no such run. The same files have the same text, so that boards with the same target share programs.
fn choose_files(runs: &mut [Run<'_>], suite: &str, fuzzer: &str) {
    let is_of = |run: &Run<'_>, system: &str| run.system.name == system;
    let options = |run: &Run<'_>| (run.abi.clone(), run.cores.are_several(), run.is_traced);
    let parts = runs.iter().filter(|run| is_of(run, suite));
    let parts: Vec<_> = parts
        .map(|run| (options(run), run.filter.clone()))
        .collect();
    for run in runs.iter_mut() {
        if !is_of(run, suite) && !is_of(run, fuzzer) {
            continue;
        }
        let own = options(run);
        let same = parts.iter().filter(|(options, _)| *options == own);
        let same: BTreeSet<_> = same.flat_map(|(_, filter)| filter.split(',')).collect();
        run.files = match same.len() {
            0 => FUZZ.to_string(),
            // An empty filter lets all tests through.
            _ if same.contains("") => String::new(),
            _ => Vec::from_iter(same).join(","),
        };
    }
}

/// Orders the runs of several platforms so that failures show early: the first run of each platform, then the
/// second ones, and so on; the fuzzer's runs are among the last.
pub(super) fn interleave<T>(platforms: Vec<Vec<T>>) -> Vec<T> {
    let mut queues: Vec<_> = platforms.into_iter().map(Vec::into_iter).collect();
    let mut all = Vec::new();
    loop {
        let before = all.len();
        all.extend(queues.iter_mut().filter_map(Iterator::next));
        if all.len() == before {
            return all;
        }
    }
}

/// The name of an example system's run in host time as a test.
pub(super) fn stressed(system: &str) -> String {
    format!("{STRESS}::{system}")
}

#[cfg(test)]
mod tests;
