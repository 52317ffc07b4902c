//! The benchmarks as tests: no operation may have become worse than the
//! committed results say, and no delay may grow or exceed its bound. Figures
//! are counts of instructions, which no load of the host changes.

use std::num::NonZero;
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::tally::Tally;
use crate::cli::{Cores, TestArguments};
use crate::platform::Platform;
use crate::qemu::Supervisor;
use crate::setup::BuildTools;
use crate::ui::{self, say};
use crate::workspace::Workspace;
use crate::{Result, bench};

/// One test for each platform that has benchmarks, and another if it has several cores. As many platforms at
/// once as the host has processors.
pub(super) fn run(
    workspace: &Workspace,
    tools: &BuildTools,
    platforms: &[Platform],
    arguments: &TestArguments,
    supervisor: &Supervisor,
) -> Result<Tally> {
    let left = Mutex::new(platforms.iter());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        let mut total = Tally::default();
        while !supervisor.interrupted()
            && let Some(platform) = next()
        {
            total += examine(workspace, tools, platform, arguments, supervisor)?;
        }
        Ok(total)
    };
    let most = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..most).map(|_| scope.spawn(work)).collect();
        let tallies = workers.into_iter().map(|worker| {
            let panicked = |_| Err(anyhow::anyhow!("the benchmarks panicked"));
            worker.join().unwrap_or_else(panicked)
        });
        tallies.sum()
    })
}

/// The tests of one platform.
fn examine(
    workspace: &Workspace,
    tools: &BuildTools,
    platform: &Platform,
    arguments: &TestArguments,
    supervisor: &Supervisor,
) -> Result<Tally> {
    let mut total = Tally::default();
    if !bench::has(workspace, platform)? {
        return Ok(total);
    }
    let timeout = arguments.timeout;
    let complaints = bench::examine(workspace, tools, platform, supervisor, timeout);
    total += judge(platform, complaints);
    if !supervisor.interrupted() && platform.has(Cores::TWO) {
        let complaints = bench::examine_cores(workspace, tools, platform, supervisor, timeout);
        total += judge(platform, complaints);
    }
    Ok(total)
}

/// The outcome of a test that complains.
fn judge(platform: &Platform, complaints: Result<Vec<String>>) -> Tally {
    match complaints {
        Ok(complaints) if complaints.is_empty() => Tally {
            passed: 1,
            failed: 0,
        },
        Ok(complaints) => {
            for complaint in complaints {
                say(&format!("{}: {complaint}", platform.name));
            }
            say("whoever changes costs on purpose: cargo xtask bench --write-reference");
            Tally::FAILURE
        }
        Err(error) => {
            ui::error(&error);
            Tally::FAILURE
        }
    }
}
