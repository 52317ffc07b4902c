//! An installed Microkit SDK.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use serde::de::DeserializeOwned;

use super::configuration::Values;
use super::description::{BESIDE, Board};
use crate::Result;

/// The versions whose files are known to be understood.
const VERSIONS: [&str; 1] = ["2.3.0-dev"];
/// What each SDK has.
const TOOL: &str = "bin/microkit";
const BOARDS: &str = "board";
/// What each configuration has, beside a loader or a kernel for one.
const FILES: [&str; 7] = [
    "elf/initialiser.elf",
    "elf/monitor.elf",
    "include/kernel/gen_config.json",
    "invocations_all.json",
    "object_sizes.json",
    "address_space_constants.json",
    "lib/libmicrokit.a",
];

/// The folder of an SDK.
pub(super) struct Source<'a>(&'a Path);

impl<'a> Source<'a> {
    /// Refuses folders that are no SDK of a known version.
    pub(super) fn open(folder: &'a Path) -> Result<Self> {
        let name = folder.display();
        let version = fs::read_to_string(folder.join("VERSION")).ok();
        let version = version.with_context(|| {
            format!("{name} is no Microkit SDK: it has no file `VERSION`; name the folder of an installed SDK")
        })?;
        let version = version.trim();
        if folder.join("build_sdk.py").exists() {
            bail!(
                "{name} is the source of Microkit; build the SDK there with its `build_sdk.py`, and name the folder \
                 release/microkit-sdk-{version}"
            );
        }
        if !VERSIONS.contains(&version) {
            bail!(
                "the SDK in {name} has version {version}; take one of version {}",
                VERSIONS.join(" or ")
            );
        }
        if let Some(missing) = [TOOL, BOARDS].iter().find(|one| !folder.join(one).exists()) {
            bail!("the SDK in {name} is not complete: it has no `{missing}`; install it anew");
        }
        Ok(Self(folder))
    }

    /// Whether it has a board.
    pub(super) fn has(&self, board: &str) -> bool {
        self.0.join(BOARDS).join(board).is_dir()
    }

    /// The names of a board's configurations, each with all files that are used.
    pub(super) fn configurations(&self, board: &Board) -> Result<Vec<String>> {
        let start = match board.layout {
            Some(_) => "elf/loader.elf".to_string(),
            None => format!("elf/{BESIDE}"),
        };
        let board = &board.board;
        let folder = self.0.join(BOARDS).join(board);
        let context = || {
            format!(
                "the SDK has no board {board}; it has no folder {}",
                folder.display()
            )
        };
        let mut names = Vec::new();
        for entry in fs::read_dir(&folder).with_context(context)? {
            let entry = entry.with_context(context)?;
            let mut files = [&*start].into_iter().chain(FILES);
            if let Some(missing) = files.find(|one| !entry.path().join(one).exists()) {
                bail!(
                    "the SDK is not complete: {} has no `{missing}`; install it anew",
                    entry.path().display()
                );
            }
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    }

    /// How the kernel was configured for which the folder of a configuration was made.
    pub(super) fn values(&self, folder: &str) -> Result<Values> {
        self.json(folder, "include/kernel/gen_config.json")
            .map(Values)
    }

    /// The sizes of objects in the folder of a configuration, as log2 of bytes.
    pub(super) fn sizes(&self, folder: &str) -> Result<BTreeMap<String, u64>> {
        self.json(folder, "object_sizes.json")
    }

    fn json<T: DeserializeOwned>(&self, folder: &str, file: &str) -> Result<T> {
        let context = || format!("cannot read {file}");
        let bytes = fs::read(self.0.join(folder).join(file)).with_context(context)?;
        serde_json::from_slice(&bytes).with_context(context)
    }

    /// Copies all but the boards.
    pub(super) fn copy_common(&self, to: &Path) -> Result<()> {
        for entry in fs::read_dir(self.0)? {
            let entry = entry?;
            if entry.file_name() != BOARDS {
                copy(&entry.path(), &to.join(entry.file_name()))?;
            }
        }
        Ok(())
    }

    /// Copies a folder.
    pub(super) fn copy(&self, folder: &str, to: &Path) -> Result<()> {
        copy(&self.0.join(folder), &to.join(folder))
    }
}

/// Copies a file or a folder.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let context = || format!("cannot copy {}", from.display());
    if from.is_dir() {
        fs::create_dir_all(to).with_context(context)?;
        for entry in fs::read_dir(from).with_context(context)? {
            let entry = entry.with_context(context)?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
    } else {
        fs::copy(from, to).with_context(context)?;
    }
    Ok(())
}
