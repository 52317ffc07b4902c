//! The trace of a run, and the tests of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use super::Run;
use crate::programs::{self, Collection, Program};
use crate::system::System;
use crate::test::plan;
use crate::test::tally::Tally;
use crate::{Result, analyse, temporary};

/// The folder in cargo's target folder for traces of runs that have failed.
const FOLDER: &str = "traces";
/// The most characters of their names, which are those of the runs.
const LONGEST: usize = 100;

/// A trace that the reader of traces writes when its run has ended.
pub(super) struct Collected {
    collection: Collection,
    file: PathBuf,
}

impl Collected {
    /// That of a run which is about to begin, on a machine with its RAM in a file.
    pub(super) fn begin(run: &Run<'_>, ram: &Path) -> Result<Self> {
        let reader = programs::build_by_profile(run.workspace, Program::Trace, "tool")?;
        let folder = run.workspace.target().join(FOLDER);
        let context = || format!("cannot make the folder {}", folder.display());
        fs::create_dir_all(&folder).with_context(context)?;
        let file = folder.join(file_name(&run.label()));
        // That of an earlier run.
        let _ = fs::remove_file(&file);
        let platform = &run.platform.name;
        let collection = Collection::start(&reader, platform, ram, &file, run.keep, false)?;
        Ok(Self { collection, file })
    }

    /// The results of the tests of the trace, each of which is told, and where it is kept if one of them or the run has failed.
    pub(super) fn judge(
        self,
        run: &Run<'_>,
        has_failed: bool,
        tell: impl Fn(&str, Option<&str>) -> Tally,
    ) -> Result<(Tally, Option<String>)> {
        let Self { collection, file } = self;
        let complaint = run.check_trace(collection, &file)?;
        let mut tally = tell("trace::rules_hold", complaint.as_deref());
        if run.has_bounds() {
            let complaint = run.check_bounds(&file)?;
            tally += tell("trace::bounds_hold", complaint.as_deref());
        }
        if run.system.name == plan::TRACED {
            let complaint = run.check_simulated(&file)?;
            tally += tell("trace::simulator_has_the_same_events", complaint.as_deref());
        }
        Ok((tally, kept(&file, has_failed || tally.failed > 0)))
    }
}

impl Run<'_> {
    /// What the reader of traces complains about in the trace of a run that has ended, which becomes the file `trace`.
    fn check_trace(&self, collection: Collection, trace: &Path) -> Result<Option<String>> {
        let reader = programs::build_by_profile(self.workspace, Program::Trace, "tool")?;
        let mut output = collection.finish()?;
        if output.status.success() {
            let check = Command::new(&reader).arg("check").arg(trace).output();
            output = check.with_context(|| format!("cannot start {}", reader.display()))?;
        }
        let words = [&*output.stdout, &output.stderr].concat();
        let failed = !output.status.success();
        Ok(failed.then(|| String::from_utf8_lossy(&words).into_owned()))
    }

    /// Whether bounds of the analysis hold for this run: its figures are those of the usual kernel. In host time, a busy host
    /// makes responses longer, and in virtual time other cores take turns. One platform is enough.
    fn has_bounds(&self) -> bool {
        let is_described = self.description().is_file();
        let is_usual = self.abi.is_empty() && !self.hardening.is_wanted() && is_described;
        is_usual && self.is_virtual() && !self.cores.are_several() && self.platform.is_sample()
    }

    /// Where an example has its description.
    fn description(&self) -> PathBuf {
        let folder = format!("systems/{}", self.system.name);
        System::file(self.workspace, &folder)
    }

    /// What the analysis of the system complains about, beside the response times of this run.
    fn check_bounds(&self, trace: &Path) -> Result<Option<String>> {
        let reader = programs::build_by_profile(self.workspace, Program::Trace, "tool")?;
        let output = Command::new(&reader).arg("responses").arg(trace).output();
        let output = output.with_context(|| format!("cannot start {}", reader.display()))?;
        let file = temporary::File::of(programs::printed(output)?)?;
        analyse::complaint(
            self.workspace,
            &self.description(),
            &self.platform.name,
            file.path(),
            plan::observed(&self.system.name),
        )
    }

    /// How the events of this run differ from those of the same threads in the simulator.
    fn check_simulated(&self, trace: &Path) -> Result<Option<String>> {
        let simulator = programs::build_by_profile(self.workspace, Program::Simulator, "tool")?;
        let folder = temporary::Folder::new_in(self.workspace.target())?;
        let simulated = folder.path().join("trace");
        let run = Command::new(&simulator)
            .args([plan::TRACED, "--out"])
            .arg(folder.path())
            .arg("--trace")
            .arg(&simulated)
            .output();
        programs::printed(run.with_context(|| format!("cannot start {}", simulator.display()))?)?;
        let reader = programs::build_by_profile(self.workspace, Program::Trace, "tool")?;
        let compared = Command::new(&reader)
            .arg("compare")
            .args([&simulated, trace])
            .args(["--from", "begin", "--to", "end"])
            .output();
        let compared = compared.with_context(|| format!("cannot start {}", reader.display()))?;
        let words = [&*compared.stdout, &compared.stderr].concat();
        let failed = !compared.status.success();
        Ok(failed.then(|| String::from_utf8_lossy(&words).into_owned()))
    }
}

/// The name of the file for the trace of a run with this label.
fn file_name(label: &str) -> String {
    let words = label.split(|letter: char| !letter.is_alphanumeric());
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    let name: String = words.join("-").chars().take(LONGEST).collect();
    format!("{name}.trace")
}

/// Deletes a trace unless its run has failed. Says where it is if that is so.
fn kept(file: &Path, has_failed: bool) -> Option<String> {
    if !has_failed {
        let _ = fs::remove_file(file);
        return None;
    }
    let words = format!("the trace of this run is {}", file.display());
    file.is_file().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_has_the_name_of_its_run() {
        let name = file_name("pc99: kernel-target, traced, all, budget::a,donation");
        assert_eq!(
            name,
            "pc99-kernel-target-traced-all-budget-a-donation.trace"
        );
        let name = file_name(&"timeout,".repeat(50));
        assert_eq!(name.len(), LONGEST + ".trace".len());
    }

    #[test]
    fn the_trace_of_a_run_that_has_failed_is_kept() {
        let folder = temporary::Folder::new().unwrap();
        let file = folder.path().join("pc99-demo.trace");
        fs::write(&file, "events").unwrap();
        let words = kept(&file, true).unwrap();
        assert!(words.ends_with(&file.display().to_string()), "{words}");
        assert!(file.is_file());
        assert_eq!(kept(&file, false), None);
        assert!(!file.is_file());
        // The run has left no trace.
        assert_eq!(kept(&file, true), None);
    }
}
