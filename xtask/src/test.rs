//! The command `test`: host tests, on-target tests on every platform that
//! exists, and one sum at the end.

mod host;
mod tally;
mod target;

use crate::cli::TestArguments;
use crate::platform::Platform;
use crate::qemu::Supervisor;
use crate::workspace::Workspace;
use crate::{Outcome, Result, setup, ui};
use tally::Tally;

/// The command `test`.
pub(crate) fn run(workspace: &Workspace, arguments: &TestArguments) -> Result {
    let everything = !arguments.host && arguments.platforms.is_empty();
    let names = if everything {
        Platform::names(workspace)
    } else {
        arguments.platforms.clone()
    };
    let platforms: Result<Vec<_>> = names
        .iter()
        .map(|name| Platform::load(workspace, name))
        .collect();
    let platforms = platforms?;
    let supervisor = Supervisor::new()?;

    let mut total = Tally::default();
    if everything || arguments.host {
        total += host::run(workspace, arguments, &supervisor)?;
    }
    if !platforms.is_empty() {
        let tools = setup::build_tools()?;
        setup::emulators(&platforms)?;
        for platform in &platforms {
            if supervisor.interrupted() {
                return Ok(Outcome::Interrupted);
            }
            for run in target::runs(arguments) {
                // One platform's broken build must not hide the others' results.
                let result = target::run(workspace, &tools, platform, &run, &supervisor);
                total += result.unwrap_or_else(|error| {
                    ui::error(&error);
                    Tally::FAILURE
                });
            }
        }
    }
    if supervisor.interrupted() {
        return Ok(Outcome::Interrupted);
    }
    println!("{total}");
    Ok(if total.is_success() {
        Outcome::Success
    } else {
        Outcome::Failure
    })
}
