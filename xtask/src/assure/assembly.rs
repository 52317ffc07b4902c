//! Mutants of the fast paths in assembly: each omits one condition, and a test on the target must fail.
//!
//! They are generated from the sources, so that a new condition is a new mutant: each line without which the
//! path is eligible more often, or takes the other of two branches. They are built in a copy of the
//! repository.

mod equivalent;
mod lines;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process};

use super::Run;
use crate::Result;
use crate::cli::AssureArguments;
use crate::platform::Platform;
use crate::qemu::Supervisor;
use crate::ui::Step;
use crate::workspace::Workspace;

/// The tests to run; a mutant that breaks everything fails any of them.
const TESTS: &str = "fast_path";
/// A run of these tests takes a few seconds; this is the timeout of a mutant that hangs.
const PATIENCE: &str = "100";

/// A change of a line.
pub(super) struct Mutant {
    /// The file, relative to the repository.
    file: PathBuf,
    /// Its line, from 0.
    line: usize,
    /// The old text.
    before: String,
    /// The new text.
    after: String,
}

/// The results of the mutants.
#[derive(Default)]
pub(super) struct Account {
    pub(super) platform: String,
    pub(super) caught: usize,
    /// Mutants that do not assemble.
    pub(super) unviable: Vec<String>,
    /// Mutants that no test detected.
    pub(super) missed: Vec<String>,
    /// Mutants that no test can detect, with the reason.
    pub(super) equivalent: Vec<String>,
}

/// The result of a run of the tests.
enum Verdict {
    Passed,
    /// The first test that failed, or how the run ended.
    Failed(String),
    /// No test ran.
    NotBuilt,
}

/// Tries all mutants of a platform's fast paths, of single-core or multicore kernels.
pub(super) fn all(run: &Run<'_>, arguments: &AssureArguments) -> Result<Account> {
    let platform = Platform::load(run.workspace, &arguments.platform)?;
    platform.require(arguments.cores)?;
    let several = arguments.cores.are_several();
    let folder = folder(&platform.target);
    let copy = Copy::make(run)?;
    let supervisor = Supervisor::new()?;
    let mut account = Account {
        platform: platform.name.clone(),
        ..Account::default()
    };
    let step = Step::begin("running the tests without a mutant");
    match copy.test(arguments)? {
        Verdict::Passed => {}
        Verdict::Failed(how) => anyhow::bail!("the tests fail without a mutant: {how}"),
        Verdict::NotBuilt => anyhow::bail!("the tests cannot be built"),
    }
    drop(step);
    let only = arguments.only.as_deref().unwrap_or_default();
    for mutant in mutants(run.workspace, folder, several)? {
        let name = mutant.name();
        if supervisor.interrupted() || !name.contains(only) {
            continue;
        }
        if let Some(reason) = equivalent::reason(&mutant) {
            account.equivalent.push(format!("`{name}`: {reason}"));
            continue;
        }
        let step = Step::begin(&name);
        match copy.with(&mutant, arguments)? {
            Verdict::Failed(how) => {
                account.caught += 1;
                step.say(&format!("    noticed: {how}"));
            }
            Verdict::Passed => {
                step.say("    MISSED");
                account.missed.push(name);
            }
            Verdict::NotBuilt => {
                step.say("    no program");
                account.unviable.push(name);
            }
        }
    }
    Ok(account)
}

/// The folder with the fast paths of a target.
fn folder(target: &str) -> &'static str {
    match target {
        _ if target.starts_with("x86_64") => "arch/x86_64/src/fastpath",
        _ if target.starts_with("aarch64") => "arch/armv8/src/fastpath",
        _ => "arch/arm/src/aarch32/machine/fastpath",
    }
}

/// All mutants of the files in a folder.
fn mutants(workspace: &Workspace, folder: &str, several: bool) -> Result<Vec<Mutant>> {
    let mut names: Vec<_> = fs::read_dir(workspace.path(folder))?
        .flatten()
        .map(|entry| Path::new(folder).join(entry.file_name()))
        .filter(|path| path.extension().is_some_and(|end| end == "s"))
        .collect();
    names.sort();
    let mut mutants = Vec::new();
    for file in names {
        let text = fs::read_to_string(workspace.path(&file))?;
        for (line, before, after) in lines::changes(&text, several) {
            let file = file.clone();
            mutants.push(Mutant {
                file,
                line,
                before,
                after,
            });
        }
    }
    Ok(mutants)
}

impl Mutant {
    fn name(&self) -> String {
        let file = self.file.display();
        let after = if self.after.is_empty() {
            "nothing"
        } else {
            &self.after
        };
        format!("{file}:{}: {after} for {}", self.line + 1, self.before)
    }
}

/// A copy of the repository, with a target folder of its own.
struct Copy {
    workspace: Workspace,
}

impl Copy {
    /// Makes a copy, or updates an older one: unchanged files are not built again.
    fn make(run: &Run<'_>) -> Result<Self> {
        let workspace = Workspace::at(&run.folder.join("assembly"));
        for file in run.workspace.files()? {
            let (from, to) = (run.workspace.path(&file), workspace.path(&file));
            let text = fs::read(&from)?;
            if fs::read(&to).is_ok_and(|there| there == text) {
                continue;
            }
            if let Some(parent) = to.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::write(to, text)?;
        }
        Ok(Self { workspace })
    }

    /// The result of the tests for a mutant.
    fn with(&self, mutant: &Mutant, arguments: &AssureArguments) -> Result<Verdict> {
        let path = self.workspace.path(&mutant.file);
        let text = fs::read_to_string(&path)?;
        let mut lines: Vec<_> = text.lines().collect();
        let changed = lines[mutant.line].replace(&mutant.before, &mutant.after);
        lines[mutant.line] = &changed;
        fs::write(&path, lines.join("\n") + "\n")?;
        let verdict = self.test(arguments);
        fs::write(&path, text)?;
        verdict
    }

    /// Builds and runs the tests in the copy, with this tool, until one fails.
    fn test(&self, arguments: &AssureArguments) -> Result<Verdict> {
        let errors = self.workspace.path("target/errors.log");
        let mut child = Command::new(std::env::current_exe()?)
            .args(["test", "--filter", TESTS, "--timeout", PATIENCE])
            .args(["--platform", &arguments.platform])
            .args(["--smp", &arguments.cores.count.to_string()])
            .env("CARGO_MANIFEST_DIR", self.workspace.path("xtask"))
            .env_remove("CARGO_TARGET_DIR")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(&errors)?)
            .spawn()
            .context("cannot start the tests")?;
        let console = child.stdout.take().context("the console is not a pipe")?;
        let failed = |line: &String| line.contains("FAILED") || line.contains("panicked");
        let mut lines = BufReader::new(console).lines().map_while(|line| line.ok());
        let first = lines.find(failed);
        if first.is_some() {
            kill_process(Pid::from_child(&child), Signal::INT)?;
        }
        lines.for_each(drop);
        let passed = child.wait()?.success();
        let booted = fs::read_to_string(&errors)?.contains("running ");
        Ok(match first {
            Some(line) => Verdict::Failed(line),
            None if passed => Verdict::Passed,
            None if booted => Verdict::Failed("the run did not come to its end".to_string()),
            None => Verdict::NotBuilt,
        })
    }
}
