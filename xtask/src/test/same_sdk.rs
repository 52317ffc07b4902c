//! The test of the SDK's bytes: a checkout in another folder, with a target folder of its own, makes the same archive.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{bail, ensure};

use super::{Session, filter::Filter, plan, tally::Tally, this_tool, verdict::tell};
use crate::Result;
use crate::cli::Emulator;
use crate::platform::Platform;
use crate::project;
use crate::qemu::Ending;
use crate::temporary;
use crate::workspace::Workspace;

pub(super) const NAME: &str = "same-sdk";
/// The platform with the fewest kernels.
const PLATFORM: &str = "kzm";

/// Whether the test is among the wanted ones: in a run of everything, or if a filter is its name.
pub(super) fn is_wanted(session: &Session<'_>, platform: &Platform) -> bool {
    let arguments = session.arguments;
    let is_named = Filter::new(arguments.filter.as_deref()).names(&plan::example(NAME));
    platform.name == PLATFORM
        && (is_named || arguments.all && arguments.filter.is_none())
        && project::folder().is_none()
        && arguments.emulator == Emulator::Qemu
        && arguments.abi.is_empty()
        && !arguments.cores.are_several()
        && !arguments.hardening.is_wanted()
}

/// Makes both, and compares them.
pub(super) fn run(session: &Session<'_>) -> Result<Tally> {
    tell(&plan::example(NAME), compare(session))
}

/// Fails unless both archives have the same bytes.
fn compare(session: &Session<'_>) -> Result<()> {
    let own = session.workspace;
    let folder = temporary::Folder::new()?;
    let other = Workspace::at(&folder.path().join("other"));
    for file in own.files()? {
        let copy = other.path(&file);
        fs::create_dir_all(copy.parent().unwrap_or(other.root()))?;
        fs::copy(own.path(&file), copy)?;
    }
    let [one, two] = ["one.tar", "two.tar"].map(|name| folder.path().join(name));
    make(session, own, &own.target(), &one)?;
    make(session, &other, &other.path("target"), &two)?;
    if fs::read(&one)? == fs::read(&two)? {
        return Ok(());
    }
    let (one, two) = (files(&one)?, files(&two)?);
    let mut paths = one.keys().chain(two.keys());
    match paths.find(|&path| one.get(path) != two.get(path)) {
        Some(path) => bail!("another checkout makes an SDK with another {path}"),
        None => bail!("another checkout makes an SDK with the same files and other bytes"),
    }
}

/// Lets a checkout make an SDK.
fn make(session: &Session<'_>, workspace: &Workspace, target: &Path, archive: &Path) -> Result<()> {
    let mut call = this_tool();
    call.env("CARGO_MANIFEST_DIR", workspace.path("xtask"))
        .env("CARGO_TARGET_DIR", target)
        .current_dir(workspace.root())
        .args(["sdk", "--platform", PLATFORM, "--kernel", "debug", "-o"])
        .arg(archive)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let timeout = Duration::from_secs(session.arguments.timeout);
    let supervisor = session.supervisor;
    let ending = supervisor.watch(&mut call.spawn()?, Some(timeout), |_| ())?;
    let is_made = matches!(ending, Ending::Exited(status) if status.success());
    ensure!(
        is_made,
        "the SDK of {} cannot be made",
        workspace.root().display()
    );
    Ok(())
}

/// The files in an archive, by their paths.
fn files(archive: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    for entry in tar::Archive::new(File::open(archive)?).entries()? {
        let mut entry = entry?;
        let path = entry.path()?.display().to_string();
        let mut contents = Vec::new();
        entry.read_to_end(&mut contents)?;
        files.insert(path, contents);
    }
    Ok(files)
}
