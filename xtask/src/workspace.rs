//! Paths in the repository.

use std::collections::BTreeMap;
use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail};
use parking_lot::{FairMutex, FairMutexGuard, Mutex};

use crate::Result;
use crate::qemu::is_interrupted;
use crate::sdk;
use crate::ui::say;

/// The pause between two checks for an interruption.
const PAUSE: Duration = Duration::from_millis(100);

/// The repository on disk.
#[derive(Debug)]
pub(crate) struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// Finds the repository: cargo gives the folder of the tool's manifest.
    pub(crate) fn find() -> Result<Self> {
        let manifest =
            env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
        let root = Path::new(&manifest)
            .parent()
            .context("the tool's own folder has no parent; run it as `cargo xtask`")?;
        Ok(Self::at(root))
    }

    /// The repository at `root`.
    pub(crate) fn at(root: &Path) -> Self {
        Self {
            root: root.to_path_buf(),
        }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root.join(relative)
    }

    /// The folder of all build outputs.
    pub(crate) fn target(&self) -> PathBuf {
        env::var_os("CARGO_TARGET_DIR")
            .map_or_else(|| self.path("target"), |target| self.path(target))
    }

    /// Waits until nothing else in this repository builds `what`, and blocks others until the value is dropped.
    pub(crate) fn lock(&self, what: &str) -> Result<(FairMutexGuard<'static, ()>, File)> {
        let turn = turn(what).lock();
        let path = self.target().join(format!("building-{what}.lock"));
        let context = || format!("cannot lock {}", path.display());
        fs::create_dir_all(self.target()).with_context(context)?;
        let file = File::create(&path).with_context(context)?;
        if file.try_lock().is_ok() {
            return Ok((turn, file));
        }
        say("waiting for another build in this checkout");
        // A signal does not end the system call.
        let (sender, locked) = mpsc::channel();
        thread::spawn(move || sender.send(file.lock().map(|()| file)));
        loop {
            match locked.recv_timeout(PAUSE) {
                Ok(file) => return Ok((turn, file.with_context(context)?)),
                Err(RecvTimeoutError::Timeout) if !is_interrupted() => {}
                Err(_) => bail!("waiting for another build was interrupted"),
            }
        }
    }

    /// `path` for people: relative to the repository's root.
    pub(crate) fn display<'a>(&self, path: &'a Path) -> std::path::Display<'a> {
        path.strip_prefix(&self.root).unwrap_or(path).display()
    }

    /// The names of the folders of `parent` that hold a file `marker`, sorted.
    pub(crate) fn folders_with(&self, parent: &str, marker: &str) -> Vec<String> {
        let entries = self.path(parent).read_dir().into_iter().flatten().flatten();
        let mut names: Vec<_> = entries
            .filter(|entry| entry.path().join(marker).is_file())
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    }

    /// The names of the entries of a folder, without endings, sorted.
    pub(crate) fn names_in(&self, folder: &str) -> Result<Vec<String>> {
        let entries = self.path(folder).read_dir();
        let entries = entries.with_context(|| format!("cannot read {folder}"))?;
        let paths = entries.flatten().map(|entry| entry.path());
        let mut names: Vec<_> = paths
            .filter_map(|path| Some(path.file_stem()?.to_str()?.to_string()))
            .collect();
        names.sort();
        Ok(names)
    }

    /// The files of the repository, relative to its root and sorted, except build outputs, hidden files, and the crates
    /// of others that an SDK has.
    pub(crate) fn files(&self) -> Result<Vec<PathBuf>> {
        const OTHERS: [&str; 3] = ["target", "docs/book", sdk::VENDOR];
        let mut files = Vec::new();
        let mut folders = vec![PathBuf::new()];
        while let Some(folder) = folders.pop() {
            for entry in self.path(&folder).read_dir()? {
                let entry = entry?;
                let path = folder.join(entry.file_name());
                let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
                let shown = !hidden || path == Path::new(".ci") || path == Path::new(".cargo");
                let kind = entry.file_type()?;
                // In a further work tree of the repository, `.git` is a file.
                if kind.is_file() && path != Path::new(".git") {
                    files.push(path);
                } else if kind.is_dir()
                    && shown
                    && !OTHERS.iter().any(|other| path == Path::new(other))
                {
                    folders.push(path);
                }
            }
        }
        files.sort();
        Ok(files)
    }
}

/// Makes a folder, or empties the one that is there.
pub(crate) fn empty_folder(path: &Path) -> Result<()> {
    let context = || format!("cannot empty {}", path.display());
    if path.exists() {
        fs::remove_dir_all(path).with_context(context)?;
    }
    fs::create_dir_all(path).with_context(context)
}

/// Threads of this run take turns with `what`: one that builds again and again must not keep the others from it.
fn turn(what: &str) -> &'static FairMutex<()> {
    static TURNS: Mutex<BTreeMap<String, &FairMutex<()>>> = Mutex::new(BTreeMap::new());
    let mut turns = TURNS.lock();
    turns
        .entry(what.to_string())
        .or_insert_with(|| Box::leak(Box::default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporary;

    #[test]
    fn a_build_waits_for_that_of_another_run() {
        let folder = temporary::Folder::new().unwrap();
        let workspace = Workspace::at(folder.path());
        let own = workspace.lock("a-test").unwrap();
        // Another run has a file of its own.
        let other = File::open(workspace.target().join("building-a-test.lock")).unwrap();
        assert!(other.try_lock().is_err());
        drop(own);
        other.lock().unwrap();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| workspace.lock("a-test").map(drop));
            thread::sleep(PAUSE);
            assert!(!waiting.is_finished());
            drop(other);
            waiting.join().unwrap().unwrap();
        });
    }
}
