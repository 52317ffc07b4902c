//! The benchmarks as tests: no operation may be worse than the committed results, and no delay may grow or
//! exceed its bound. Figures are counts of instructions, which do not depend on the host's load.

use std::num::NonZero;
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::Session;
use super::tally::Tally;
use crate::cli::Cores;
use crate::platform::{Coverage, Platform};
use crate::setup::BuildTools;
use crate::ui::{self, say};
use crate::{Result, bench};

/// One test for each platform that has benchmarks, another if it has several cores, and on one platform a test of what
/// tracing costs. As many platforms run at once as the host has processors. A short run is limited to the platforms on
/// which portable behaviour is tested, with one core; cache lines that cores share are examined on one of them.
pub(super) fn run(
    session: &Session<'_>,
    tools: &BuildTools,
    platforms: &[Platform],
    is_short: bool,
) -> Result<Tally> {
    let chosen = platforms
        .iter()
        .filter(|one| one.covers == Coverage::Portable || !is_short);
    let left = Mutex::new(chosen);
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        let mut total = Tally::default();
        while !session.supervisor.interrupted()
            && let Some(platform) = next()
        {
            total += examine(session, tools, platform, is_short)?;
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
    session: &Session<'_>,
    tools: &BuildTools,
    platform: &Platform,
    is_short: bool,
) -> Result<Tally> {
    let (workspace, supervisor) = (session.workspace, session.supervisor);
    let mut total = Tally::default();
    if !bench::has(workspace, &platform.name) {
        return Ok(total);
    }
    let timeout = session.arguments.timeout;
    total += session.part(&format!("{}: benchmarks", platform.name), || {
        let complaints = bench::examine(workspace, tools, platform, supervisor, timeout, is_short);
        Ok(judge(platform, "bench", complaints))
    })?;
    if !is_short && !supervisor.interrupted() && platform.has(Cores::TWO) {
        total += session.part(&format!("{}: benchmarks, 2 cores", platform.name), || {
            let complaints = bench::examine_cores(workspace, tools, platform, supervisor, timeout);
            Ok(judge(platform, "bench", complaints))
        })?;
    }
    // One platform is enough for what an event takes.
    if !is_short && !supervisor.interrupted() && platform.is_sample() {
        total += session.part(&format!("{}: benchmarks, tracing", platform.name), || {
            let complaints =
                bench::examine_tracing(workspace, tools, platform, supervisor, timeout);
            Ok(judge(platform, "bench --tracing", complaints))
        })?;
    }
    Ok(total)
}

/// The result of a test with these complaints about what a command measures.
fn judge(platform: &Platform, command: &str, complaints: Result<Vec<String>>) -> Tally {
    match complaints {
        Ok(complaints) if complaints.is_empty() => Tally {
            passed: 1,
            failed: 0,
        },
        Ok(complaints) => {
            for complaint in complaints {
                say(&format!("{}: {complaint}", platform.name));
            }
            say(&format!(
                "if the change of costs is intended: cargo xtask {command} --write-reference"
            ));
            Tally::FAILURE
        }
        Err(error) => {
            ui::error(&error);
            Tally::FAILURE
        }
    }
}
