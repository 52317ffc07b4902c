//! The command `sim`: builds and runs the simulator.

use std::ffi::OsString;
use std::process::Command;

use anyhow::Context;

use crate::qemu::{Ending, Supervisor};
use crate::toolchain::Toolchain;
use crate::ui::Step;
use crate::workspace::Workspace;
use crate::{Outcome, Result, cargo};

/// Runs the simulator with these arguments.
pub(crate) fn run(workspace: &Workspace, arguments: &[OsString]) -> Result {
    let toolchain =
        Toolchain::host().context("no cargo is in use; start the tool as `cargo xtask`")?;
    {
        let step = Step::begin("building the simulator");
        let mut build = toolchain.cargo();
        build
            .current_dir(workspace.root())
            .args(["build", "--profile", "host", "-p", "simulator"]);
        cargo::run(&step, &mut build)?;
    }
    let mut simulator = Command::new(workspace.target().join("host/simulator"))
        .args(arguments)
        .spawn()
        .context("cannot start the simulator")?;
    let Ending::Exited(status) = Supervisor::new()?.wait(&mut simulator, None)? else {
        return Ok(Outcome::Interrupted);
    };
    match status.code() {
        Some(0) => Ok(Outcome::Success),
        // The simulator has printed the reason.
        Some(2) => std::process::exit(2),
        _ => Ok(Outcome::Failure),
    }
}
