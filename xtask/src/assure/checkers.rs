//! The checkers that are tests.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;

use super::Run;
use super::plot::Points;
use crate::ui::Step;
use crate::{Result, cargo};

/// A set of tests that search for bugs.
pub(super) struct Checker {
    pub(super) about: &'static str,
    package: &'static str,
    /// A part of the names of its tests.
    filter: &'static str,
    /// The number of selected tests that draw random histories; 0 for a fixed set.
    pub(super) draws: u64,
}

const fn checker(
    about: &'static str,
    package: &'static str,
    filter: &'static str,
    draws: u64,
) -> Checker {
    Checker {
        about,
        package,
        filter,
        draws,
    }
}

pub(super) const CHECKERS: [Checker; 12] = [
    checker(
        "all short histories against the model",
        "kernel-model",
        "explore",
        0,
    ),
    checker(
        "sabotaged kernels that must be caught",
        "kernel-model",
        "is_caught",
        0,
    ),
    checker("scenarios of the simulator", "simulator", "", 0),
    checker("locks, in all orders of their steps", "locks-loom", "", 0),
    checker(
        "the fuzzer's corpus, and broken kernels",
        "kernel-fuzz-host",
        "",
        0,
    ),
    checker(
        "random histories against the model",
        "kernel-model",
        "kernel_and_model",
        2,
    ),
    checker("random histories, invariants", "kernel-host", "random::", 1),
    checker(
        "random tangles of CNodes, invariants",
        "kernel-host",
        "tangles::",
        1,
    ),
    checker(
        "supply of time in random systems",
        "kernel-host",
        "supply::",
        2,
    ),
    checker(
        "delay of the highest-priority thread",
        "kernel-host",
        "delays::",
        1,
    ),
    checker(
        "servers behind thresholds",
        "kernel-host",
        "promises::behind",
        1,
    ),
    checker(
        "donated budgets along chains of calls",
        "kernel-host",
        "donated_budget",
        1,
    ),
];

const PACKAGES: [&str; 5] = [
    "kernel-model",
    "simulator",
    "locks-loom",
    "kernel-fuzz-host",
    "kernel-host",
];

/// Histories per run of a checker that draws them.
const CASES: u64 = 500;

/// The results of one checker.
#[derive(Default)]
pub(super) struct Account {
    pub(super) runs: u64,
    pub(super) failures: u64,
    pub(super) taken: Duration,
    /// The lines that it printed about itself.
    pub(super) words: Vec<String>,
    pub(super) points: Points,
}

impl Account {
    /// Histories drawn at random so far.
    pub(super) fn histories(&self, checker: &Checker) -> u64 {
        self.runs * checker.draws * CASES
    }
}

/// A cargo call for the tests of a package.
pub(super) fn test(run: &Run<'_>, package: &str) -> Command {
    let mut command = run.toolchain.cargo();
    command.current_dir(run.workspace.root());
    command.args(["test", "--profile", "host", "-p", package, "--tests"]);
    command
}

/// Builds all checkers.
pub(super) fn build(run: &Run<'_>) -> Result<()> {
    for package in PACKAGES {
        let step = Step::begin(&format!("building the tests of {package}"));
        cargo::run(&step, test(run, package).arg("--no-run"))?;
    }
    Ok(())
}

/// Runs each checker once, those of a fixed set only in the first round.
pub(super) fn round(run: &Run<'_>, round: u64, accounts: &mut [Account]) -> Result<()> {
    for (checker, account) in CHECKERS.iter().zip(accounts) {
        if round == 0 || checker.draws > 0 && !run.is_over() {
            checker.run(run, account)?;
        }
    }
    Ok(())
}

impl Checker {
    fn run(&self, run: &Run<'_>, account: &mut Account) -> Result<()> {
        // The number of steps of short histories, and the number of switches between cores.
        let (depth, preemptions) = match run.minutes {
            0..3 => ("3", "3"),
            3..30 => ("4", "4"),
            _ => ("5", "5"),
        };
        let step = Step::begin(&format!("{}, run {}", self.about, account.runs + 1));
        let start = Instant::now();
        let output = test(run, self.package)
            .args(["--quiet", self.filter, "--", "--nocapture"])
            .env("PROPTEST_CASES", CASES.to_string())
            .env("EXPLORE_DEPTH", depth)
            .env("LOOM_MAX_PREEMPTIONS", preemptions)
            .stdin(Stdio::null())
            .output()
            .context("cannot start cargo")?;
        account.runs += 1;
        account.taken += start.elapsed();
        let text = String::from_utf8_lossy(&output.stdout);
        let words = text.lines().filter(|line| line.starts_with("depth "));
        account.words.extend(words.map(str::to_string));
        let histories = account.histories(self);
        account.points.push((run.minutes_since(), histories as f64));
        if !output.status.success() {
            account.failures += 1;
            let path = run
                .folder
                .join(format!("finding-{}-{}.log", self.package, account.runs));
            let errors = String::from_utf8_lossy(&output.stderr);
            fs::write(&path, format!("{text}\n{errors}"))?;
            let path = run.workspace.display(&path);
            step.say(&format!("{}: a finding, see {path}", self.about));
        }
        Ok(())
    }
}
