//! The parts of a long test run that have passed, on disk, so that the next run continues an interrupted one.
//! They count only as long as no source has changed.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use anyhow::Context;

use super::tally::Tally;
use crate::Result;
use crate::ui::say;
use crate::workspace::Workspace;

/// The parts that have passed.
#[derive(Debug)]
pub(super) struct Progress {
    file: PathBuf,
    passed: Mutex<BTreeMap<String, Tally>>,
}

impl Progress {
    /// The parts that an interrupted run has passed, if the sources are unchanged and `forget` is false.
    pub(super) fn open(workspace: &Workspace, forget: bool) -> Result<Self> {
        let sources = fingerprint(workspace)?;
        let file = workspace.target().join("tests-passed");
        let left = fs::read_to_string(&file).unwrap_or_default();
        let mut passed = BTreeMap::new();
        if let Some(lines) = left.strip_prefix(&format!("{sources}\n"))
            && !forget
        {
            passed.extend(lines.lines().filter_map(read));
        }
        if passed.is_empty() {
            let context = || format!("cannot write {}", file.display());
            fs::create_dir_all(workspace.target()).with_context(context)?;
            fs::write(&file, format!("{sources}\n")).with_context(context)?;
        } else {
            let number = passed.len();
            say(&format!(
                "{number} parts passed before the last run was interrupted; --fresh starts again"
            ));
        }
        Ok(Self {
            file,
            passed: Mutex::new(passed),
        })
    }

    /// The tally of a part that has passed already.
    pub(super) fn of(&self, part: &str) -> Option<Tally> {
        let passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
        passed.get(part).copied()
    }

    /// Records the result of a part.
    pub(super) fn note(&self, part: &str, tally: Tally) {
        let mut passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
        if tally.is_success() && passed.insert(part.to_string(), tally).is_none() {
            // If writing fails, the part is only run again.
            let _ = OpenOptions::new()
                .append(true)
                .open(&self.file)
                .and_then(|mut file| writeln!(file, "{tally}: {part}"));
        }
    }

    /// The run is complete: the next one starts from the beginning.
    pub(super) fn end(self) {
        let _ = fs::remove_file(self.file);
    }
}

fn read(line: &str) -> Option<(String, Tally)> {
    let (tally, part) = line.split_once(": ")?;
    Some((part.to_string(), Tally::from_summary(tally)?))
}

/// A hash of all files of the repository.
fn fingerprint(workspace: &Workspace) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    for file in workspace.files()? {
        file.hash(&mut hasher);
        fs::read(workspace.path(&file)).ok().hash(&mut hasher);
    }
    Ok(format!("{:016x}", hasher.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporary;

    const PASSED: Tally = Tally {
        passed: 3,
        failed: 0,
    };

    fn repository() -> (temporary::Folder, Workspace) {
        let folder = temporary::Folder::new().unwrap();
        let workspace = Workspace::at(folder.path());
        (folder, workspace)
    }

    #[test]
    fn what_passed_is_not_run_again_until_a_source_changes() {
        let (folder, workspace) = repository();
        let open = || Progress::open(&workspace, false).unwrap();
        let progress = open();
        progress.note("pc99: suite, 2 cores", PASSED);
        progress.note("hikey: suite", Tally::FAILURE);
        assert_eq!(open().of("pc99: suite, 2 cores"), Some(PASSED));
        assert_eq!(open().of("hikey: suite"), None);

        fs::write(folder.path().join("new.rs"), "").unwrap();
        assert_eq!(open().of("pc99: suite, 2 cores"), None);
    }

    #[test]
    fn the_end_and_a_wish_begin_anew() {
        let (_folder, workspace) = repository();
        let open = |forget| Progress::open(&workspace, forget).unwrap();
        open(false).note("a", PASSED);
        assert_eq!(open(true).of("a"), None);
        let progress = open(false);
        progress.note("a", PASSED);
        progress.end();
        assert_eq!(open(false).of("a"), None);
    }
}
