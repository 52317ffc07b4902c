//! The test of the crates for a registry: cargo packages them, each after those on which it depends, and refuses what a
//! registry would refuse. They are not compiled again.

use super::filter::Filter;
use super::screen::Place;
use super::tally::Tally;
use super::verdict::verdict;
use crate::cli::TestArguments;
use crate::crates::Crate;
use crate::toolchain::Toolchain;
use crate::ui::Step;
use crate::workspace::Workspace;
use crate::{Result, cargo};

const NAME: &str = "registry::packages";

/// Whether the test is among the wanted ones: in a run of everything, or if a filter is its name.
pub(super) fn is_wanted(arguments: &TestArguments) -> bool {
    arguments.all || Filter::new(arguments.filter.as_deref()).names(NAME)
}

/// Packages all of them.
pub(super) fn run(
    workspace: &Workspace,
    toolchain: &Toolchain,
    crates: &[Crate],
    place: &Place<'_>,
) -> Result<Tally> {
    let mut package = toolchain.cargo();
    package.current_dir(workspace.root()).args([
        "package",
        "--quiet",
        "--offline",
        "--allow-dirty",
        "--no-verify",
    ]);
    for one in crates.iter().filter(|one| !one.is_private()) {
        package.args(["-p", &one.name]);
    }
    let step = Step::begin("packaging the crates for a registry");
    let is_good = cargo::succeeds(&step, &mut package)?;
    let failure = (!is_good).then_some("see the output of `cargo package` above");
    let line = verdict(NAME, failure);
    place.output(format!("{line}\n").as_bytes());
    Ok(Tally::from_test(&line).unwrap_or(Tally::FAILURE))
}
