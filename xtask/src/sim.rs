//! The commands `sim` and `trace`: build and run programs of the host that have options of their own.

use std::ffi::OsString;
use std::process::Command;

use anyhow::Context;

use crate::qemu::{Ending, Supervisor};
use crate::toolchain::Toolchain;
use crate::ui::Step;
use crate::workspace::Workspace;
use crate::{Outcome, Result, cargo};

/// A program of the host.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Program {
    /// The simulator.
    Simulator,
    /// The reader of traces.
    Trace,
}

impl Program {
    /// Its package, which is also the name of its file.
    const fn package(self) -> &'static str {
        match self {
            Self::Simulator => "simulator",
            Self::Trace => "trace",
        }
    }
}

/// Runs a program with these arguments.
pub(crate) fn run(workspace: &Workspace, program: Program, arguments: &[OsString]) -> Result {
    let package = program.package();
    let toolchain =
        Toolchain::host().context("no cargo is in use; start the tool as `cargo xtask`")?;
    {
        let step = Step::begin(&format!("building the program `{package}`"));
        let mut build = toolchain.cargo();
        build
            .current_dir(workspace.root())
            .args(["build", "--profile", "host", "-p", package]);
        cargo::run(&step, &mut build)?;
    }
    let mut program = Command::new(workspace.target().join("host").join(package))
        .args(arguments)
        .spawn()
        .with_context(|| format!("cannot start the program `{package}`"))?;
    let Ending::Exited(status) = Supervisor::new()?.wait(&mut program, None)? else {
        return Ok(Outcome::Interrupted);
    };
    match status.code() {
        Some(0) => Ok(Outcome::Success),
        // The program has printed the reason.
        Some(2) => std::process::exit(2),
        _ => Ok(Outcome::Failure),
    }
}
