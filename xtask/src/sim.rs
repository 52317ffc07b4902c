//! The command `sim`: builds the simulator and leaves the rest to it.

use std::ffi::OsString;

use anyhow::Context;

use crate::toolchain::Toolchain;
use crate::ui::Step;
use crate::workspace::Workspace;
use crate::{Outcome, Result, cargo};

/// Runs the simulator with these arguments.
pub(crate) fn run(workspace: &Workspace, arguments: &[OsString]) -> Result {
    let toolchain =
        Toolchain::host().context("no cargo is in use; start the tool as `cargo xtask`")?;
    let call = |verb: &str| {
        let mut command = toolchain.cargo();
        command
            .current_dir(workspace.root())
            .args([verb, "--profile", "host", "-p", "simulator"]);
        command
    };
    {
        let step = Step::begin("building the simulator");
        cargo::run(&step, &mut call("build"))?;
    }
    let status = call("run")
        .args(["--quiet", "--"])
        .args(arguments)
        .status()
        .context("cannot start the simulator")?;
    match status.code() {
        Some(0) => Ok(Outcome::Success),
        // It has said why.
        Some(2) => std::process::exit(2),
        _ => Ok(Outcome::Failure),
    }
}
