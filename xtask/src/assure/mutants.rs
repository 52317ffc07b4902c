//! Mutants of the kernel, by cargo-mutants: how many changes of the kernel the tests would miss.
//!
//! `.cargo/mutants.toml` defines the mutated code and the tests.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context;

use super::{Run, checkers};
use crate::Result;
use crate::toolchain::find_program;
use crate::ui::{Step, say};

/// Random histories of a test; a few detect most of what many detect.
const CASES: &str = "16";

/// The results of the mutants.
#[derive(Default)]
pub(super) struct Account {
    pub(super) caught: usize,
    /// Mutants that made a test run for ever, which counts as detected.
    pub(super) endless: usize,
    /// Mutants that do not compile.
    pub(super) unviable: usize,
    /// Mutants that no test detected.
    pub(super) missed: Vec<String>,
    /// The part that was tried.
    pub(super) part: &'static str,
}

impl Account {
    /// The detected part, in percent of those that compile.
    pub(super) fn score(&self) -> f64 {
        let noticed = self.caught + self.endless;
        100.0 * noticed as f64 / (noticed + self.missed.len()).max(1) as f64
    }
}

/// All mutants, without a time limit.
pub(super) fn all(run: &Run<'_>) -> Result<Account> {
    mutate(run, None)?.context("no mutant was tested")
}

/// As many as a tenth of the time allows, drawn at random. Short runs allow none, because building the tests
/// takes longer.
pub(super) fn sample(run: &Run<'_>) -> Result<Option<Account>> {
    const LEAST: Duration = Duration::from_secs(3 * 60);
    let time = run.share(10);
    if time < LEAST {
        return Ok(None);
    }
    mutate(run, Some(time))
}

/// Tries all mutants, or in a limited time a random part.
fn mutate(run: &Run<'_>, time: Option<Duration>) -> Result<Option<Account>> {
    let Some(program) = find_program("cargo-mutants") else {
        say("mutants are left out; type: cargo install cargo-mutants --locked");
        return Ok(None);
    };
    let step = Step::begin("testing mutants of the kernel");
    // A test that fails without mutants detects nothing. cargo-mutants itself checks only those of the
    // kernel.
    let mut tests = checkers::test(run, "kernel-host");
    tests.arg("--quiet").env("PROPTEST_CASES", CASES);
    if !tests.stdin(Stdio::null()).output()?.status.success() {
        step.say("mutants are left out, as tests of kernel-host fail without them");
        return Ok(None);
    }
    // A limit of 0 means none. An interrupt makes it end its tests, too.
    let seconds = time.map_or(0, |time| time.as_secs()).to_string();
    let mut command = run.toolchain.command("timeout".into());
    command
        .args(["--signal=INT", &seconds])
        .arg(program)
        .args(["mutants", "--shuffle"])
        .current_dir(run.workspace.root())
        .args(["--package", "kernel", "--test-package", "kernel"])
        .args([
            "--test-package",
            "kernel-host",
            "--colors",
            "never",
            "--output",
        ])
        .arg(&run.folder)
        // Each copy of the sources has its own target folder.
        .env_remove("CARGO_TARGET_DIR")
        .env("PROPTEST_CASES", CASES)
        // `.cargo/mutants.toml` gives the test programs an unstable option.
        .env("RUSTC_BOOTSTRAP", "1")
        .stdin(Stdio::null());
    // The exit code for missed mutants is not a failure.
    let output = command.output().context("cannot start cargo-mutants")?;
    let read = |name: &str| {
        let path = run.folder.join("mutants.out").join(name);
        let text = fs::read_to_string(path).unwrap_or_default();
        text.lines().map(str::to_string).collect::<Vec<_>>()
    };
    let account = Account {
        caught: read("caught.txt").len(),
        endless: read("timeout.txt").len(),
        unviable: read("unviable.txt").len(),
        missed: read("missed.txt"),
        part: if time.is_some() {
            "drawn at random"
        } else {
            "all"
        },
    };
    if account.caught + account.missed.len() == 0 {
        let words = String::from_utf8_lossy(&output.stderr);
        say(&format!("no mutant was tested: {}", words.trim()));
        return Ok(None);
    }
    Ok(Some(account))
}
