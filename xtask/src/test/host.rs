//! Tests on the host, run by cargo.

use std::io::{BufRead, BufReader, Write, stdout};
use std::process::{Command, Stdio};

use anyhow::Context;

use super::Session;
use super::tally::Tally;
use crate::crates::{self, Crate};
use crate::qemu::{Ending, Supervisor};
use crate::toolchain::Toolchain;
use crate::ui::{Step, say};
use crate::{Result, cargo};

/// Runs the host tests of all crates that have them.
pub(super) fn run(session: &Session<'_>) -> Result<Tally> {
    let Session {
        workspace,
        arguments,
        supervisor,
        times,
        ..
    } = session;
    let toolchain =
        Toolchain::host().context("no cargo is in use; start the tool as `cargo xtask`")?;
    let crates = crates::all(workspace)?;
    let call = || {
        let mut command = toolchain.cargo();
        command
            .current_dir(workspace.root())
            .args(["test", "--no-fail-fast"]);
        for Crate { name, .. } in crates.iter().filter(|one| one.is_tested_on_host()) {
            command.args(["-p", name]);
        }
        command
    };
    let building = "building the host tests";
    let built = times.of(building, || {
        cargo::succeeds(&Step::begin(building), call().arg("--no-run"))
    })?;
    if !built {
        say("host: the tests could not be built, which counts as a failure");
        return Ok(Tally::FAILURE);
    }
    // The kernel of several cores has other ways through it.
    let mut several = toolchain.cargo();
    several
        .current_dir(workspace.root())
        .args(["test", "--no-fail-fast", "-p", "host-tests"])
        .args(["--features", "smp"]);
    let mut tally = Tally::default();
    for mut command in [call(), several] {
        if let Some(filter) = &arguments.filter {
            command.arg("--").arg(filter);
        }
        tally += run_and_count(command, supervisor)?;
    }
    Ok(tally)
}

/// Shows what the tests print, and counts what they report.
fn run_and_count(mut command: Command, supervisor: &Supervisor) -> Result<Tally> {
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
        let line = line?;
        stdout().write_all(&line)?;
        stdout().write_all(b"\n")?;
        tally += Tally::from_harness(&String::from_utf8_lossy(&line)).unwrap_or_default();
    }
    if let Ending::Exited(status) = supervisor.wait(&mut child, None)?
        && !status.success()
        && tally.failed == 0
    {
        say("host: a test program died without its result, which counts as a failure");
        tally += Tally::FAILURE;
    }
    Ok(tally)
}
