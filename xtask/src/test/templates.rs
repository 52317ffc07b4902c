//! The test of templates: each example that may be one becomes a project, as `cargo xtask new` makes it, and passes the
//! project's own test. In a project without a template, which the tutorial tests, the other commands are typed, too.

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
use crate::system::System;
use crate::workspace::empty_folder;

pub(super) const NAME: &str = "templates";
/// The platform of a full run. Others have the examples that do not run there.
const USUAL: &str = "pc99";
/// The project without a template.
const PLAIN: &str = "plain";
/// What is typed in it on each platform.
const COMMANDS: [&[&str]; 3] = [&["check"], &["build"], &["qemu"]];
/// What is typed on the usual one, because it takes further kernels.
const OF_USUAL: [&[&str]; 2] = [&["trace", "-o", "run.trace"], &["bench"]];
/// What it prints, among other lines.
const PRINTS: &str = "2 + 1 = 3";

/// Whether the test is among the wanted ones: in a run of everything, or if a filter is its name.
pub(super) fn is_wanted(session: &Session<'_>) -> bool {
    let arguments = session.arguments;
    let is_named = Filter::new(arguments.filter.as_deref()).names(&plan::example(NAME));
    (is_named || arguments.all && arguments.filter.is_none())
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

/// Tests all of them on a platform, and a project without a template.
pub(super) fn run(session: &Session<'_>, platform: &Platform) -> Result<Tally> {
    // Another run of the tests makes projects in the same folder.
    let _alone = session.workspace.lock(NAME)?;
    let folder = session.workspace.target().join("template-test");
    empty_folder(&folder)?;
    let mut total = Tally::default();
    let templates = templates(session, platform);
    let plain = std::iter::once((PLAIN, None));
    let templates = templates.iter().map(|name| (&**name, Some(&**name)));
    for (name, template) in plain.chain(templates) {
        if session.supervisor.interrupted() {
            break;
        }
        let result = make_and_test(session, platform, &folder.join(name), template);
        total += tell(&plan::example(&format!("{NAME}::{name}")), result)?;
    }
    Ok(total)
}

/// Fails unless a project that is made of an example passes its test, or one without a template takes all commands.
fn make_and_test(
    session: &Session<'_>,
    platform: &Platform,
    path: &Path,
    template: Option<&str>,
) -> Result<()> {
    project::create(session.workspace, path, template)?;
    if let Some(example) = template {
        let output = enter(session, platform, path, &["test"])?;
        let wanted = format!("test system::{example} ... ok");
        ensure!(output.contains(&wanted), "its test fails: {output}");
        return Ok(());
    }
    for command in COMMANDS {
        let output = enter(session, platform, path, command)?;
        let is_run = command == ["qemu"];
        ensure!(!is_run || output.contains(PRINTS), "it prints: {output}");
    }
    for command in OF_USUAL.iter().filter(|_| platform.name == USUAL) {
        enter(session, platform, path, command)?;
    }
    Ok(())
}

/// Types a command in a project, which must succeed; returns what it prints.
fn enter(
    session: &Session<'_>,
    platform: &Platform,
    path: &Path,
    command: &[&str],
) -> Result<String> {
    let mut call = this_tool();
    call.env(project::FOLDER, path)
        .current_dir(path)
        .args(command)
        .args(["--platform", &platform.name])
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut output = Vec::new();
    let show = |bytes: &[u8]| output.extend_from_slice(bytes);
    let timeout = Duration::from_secs(session.arguments.timeout);
    let ending = session
        .supervisor
        .watch(&mut call.spawn()?, Some(timeout), show)?;
    let output = String::from_utf8_lossy(&output).into_owned();
    match ending {
        Ending::Exited(status) if status.success() => Ok(output),
        _ => bail!("`{}` fails: {output}", command.join(" ")),
    }
}
