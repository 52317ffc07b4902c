//! Builds by the other toolchains that are at hand: assembly and layouts must not depend on the choices of one
//! compiler.

use super::Session;
use super::tally::Tally;
use crate::platform::{Coverage, Platform};
use crate::setup::BuildTools;
use crate::ui;
use crate::{Result, build, setup};

/// One test for each other toolchain and each platform on which an architecture is tested: its release kernel
/// can be built.
pub(super) fn run(
    session: &Session<'_>,
    tools: &BuildTools,
    platforms: &[Platform],
) -> Result<Tally> {
    let mut total = Tally::default();
    for other in setup::other_build_tools(tools) {
        let chosen = platforms
            .iter()
            .filter(|platform| platform.covers >= Coverage::Architecture);
        for platform in chosen {
            if session.supervisor.interrupted() {
                return Ok(total);
            }
            let name = format!("{}: kernel, {}", platform.name, other.toolchain.version());
            total += session.part(&name, || {
                Ok(match build::kernel(session.workspace, &other, platform) {
                    Ok(()) => Tally {
                        passed: 1,
                        failed: 0,
                    },
                    Err(error) => {
                        ui::error(&error);
                        Tally::FAILURE
                    }
                })
            })?;
        }
    }
    Ok(total)
}
