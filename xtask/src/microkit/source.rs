//! The SDK to copy: an installed one, or the one that its own build has left in Microkit's source.

use std::collections::BTreeMap;
use std::fs;
use std::path::{self, Path, PathBuf};

use anyhow::{Context, bail};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::configuration::Values;
use super::description::{BESIDE, Board};
use crate::Result;
use crate::qemu::is_interrupted;

/// The versions whose files are known to be understood.
pub(super) const VERSIONS: [&str; 1] = ["2.3.0-dev"];
/// What each SDK has.
const TOOL: &str = "bin/microkit";
pub(super) const BOARDS: &str = "board";
/// What each configuration has, beside headers and a loader or a kernel for one.
const FILES: [&str; 6] = [
    "elf/initialiser.elf",
    "elf/monitor.elf",
    "invocations_all.json",
    "object_sizes.json",
    "address_space_constants.json",
    "lib/libmicrokit.a",
];

/// What only the source has.
const BUILD: &str = "build_sdk.py";
/// The options of the kernel for which a configuration was made, in the folder of one.
const OPTIONS: &str = "include/kernel/gen_config.json";
/// Where Microkit's build installs seL4's headers for a configuration, in the folder of one.
const INSTALLED: &str = "sel4/install/libsel4/include";

/// An SDK.
pub(super) struct Source<'a> {
    folder: PathBuf,
    /// seL4's headers, if they are to be others than the SDK's.
    headers: Option<&'a Path>,
}

impl<'a> Source<'a> {
    /// Refuses folders that are no SDK of a known version, and no source with one.
    pub(super) fn open(folder: &Path, headers: Option<&'a Path>) -> Result<Self> {
        let name = folder.display();
        let version = fs::read_to_string(folder.join("VERSION")).ok();
        let version = version.with_context(|| {
            format!("{name} is no Microkit SDK: it has no file `VERSION`; name the folder of an SDK or of Microkit's source")
        })?;
        let version = version.trim();
        if !VERSIONS.contains(&version) {
            bail!(
                "{name} is Microkit of version {version}; take version {}",
                VERSIONS.join(" or ")
            );
        }
        let folder = match folder.join(BUILD).exists() {
            true => folder.join(format!("release/microkit-sdk-{version}")),
            false => folder.to_owned(),
        };
        if !folder.is_dir() {
            bail!("{name} is Microkit's source without an SDK; build it there with its `{BUILD}`");
        }
        if let Some(missing) = [TOOL, BOARDS].iter().find(|one| !folder.join(one).exists()) {
            let name = folder.display();
            bail!("the SDK in {name} is not complete: it has no `{missing}`; make it again");
        }
        if let Some(missing) = headers.filter(|headers| !headers.is_dir()) {
            bail!("there is no folder {}", missing.display());
        }
        Ok(Self { folder, headers })
    }

    /// Refuses an output in the folder that is copied, which would be copied into itself without end.
    pub(super) fn require_outside(&self, output: &Path) -> Result<()> {
        let context = || format!("cannot write {}", output.display());
        let folder = self.folder.canonicalize().with_context(context)?;
        let output = path::absolute(output).with_context(context)?;
        // What it will be in is there already, at least the root.
        let mut parents = output.ancestors().filter_map(|one| one.canonicalize().ok());
        if parents.next().is_some_and(|one| one.starts_with(&folder)) {
            bail!(
                "{} is in the SDK that is copied; name a folder outside of {}",
                output.display(),
                folder.display()
            );
        }
        Ok(())
    }

    /// Whether it has a board.
    pub(super) fn has(&self, board: &str) -> bool {
        self.folder.join(BOARDS).join(board).is_dir()
    }

    /// The names of a board's configurations, each with all files that are used.
    pub(super) fn configurations(&self, board: &Board) -> Result<Vec<String>> {
        let start = match board.layout {
            Some(_) => "elf/loader.elf".to_string(),
            None => format!("elf/{BESIDE}"),
        };
        let board = &board.board;
        let folder = self.folder.join(BOARDS).join(board);
        let context = || {
            format!(
                "the SDK has no board {board}; it has no folder {}",
                folder.display()
            )
        };
        let mut names = Vec::new();
        for entry in fs::read_dir(&folder).with_context(context)? {
            let entry = entry.with_context(context)?;
            let own = self.headers.is_none().then_some(OPTIONS);
            let mut files = [&*start].into_iter().chain(FILES).chain(own);
            if let Some(missing) = files.find(|one| !entry.path().join(one).exists()) {
                bail!(
                    "the SDK is not complete: {} has no `{missing}`; make it again",
                    entry.path().display()
                );
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            self.check_headers(&folder_of(board, &name))?;
            names.push(name);
        }
        if names.is_empty() {
            bail!(
                "the SDK is not complete: {} has no configurations; make it again",
                folder.display()
            );
        }
        names.sort();
        Ok(names)
    }

    /// seL4's headers for the folder of a configuration, if they are not the SDK's.
    fn installed(&self, folder: &str) -> Option<PathBuf> {
        let configuration = Path::new(folder).strip_prefix(BOARDS).ok()?;
        Some(self.headers?.join(configuration).join(INSTALLED))
    }

    /// Refuses headers that are not those with which the SDK's libraries were compiled.
    fn check_headers(&self, folder: &str) -> Result<()> {
        let Some(headers) = self.installed(folder) else {
            return Ok(());
        };
        if !headers.is_dir() {
            bail!(
                "there are no headers for {folder}: there is no folder {}; name the folder `build` of Microkit's source",
                headers.display()
            );
        }
        let own = self.folder.join(folder).join(OPTIONS);
        if own.exists() && json::<Value>(&own)? != json::<Value>(&self.options(folder))? {
            bail!(
                "the headers in {} are for another kernel than the libraries of {folder}; take those of the same build",
                headers.display()
            );
        }
        Ok(())
    }

    /// The file with the options of the kernel for which the folder of a configuration was made.
    fn options(&self, folder: &str) -> PathBuf {
        match self.installed(folder) {
            Some(headers) => headers.join(OPTIONS.trim_start_matches("include/")),
            None => self.folder.join(folder).join(OPTIONS),
        }
    }

    /// How the kernel was configured for which the folder of a configuration was made.
    pub(super) fn values(&self, folder: &str) -> Result<Values> {
        json(&self.options(folder)).map(Values)
    }

    /// The sizes of objects in the folder of a configuration, as log2 of bytes.
    pub(super) fn sizes(&self, folder: &str) -> Result<BTreeMap<String, u64>> {
        json(&self.folder.join(folder).join("object_sizes.json"))
    }

    /// The labels of methods in the folder of a configuration.
    pub(super) fn labels(&self, folder: &str) -> Result<BTreeMap<String, u64>> {
        json(&self.folder.join(folder).join("invocations_all.json"))
    }

    /// Copies all but the boards.
    pub(super) fn copy_common(&self, to: &Path) -> Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            if entry.file_name() != BOARDS {
                copy(&entry.path(), &to.join(entry.file_name()))?;
            }
        }
        Ok(())
    }

    /// Copies the folder of a configuration.
    pub(super) fn copy(&self, folder: &str, to: &Path) -> Result<()> {
        copy(&self.folder.join(folder), &to.join(folder))?;
        match self.installed(folder) {
            Some(headers) => copy(&headers, &to.join(folder).join("include")),
            None => Ok(()),
        }
    }
}

/// The folder of a configuration, relative to the SDK.
pub(super) fn folder_of(board: &str, configuration: &str) -> String {
    format!("{BOARDS}/{board}/{configuration}")
}

fn json<T: DeserializeOwned>(file: &Path) -> Result<T> {
    let context = || format!("cannot read {}", file.display());
    let bytes = fs::read(file).with_context(context)?;
    serde_json::from_slice(&bytes).with_context(context)
}

/// Copies a file or a folder.
fn copy(from: &Path, to: &Path) -> Result<()> {
    if is_interrupted() {
        bail!("copying was interrupted");
    }
    let context = || format!("cannot copy {}", from.display());
    if from.is_dir() {
        fs::create_dir_all(to).with_context(context)?;
        for entry in fs::read_dir(from).with_context(context)? {
            let entry = entry.with_context(context)?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
    } else {
        // One that was copied before may be read-only.
        let _ = fs::remove_file(to);
        fs::copy(from, to).with_context(context)?;
    }
    Ok(())
}
