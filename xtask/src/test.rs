//! The command `test`: host tests, on-target tests on every platform that
//! exists, and one sum at the end.

mod host;
mod screen;
mod tally;
mod target;

use std::num::NonZero;
use std::sync::mpsc;
use std::thread;

use crate::cli::{AbiOption, TestArguments};
use crate::platform::Platform;
use crate::qemu::Supervisor;
use crate::setup::BuildTools;
use crate::workspace::Workspace;
use crate::{Outcome, Result, setup, ui};
use screen::Screen;
use tally::Tally;

/// What to boot on each platform: the tests as asked for; if all were, those of the hardware debug
/// interface, too, which only a build of its own has.
fn runs(arguments: &TestArguments) -> Vec<TestArguments> {
    let mut runs = vec![arguments.clone()];
    if arguments.filter.is_none() && arguments.abi.is_empty() {
        runs.push(TestArguments {
            abi: vec![AbiOption::Hwdebug],
            filter: Some("breakpoints".into()),
            ..arguments.clone()
        });
    }
    runs
}

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
    if !platforms.is_empty() && !supervisor.interrupted() {
        let tools = setup::build_tools()?;
        setup::emulators(&platforms)?;
        for run in runs(arguments) {
            total += on_targets(workspace, &tools, &platforms, &run, &supervisor);
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

/// Builds for one platform after the other, and runs the tests of as many at once
/// as the host has processors.
fn on_targets(
    workspace: &Workspace,
    tools: &BuildTools,
    platforms: &[Platform],
    arguments: &TestArguments,
    supervisor: &Supervisor,
) -> Tally {
    let most = thread::available_parallelism().map_or(1, NonZero::get);
    let screen = Screen::default();
    let (report, reports) = mpsc::channel();
    let mut total = Tally::default();
    // One platform's broken build must not hide the others' results.
    let failure = |error: anyhow::Error| {
        ui::error(&error);
        Tally::FAILURE
    };
    thread::scope(|scope| {
        let mut running = 0;
        for platform in platforms {
            if supervisor.interrupted() {
                break;
            }
            let built = match target::build(workspace, tools, platform, arguments) {
                Ok(built) => built,
                Err(error) => {
                    total += failure(error);
                    continue;
                }
            };
            if running == most {
                total += reports.recv().unwrap_or(Tally::FAILURE);
                running -= 1;
            }
            let (place, report) = (screen.begin(), report.clone());
            running += 1;
            scope.spawn(move || {
                let run = target::run(platform, &built, arguments, supervisor, place);
                // Whoever waits for it is there until the scope ends.
                let _ = report.send(run.unwrap_or_else(failure));
            });
        }
        for _ in 0..running {
            total += reports.recv().unwrap_or(Tally::FAILURE);
        }
    });
    total
}
