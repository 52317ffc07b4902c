//! The test of templates: each example that may be one becomes a project, as `cargo xtask new` makes it, and passes the
//! project's own test.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::bail;

use super::{Session, filter::Filter, plan, tally::Tally, this_tool, verdict::verdict};
use crate::Result;
use crate::cli::Emulator;
use crate::platform::Platform;
use crate::project;
use crate::qemu::Ending;
use crate::system::System;
use crate::ui;
use crate::workspace::empty_folder;

pub(super) const NAME: &str = "templates";
/// The platform of a full run. Others have the examples that do not run there.
const USUAL: &str = "pc99";

/// Whether the test is among the wanted ones: in a run of everything, or if a filter is its name.
pub(super) fn is_wanted(session: &Session<'_>, platform: &Platform) -> bool {
    let arguments = session.arguments;
    let is_named = Filter::new(arguments.filter.as_deref()).names(&plan::example(NAME));
    (is_named
        || arguments.all && arguments.filter.is_none() && !templates(session, platform).is_empty())
        && project::folder().is_none()
        && arguments.emulator == Emulator::Qemu
        && arguments.abi.is_empty()
        && !arguments.cores.are_several()
        && !arguments.hardening.is_wanted()
}

/// Those that are tested on a platform.
fn templates(session: &Session<'_>, platform: &Platform) -> Vec<String> {
    let workspace = session.workspace;
    let is_tested = |name: &String| {
        System::load(workspace, name).is_ok_and(|system| {
            let is_usual = platform.name == USUAL || session.arguments.filter.is_some();
            system.runs_on(&platform.name) && (is_usual || !system.runs_on(USUAL))
        })
    };
    let names = project::templates(workspace).into_iter();
    names.filter(is_tested).collect()
}

/// Tests all of them on a platform.
pub(super) fn run(session: &Session<'_>, platform: &Platform) -> Result<Tally> {
    let folder = session.workspace.target().join("template-test");
    empty_folder(&folder)?;
    let mut total = Tally::default();
    for name in templates(session, platform) {
        if session.supervisor.interrupted() {
            break;
        }
        let failure = copy_and_test(session, platform, &folder.join(&name), &name).err();
        let failure = failure.map(|error| format!("{error:#}"));
        let line = verdict(
            &plan::example(&format!("{NAME}::{name}")),
            failure.as_deref(),
        );
        ui::print(format!("{line}\n"))?;
        total += Tally::from_test(&line).unwrap_or(Tally::FAILURE);
    }
    Ok(total)
}

/// Fails unless a project that is made of an example passes its test.
fn copy_and_test(
    session: &Session<'_>,
    platform: &Platform,
    path: &Path,
    example: &str,
) -> Result<()> {
    project::create(session.workspace, path, Some(example))?;
    let mut call = this_tool();
    call.env(project::FOLDER, path)
        .current_dir(path)
        .args(["test", "--platform", &platform.name])
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut output = Vec::new();
    let show = |bytes: &[u8]| output.extend_from_slice(bytes);
    let timeout = Duration::from_secs(session.arguments.timeout);
    let ending = session
        .supervisor
        .watch(&mut call.spawn()?, Some(timeout), show)?;
    let wanted = format!("test system::{example} ... ok");
    let output = String::from_utf8_lossy(&output);
    match ending {
        Ending::Exited(status) if status.success() && output.contains(&wanted) => Ok(()),
        _ => bail!("its test fails: {output}"),
    }
}
