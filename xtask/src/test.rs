//! The command `test`: host tests, on-target tests on every platform that
//! exists, and one sum at the end.

mod benches;
mod heard;
mod host;
mod screen;
mod tally;
mod target;

use std::num::NonZero;
use std::sync::mpsc;
use std::thread;

use anyhow::bail;

use crate::cli::{Emulator, TestArguments};
use crate::platform::Platform;
use crate::qemu::Supervisor;
use crate::setup::BuildTools;
use crate::workspace::Workspace;
use crate::{Outcome, Result, bochs, setup, ui};
use screen::Screen;
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
    let mut platforms = platforms?;
    if everything {
        platforms.retain(|platform| platform.has(arguments.cores));
    }
    for platform in &platforms {
        platform.require(arguments.cores)?;
    }
    if arguments.emulator == Emulator::Bochs && arguments.cores.are_several() {
        bail!("Bochs plays machines with one core; leave out --smp");
    }
    let supervisor = Supervisor::new()?;

    let mut total = Tally::default();
    if everything || arguments.host {
        total += host::run(workspace, arguments, &supervisor)?;
    }
    let missing = match arguments.emulator {
        Emulator::Qemu => Vec::new(),
        Emulator::Bochs => bochs::missing(),
    };
    if !missing.is_empty() {
        let packages = missing.join(" ");
        ui::say(&format!("skipped: Bochs is not here; it takes {packages}"));
    } else if !platforms.is_empty() && !supervisor.interrupted() {
        let tools = setup::build_tools()?;
        setup::emulators(&platforms)?;
        total += on_targets(workspace, &tools, &platforms, arguments, &supervisor)?;
        let benches = arguments.filter.is_none()
            && arguments.emulator == Emulator::Qemu
            && !arguments.cores.are_several();
        if everything && benches {
            total += benches::run(workspace, &tools, &platforms, arguments, &supervisor)?;
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

/// Builds one run after the other, and lets as many run at once as the host has
/// processors.
fn on_targets(
    workspace: &Workspace,
    tools: &BuildTools,
    platforms: &[Platform],
    arguments: &TestArguments,
    supervisor: &Supervisor,
) -> Result<Tally> {
    let most = thread::available_parallelism().map_or(1, NonZero::get);
    let screen = Screen::default();
    let (report, reports) = mpsc::channel();
    let mut total = Tally::default();
    // One platform's broken build must not hide the others' results.
    let failure = |error: anyhow::Error| {
        ui::error(&error);
        Tally::FAILURE
    };
    let mut runs = Vec::new();
    for platform in platforms {
        runs.extend(target::runs(workspace, platform, arguments)?);
    }
    thread::scope(|scope| {
        let mut running = 0;
        for run in &runs {
            if supervisor.interrupted() {
                break;
            }
            let built = match run.build(workspace, tools) {
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
                let tally = run.start(&built, supervisor, place);
                // Whoever waits for it is there until the scope ends.
                let _ = report.send(tally.unwrap_or_else(failure));
            });
        }
        for _ in 0..running {
            total += reports.recv().unwrap_or(Tally::FAILURE);
        }
    });
    Ok(total)
}
