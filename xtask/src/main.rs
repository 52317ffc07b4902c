//! `cargo xtask`: the one tool that a user of Escapement types.
//!
//! Complexity belongs here rather than in the kernel: choosing a toolchain, building with the flags of a
//! platform, combining kernel and root task in one boot image, running it, and evaluating its output.
//!
//! The exit code is 0 for success, 1 when the guest, a test or a check failed,
//! 2 for invalid arguments, a missing tool or a failed build, 124 on timeout and 130 when interrupted.

mod analyse;
mod archive;
mod assure;
mod bench;
mod bochs;
mod build;
mod cargo;
mod check;
mod cli;
mod crates;
mod describe;
mod gdb;
mod image;
mod log;
mod microkit;
mod platform;
mod plot;
mod post_mortem;
mod programs;
mod project;
mod qemu;
mod rules;
mod sdk;
mod setup;
mod sizes;
mod symbols;
mod system;
mod temporary;
mod test;
mod toolchain;
mod ui;
mod workspace;

use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command};
use programs::Program;
use workspace::Workspace;

/// How a command ended that could be performed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Success,
    /// The guest, a test or a check reported failure.
    Failure,
    /// A program that the tool has started refused its input, and said why.
    Refused,
    Timeout,
    Interrupted,
}

impl Outcome {
    fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failure => 1,
            Self::Refused => 2,
            Self::Timeout => 124,
            Self::Interrupted => 130,
        }
    }
}

/// What a command returns: an error is one for which the exit code is 2.
type Result<T = Outcome> = anyhow::Result<T>;

fn main() -> ExitCode {
    let cli = Cli::parse();
    // From now on interruptions are caught, also during a build.
    let supervisor = qemu::Supervisor::new();
    let outcome = supervisor
        .and_then(|_| Workspace::find())
        .and_then(|workspace| {
            if let Some(name) = cli.command.of_checkout(project::folder().is_some()) {
                sdk::require_checkout(&workspace, name)?;
            }
            Ok(workspace)
        })
        .and_then(|workspace| match cli.command {
            Command::New(arguments) => project::run(&workspace, &arguments),
            Command::Sdk(arguments) => sdk::run(&workspace, &arguments),
            Command::Microkit(arguments) => microkit::run(&workspace, &arguments),
            Command::Setup { readers } => setup::run(&workspace, readers),
            Command::Build(arguments) => build::run(&workspace, &arguments),
            Command::Qemu(arguments) => qemu::run(&workspace, &arguments),
            Command::Gdb(arguments) => gdb::run(&workspace, &arguments),
            Command::Test(arguments) => test::run(&workspace, &arguments),
            Command::Sim { arguments } => programs::run(&workspace, Program::Simulator, &arguments),
            Command::Trace(arguments) => programs::trace(&workspace, arguments),
            Command::Analyse(arguments) => analyse::run(&workspace, &arguments),
            Command::System(arguments) => describe::run(&workspace, &arguments),
            Command::Bench(arguments) => bench::run(&workspace, &arguments),
            Command::Assure(arguments) => assure::run(&workspace, &arguments),
            Command::Check(arguments) => check::run(&workspace, &arguments),
        });
    match outcome {
        Ok(outcome) => ExitCode::from(outcome.code()),
        Err(error) => {
            ui::error(&error);
            ExitCode::from(if qemu::is_interrupted() {
                Outcome::Interrupted.code()
            } else {
                2
            })
        }
    }
}
