//! The benchmarks as tests: no operation may have become worse than the
//! committed results say, and no delay may grow or exceed its bound. Figures
//! are counts of instructions, which no load of the host changes.

use super::tally::Tally;
use crate::cli::{Cores, TestArguments};
use crate::platform::Platform;
use crate::qemu::Supervisor;
use crate::setup::BuildTools;
use crate::ui::{self, say};
use crate::workspace::Workspace;
use crate::{Result, bench};

/// One test for each platform that has benchmarks, and another if it has several cores.
pub(super) fn run(
    workspace: &Workspace,
    tools: &BuildTools,
    platforms: &[Platform],
    arguments: &TestArguments,
    supervisor: &Supervisor,
) -> Result<Tally> {
    let timeout = arguments.timeout;
    let mut total = Tally::default();
    for platform in platforms {
        if supervisor.interrupted() || !bench::has(workspace, platform)? {
            continue;
        }
        let complaints = bench::examine(workspace, tools, platform, supervisor, timeout);
        total += judge(platform, complaints);
        if !supervisor.interrupted() && platform.has(Cores::TWO) {
            let complaints = bench::examine_cores(workspace, tools, platform, supervisor, timeout);
            total += judge(platform, complaints);
        }
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
