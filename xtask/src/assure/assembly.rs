//! Mutants of the fast paths in assembly: each omits one condition, and a test on the target must fail.
//!
//! They are generated from the sources, so that a new condition is a new mutant: each line without which the
//! path is eligible more often, or takes the other of two branches. The kernel is built once, in a copy of
//! the repository in which symbols mark these lines; a mutant is a change of a few bytes of the boot image.

mod code;
mod equivalent;
mod journal;
mod lines;
mod marks;
mod trial;

use std::fs;
use std::path::{Path, PathBuf};

use super::Run;
use crate::Result;
use crate::archive::FILTER;
use crate::build::{self, Built, Request, RootTask, UserProfile};
use crate::cli::{AssureArguments, Hardening, Kernel};
use crate::platform::Platform;
use crate::qemu::Supervisor;
use crate::setup::{self, BuildTools};
use crate::system::System;
use crate::ui::Step;
use crate::workspace::Workspace;
use journal::Journal;
use marks::Marked;
use trial::{Trial, Verdict};

/// The tests; a mutant that breaks everything fails any of them.
const TESTS: &str = "fast_path";

/// A change of one instruction.
pub(super) struct Mutant {
    /// The file, without folder and extension.
    file: String,
    /// For an instruction of a macro, the file that uses the macro.
    user: String,
    /// Its line, from 0.
    line: usize,
    /// The instruction before it.
    previous: String,
    /// The old text.
    before: String,
    /// The new text.
    after: String,
    /// The place in the boot image that changes, and the new code.
    offset: usize,
    code: Vec<u8>,
}

/// The results of the mutants.
#[derive(Default)]
pub(super) struct Account {
    pub(super) platform: String,
    pub(super) caught: usize,
    /// Mutants that no test detected.
    pub(super) missed: Vec<String>,
    /// Mutants that no test can detect, with the reason.
    pub(super) equivalent: Vec<String>,
}

/// Tries all mutants of a platform's fast paths, of single-core or multicore kernels. An interrupted run is
/// continued by the next one.
pub(super) fn all(run: &Run<'_>, arguments: &AssureArguments) -> Result<Account> {
    let platform = Platform::load(run.workspace, &arguments.platform)?;
    platform.require(arguments.cores)?;
    let folder = folder(&platform.target);
    let supervisor = Supervisor::new()?;
    let copy = copy(run, folder)?;
    let built = build(&copy, &setup::build_tools()?, &platform, arguments)?;
    let marked = Marked::read(&built)?;
    let image = run.folder.join(format!("{}-mutant", platform.name));
    let mut trial = Trial::new(&platform, arguments.cores, &image, &supervisor)?;
    let mut account = Account {
        platform: platform.name.clone(),
        ..Account::default()
    };
    let step = Step::begin("running the tests without a mutant");
    match trial.run(&marked.image)? {
        Verdict::Passed => {}
        Verdict::Failed(how) => anyhow::bail!("the tests fail even without a mutant: {how}"),
        Verdict::Interrupted => return Ok(account),
    }
    drop(step);
    trial.limit();
    let mut journal = Journal::open(&run.folder, arguments, &marked.image)?;
    let only = arguments.only.as_deref().unwrap_or_default();
    for mutant in marked.mutants(run.workspace, folder)? {
        let name = mutant.name();
        if !name.contains(only) {
            continue;
        }
        if !arguments.cores.are_several()
            && let Some(reason) = equivalent::reason(folder, &mutant)
        {
            account.equivalent.push(format!("`{name}`: {reason}"));
            continue;
        }
        let step = Step::begin(&name);
        let detected = match journal.detected(&name) {
            Some(how) => Some(how),
            None => match trial.run(&marked.with(&mutant))? {
                Verdict::Passed => None,
                Verdict::Failed(how) => Some(how),
                Verdict::Interrupted => break,
            },
        };
        match detected {
            Some(how) => {
                step.say(&format!("    detected: {how}"));
                journal.add(&name, &how)?;
                account.caught += 1;
            }
            None => {
                step.say("    MISSED");
                account.missed.push(name);
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

/// Copies the repository, with marks in the assembly in `folder`, or updates an older copy: unchanged files
/// are not built again. It has a target folder of its own.
fn copy(run: &Run<'_>, folder: &str) -> Result<Workspace> {
    let copy = Workspace::at(&run.folder.join("assembly"));
    let files = run.workspace.files()?;
    remove_others(&files, &copy)?;
    for file in files {
        let mut text = fs::read(run.workspace.path(&file))?;
        if file.starts_with(folder) && file.extension().is_some_and(|end| end == "s") {
            text = marks::insert(&stem(&file), &String::from_utf8(text)?).into_bytes();
        }
        let to = copy.path(&file);
        if fs::read(&to).is_ok_and(|there| there == text) {
            continue;
        }
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(to, text)?;
    }
    Ok(copy)
}

/// Removes the files of a copy that the repository does not have any more.
fn remove_others(files: &[PathBuf], copy: &Workspace) -> Result<()> {
    if !copy.root().exists() {
        return Ok(());
    }
    for file in copy.files()?.iter().filter(|file| !files.contains(file)) {
        fs::remove_file(copy.path(file))?;
    }
    Ok(())
}

/// A file's name without extension.
fn stem(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

/// Builds the tests.
fn build(
    copy: &Workspace,
    tools: &BuildTools,
    platform: &Platform,
    arguments: &AssureArguments,
) -> Result<Built> {
    let request = Request {
        platform,
        kernel: Kernel::Debug,
        abi: &platform.timer,
        cores: arguments.cores,
        hardening: &Hardening::default(),
        log: None,
        tracing: None,
        root_task: RootTask::System(&System::target_tests(copy)?),
        loaded: false,
        bare: false,
        user_profile: UserProfile::Tests,
        variables: false,
        environment: &[],
        features: &[],
        parameters: &[(FILTER, TESTS)],
    };
    build::build(copy, tools, &request)
}

impl Mutant {
    fn name(&self) -> String {
        let after = match &*self.after {
            "" => "nothing",
            after => after,
        };
        let user = match self.user == self.file {
            true => String::new(),
            false => format!(" in {}.s", self.user),
        };
        let line = self.line + 1;
        format!("{}.s:{line}: {after} for {}{user}", self.file, self.before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporary;

    #[test]
    fn a_copy_loses_what_the_repository_has_lost() {
        let folder = temporary::Folder::new().unwrap();
        let copy = Workspace::at(folder.path());
        let files = ["kept", "lost"].map(PathBuf::from);
        for file in &files {
            fs::write(copy.path(file), "").unwrap();
        }
        remove_others(&files[..1], &copy).unwrap();
        assert_eq!(copy.files().unwrap(), &files[..1]);
        remove_others(&files, &Workspace::at(&folder.path().join("none"))).unwrap();
    }
}
