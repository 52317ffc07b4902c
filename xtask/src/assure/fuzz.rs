//! The coverage-guided fuzzer: libFuzzer drives `tests/kernel-fuzz-host/`.
//!
//! The tool sets the compiler's flags itself, so that no other tool has to be installed. libFuzzer is C++:
//! without a C++ compiler the fuzzer is left out, and the tool prints how to install one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context;

use super::Run;
use super::plot::Points;
use crate::toolchain::find_program;
use crate::ui::{Step, say};
use crate::workspace::empty_folder;
use crate::{Result, cargo};

/// The package, and its program.
const PACKAGE: &str = "kernel-fuzz-host";
/// Flags that make the compiler count edges and instrument comparisons for libFuzzer. Overflows and
/// assertions of the kernel end the run.
const FLAGS: [&str; 10] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
    "-Cdebug-assertions",
    "-Coverflow-checks",
    "--cfg",
    "fuzzing",
];

/// Its share of the time, in percent; half of it in the first round.
const SHARE: u64 = 30;
/// The duration of later rounds; a round of the checkers takes about a minute.
const ROUND: Duration = Duration::from_secs(40);
/// The maximum length of an input.
const LENGTH: &str = "-max_len=1024";

/// The fuzzer, built.
pub(super) struct Fuzzer {
    program: PathBuf,
    /// The committed corpus.
    corpus: PathBuf,
    /// Inputs found in addition.
    found: PathBuf,
}

/// The results of the fuzzer.
#[derive(Default)]
pub(super) struct Account {
    pub(super) inputs: u64,
    /// The number of control-flow edges of kernel and tests that were covered.
    pub(super) edges: u64,
    /// These edges, distinguished by how often they were taken.
    pub(super) features: u64,
    pub(super) seconds: u64,
    pub(super) findings: u64,
    /// Edges over time.
    pub(super) points: Points,
}

impl Fuzzer {
    /// Builds it, if there is a C++ compiler.
    pub(super) fn build(run: &Run<'_>) -> Result<Option<Self>> {
        if find_program("c++").is_none() {
            say("the fuzzer is left out, as there is no C++ compiler; type: apt-get install g++");
            return Ok(None);
        }
        let step = Step::begin("building the fuzzer");
        // The host's target, named explicitly so that the flags do not apply to build scripts.
        let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
        let folder = run.workspace.target().join(PACKAGE);
        let mut command = run.toolchain.cargo();
        command
            .current_dir(run.workspace.root())
            .args(["build", "--profile", "host", "--target", &target])
            .args(["-p", PACKAGE, "--features", "libfuzzer", "--bin", PACKAGE])
            .env("CARGO_TARGET_DIR", &folder)
            .env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\x1f"));
        cargo::run(&step, &mut command)?;
        let found = run.folder.join("corpus");
        fs::create_dir_all(&found)?;
        Ok(Some(Self {
            program: folder.join(target).join("host").join(PACKAGE),
            corpus: run.workspace.path("tests/kernel-fuzz-host/corpus"),
            found,
        }))
    }

    /// Runs it for its part of a round.
    pub(super) fn run(&self, run: &Run<'_>, account: &mut Account) -> Result<()> {
        let first = account.inputs == 0;
        let time = if first { run.share(SHARE / 2) } else { ROUND };
        let seconds = time.as_secs().max(10);
        let step = Step::begin(&format!("fuzzing system calls, {seconds} s"));
        let mut command = Command::new(&self.program);
        command
            .args([&self.found, &self.corpus])
            .args([LENGTH, "-len_control=0", "-print_final_stats=1"])
            .arg(format!("-max_total_time={seconds}"))
            .arg(format!(
                "-artifact_prefix={}/finding-",
                run.folder.display()
            ));
        let output = command
            .stdin(Stdio::null())
            .output()
            .context("cannot start the fuzzer")?;
        let text = String::from_utf8_lossy(&output.stderr);
        for line in text.lines() {
            account.read(line);
        }
        account.seconds += seconds;
        account
            .points
            .push((run.minutes_since(), account.edges as f64));
        if !output.status.success() {
            account.findings += 1;
            let path = run
                .folder
                .join(format!("finding-{PACKAGE}-{}.log", account.findings));
            fs::write(&path, &*text)?;
            let path = run.workspace.display(&path);
            step.say(&format!("fuzzing system calls: a finding, see {path}"));
        }
        Ok(())
    }

    /// Makes the new corpus: the seeds, and the fewest inputs that cover everything else.
    pub(super) fn write_corpus(&self, run: &Run<'_>) -> Result<()> {
        let step = Step::begin("choosing the new corpus");
        let chosen = run.folder.join("chosen");
        empty_folder(&chosen)?;
        // Files that are there first are kept by the merge.
        copy(&self.corpus, &chosen, is_seed)?;
        let merge = Command::new(&self.program)
            .args(["-set_cover_merge=1", "-use_counters=0", LENGTH])
            .args([&chosen, &self.corpus, &self.found])
            .stdin(Stdio::null())
            .output()
            .context("cannot start the fuzzer")?;
        anyhow::ensure!(merge.status.success(), "the corpora could not be merged");
        for name in names(&self.corpus)?.iter().filter(|name| !is_seed(name)) {
            fs::remove_file(self.corpus.join(name))?;
        }
        let kept = copy(&chosen, &self.corpus, |name| !is_seed(name))?;
        let corpus = run.workspace.display(&self.corpus);
        step.say(&format!("{corpus} has {kept} inputs beside the seeds"));
        Ok(())
    }
}

/// Found inputs are named by a hash, seeds by their purpose.
fn is_seed(name: &str) -> bool {
    name.contains('-')
}

/// The names of the files in a folder.
fn names(folder: &Path) -> Result<Vec<String>> {
    let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    Ok(fs::read_dir(folder)?.flatten().map(name).collect())
}

/// Copies files with matching names; returns their number.
fn copy(from: &Path, to: &Path, is_right: impl Fn(&str) -> bool) -> Result<usize> {
    let mut copied = 0;
    for name in names(from)?.iter().filter(|name| is_right(name)) {
        fs::copy(from.join(name), to.join(name))?;
        copied += 1;
    }
    Ok(copied)
}

impl Account {
    /// Reads a line of libFuzzer: `#123 NEW cov: 45 ft: 67 ...` or `stat::number_of_executed_units: 8`.
    fn read(&mut self, line: &str) {
        let mut words = line.split_whitespace();
        while let Some(word) = words.next() {
            let mut number = || words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
            match word {
                "cov:" => self.edges = self.edges.max(number()),
                "ft:" => self.features = self.features.max(number()),
                "stat::number_of_executed_units:" => self.inputs += number(),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Account;

    #[test]
    fn what_libfuzzer_prints_is_read() {
        let mut account = Account::default();
        account.read("#27478\tDONE   cov: 2588 ft: 9625 corp: 1030/44Kb lim: 74 exec/s: 65");
        account.read("stat::number_of_executed_units: 27478");
        account.read("stat::average_exec_per_sec:     65");
        assert_eq!(
            (account.edges, account.features, account.inputs),
            (2588, 9625, 27478)
        );
    }
}
