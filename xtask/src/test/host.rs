//! Tests on the host, run by cargo.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context;

use super::Session;
use super::filter::Filter;
use super::packages;
use super::screen::Place;
use super::tally::Tally;
use crate::crates;
use crate::qemu::{Ending, Supervisor};
use crate::setup::{self, readers};
use crate::toolchain::Toolchain;
use crate::ui::Step;
use crate::workspace::Workspace;
use crate::{Result, cargo, project};

/// The variables that proptest reads, and what they are in a short run and in a full one. A short run is repeatable: it
/// judges a change by the same random inputs as the change before it. A full run tries others each time, and more.
const SEED: &str = "PROPTEST_RNG_SEED";
const CASES: &str = "PROPTEST_CASES";
const SHORT_SEED: u64 = 1;
const CASES_OF_ALL: u64 = 1024;
/// The variable with which tests fail for want of a program that reads what is exported: in a full run, nothing is skipped.
const READERS: (&str, &str) = ("ESCAPEMENT_ALL_READERS", "1");
/// The features of the crates that are tested for several cores, too.
const SMP: &str = "kernel-host/smp,simulator/smp";
/// Bytes of the stack of a test: the kernels of several cores with several domains, 4 MiB, are made on it.
const STACK: usize = 16 << 20;

/// Runs the host tests of all crates that have some, and shows their output at `place`.
pub(super) fn run(session: &Session<'_>, place: &Place<'_>) -> Result<Tally> {
    let Session {
        workspace,
        arguments,
        supervisor,
        times,
        ..
    } = session;
    if let Some(folder) = project::folder() {
        return of_project(session, &folder, place);
    }
    let toolchain = Toolchain::host()?;
    let crates = crates::all(workspace)?;
    let linkers = linkers(workspace)?;
    let path = readers::search_path(workspace)?;
    let random = random_inputs(arguments.all);
    for (variable, value) in &random {
        place.say(&format!("host: {variable}={value}"));
    }
    let call = |options: &[&str], packages: &[&str]| {
        let mut command = toolchain.cargo();
        command
            .envs(linkers.iter().map(|folder| ("COMPILER_PATH", folder)))
            .envs(
                random
                    .iter()
                    .map(|(variable, value)| (variable, value.to_string())),
            )
            .envs(arguments.all.then_some(READERS))
            .envs(path.iter().map(|path| ("PATH", path)))
            .env("RUST_MIN_STACK", STACK.to_string())
            .current_dir(workspace.root())
            .args(["test", "--no-fail-fast", "--profile", "tool"])
            .args(options);
        for package in packages {
            command.args(["-p", package]);
        }
        command
    };
    let (apart, together): (Vec<_>, Vec<_>) = crates
        .iter()
        .filter(|one| one.is_tested_on_host())
        .partition(|one| one.is_tested_apart());
    let [apart, together] =
        [apart, together].map(|part| part.iter().map(|one| &*one.name).collect::<Vec<_>>());
    let filter = arguments.filter.as_deref();
    let mut calls = vec![
        (&together[..], &[][..], filter),
        // The multicore kernel has different code paths.
        (&["kernel-host", "simulator"], &["--features", SMP], filter),
    ];
    calls.extend(apart.chunks(1).map(|one| (one, &[][..], filter)));
    if arguments.all && filter.is_none() {
        // Several domains are an option of the kernel, also of that for several cores.
        let one = &["--features", "domains", "--test", "suite"];
        let several = &["--features", "domains,smp", "--test", "suite"];
        calls.push((&["kernel-host"], one, Some("domains::")));
        calls.push((&["kernel-host"], several, Some("cores_late")));
    }
    let building = "building the host tests";
    let built = times.of(building, || -> Result<bool> {
        let step = Step::begin(building);
        for &(packages, options, _) in &calls {
            if !cargo::succeeds(&step, call(options, packages).arg("--no-run"))? {
                return Ok(false);
            }
        }
        Ok(true)
    })?;
    if !built {
        place.say("host: the tests could not be built, which counts as a failure");
        return Ok(Tally::FAILURE);
    }
    let mut tally = Tally::default();
    for (packages, options, filter) in calls {
        let mut command = call(options, packages);
        if let Some(filter) = filter {
            command.arg("--").args(Filter::new(Some(filter)).texts());
        }
        tally += run_and_count(command, supervisor, place)?;
    }
    if packages::is_wanted(arguments) && !supervisor.interrupted() {
        tally += packages::run(workspace, &toolchain, &crates, place)?;
    }
    Ok(tally)
}

/// Runs the host tests of a project, if it has some.
fn of_project(session: &Session<'_>, folder: &Path, place: &Place<'_>) -> Result<Tally> {
    let manifest = folder.join(project::TESTS);
    if !manifest.exists() {
        return Ok(Tally::default());
    }
    let toolchain = Toolchain::host()?;
    let call = || {
        let mut command = toolchain.cargo();
        command
            .current_dir(folder)
            .args(["test", "--no-fail-fast", "--manifest-path"]);
        command.arg(&manifest);
        command
    };
    let step = Step::begin("building the host tests");
    if !cargo::succeeds(&step, call().arg("--no-run"))? {
        return Ok(Tally::FAILURE);
    }
    drop(step);
    let filter = Filter::new(session.arguments.filter.as_deref());
    let mut command = call();
    command.arg("--").args(filter.texts());
    run_and_count(command, session.supervisor, place)
}

/// The seed of random inputs and, in a full run, their number, where the environment does not say them.
fn random_inputs(all: bool) -> Vec<(&'static str, u64)> {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    let seed = match all {
        true => since_1970.map_or(SHORT_SEED, |time| time.as_secs()),
        false => SHORT_SEED,
    };
    let mut inputs = vec![(SEED, seed)];
    if all {
        inputs.push((CASES, CASES_OF_ALL));
    }
    inputs.retain(|(variable, _)| env::var_os(variable).is_none());
    inputs
}

/// A folder in which the C compiler, by which cargo links, finds LLVM's linker as `ld`, if that is installed (the
/// manual of GCC, "Environment Variables Affecting GCC"): for some forty programs it takes half of the time of GNU's,
/// which toolchains of distributions use.
fn linkers(workspace: &Workspace) -> Result<Option<PathBuf>> {
    let own = env::var_os("COMPILER_PATH");
    let (Some(linker), None) = (setup::linker(None), own) else {
        return Ok(None);
    };
    let folder = workspace.target().join("linkers");
    fs::create_dir_all(&folder)?;
    match symlink(linker, folder.join("ld")) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error.into()),
        _ => Ok(Some(folder)),
    }
}

/// Shows the output of the tests, and counts the reported results.
fn run_and_count(
    mut command: Command,
    supervisor: &Supervisor,
    place: &Place<'_>,
) -> Result<Tally> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start cargo")?;
    let lines = BufReader::new(
        child
            .stdout
            .take()
            .context("cargo's stdout is not a pipe")?,
    );
    let mut tally = Tally::default();
    for line in lines.split(b'\n') {
        let mut line = line?;
        line.push(b'\n');
        place.output(&line);
        tally += Tally::from_harness(&String::from_utf8_lossy(&line)).unwrap_or_default();
    }
    if let Ending::Exited(status) = supervisor.wait(&mut child, None)?
        && !status.success()
        && tally.failed == 0
    {
        place.say("host: a test program died without its result, which counts as a failure");
        tally += Tally::FAILURE;
    }
    Ok(tally)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_about_readers_is_that_of_their_tests() {
        let workspace = Workspace::find().unwrap();
        let tests = workspace.path("tools/trace/tests/common/readers.rs");
        let text = fs::read_to_string(tests).unwrap();
        let (variable, _) = READERS;
        let line = format!("pub const ALL: &str = \"{variable}\";\n");
        assert!(text.contains(&line), "{line}");
    }
}
