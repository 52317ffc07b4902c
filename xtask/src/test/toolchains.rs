//! Builds by the other toolchains that are at hand: assembly and layouts must not depend on the choices of one
//! compiler.

use super::Session;
use super::tally::Tally;
use crate::platform::{Coverage, Platform};
use crate::setup::BuildTools;
use crate::ui;
use crate::{Result, build, setup};

/// One test for each other toolchain and each platform on which an architecture is tested: its release kernel
/// can be built. In a short run, the kernel is built without optimisation at link time, which takes half of a
/// build and changes neither assembly nor layouts.
pub(super) fn run(
    session: &Session<'_>,
    tools: &BuildTools,
    platforms: &[Platform],
    is_short: bool,
) -> Result<Tally> {
    let mut total = Tally::default();
    let profile = if is_short { "dev" } else { "release" };
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
                Ok(
                    match build::by_profile(session.workspace, &other, platform, profile) {
                        Ok(()) => Tally {
                            passed: 1,
                            failed: 0,
                        },
                        Err(error) => {
                            ui::error(&error);
                            Tally::FAILURE
                        }
                    },
                )
            })?;
        }
    }
    Ok(total)
}
