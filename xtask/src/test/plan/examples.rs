//! Which example systems there are for the tests.

use anyhow::bail;

use super::super::{book::Base, debugger, filter::Filter, same_sdk, templates};
use crate::Result;
use crate::platform::Platform;
use crate::system::{self, System};
use crate::workspace::Workspace;

/// Tests that are the run of an example system.
pub(super) const SYSTEM: &str = "system";
/// The system whose end needs several domains.
pub(super) const LAST_TURN: &str = "last-turn";
/// The system whose traces are compared with that of the scenario with this name.
pub(in super::super) const TRACED: &str = "traced";
/// The beginning of the name of the test that compares them.
pub(super) const COMPARED: &str = "trace::simulator";

/// The examples that are run on every platform: new users try the first, and the others drive a board's devices.
pub(super) const EVERYWHERE: [&str; 7] =
    ["demo", "gpio", "lines", "rtc", "serial", "shell", "timers"];
/// The services among them, with the component that drives the device. Another run of each has its clients on another core.
const SERVICES: [(&str, &str); 4] = [
    ("gpio", "port"),
    ("rtc", "rtc"),
    ("serial", "port"),
    (TIMERS, "timers"),
];
const TIMERS: &str = "timers";
/// The examples that depend on an architecture: they read what a faulting thread has left behind.
pub(super) const ON_ARCHITECTURES: [&str; 2] = ["faults", "restarts"];

/// The name of an example system's run as a test.
pub(in super::super) fn example(system: &str) -> String {
    format!("{SYSTEM}::{system}")
}

/// The services whose drivers have another core than their clients, as far as a platform has them and a filter wants them.
pub(super) fn on_two_cores(
    workspace: &Workspace,
    platform: &Platform,
    filter: &Filter<'_>,
) -> Result<Vec<System>> {
    let wanted = SERVICES.iter().filter(|(name, _)| {
        has_two_cores(name, platform) && filter.wants(&example(&system::on_two_cores(name)))
    });
    let systems =
        wanted.map(|(name, driver)| System::on_two_cores(workspace, name, driver, platform));
    let mut systems = systems.collect::<Result<Vec<_>>>()?;
    systems.retain(|system| system.runs_on(&platform.name));
    Ok(systems)
}

/// Whether an example is a service whose driver may have another core than its clients.
pub(super) fn has_two_cores(name: &str, platform: &Platform) -> bool {
    let mut services = SERVICES.iter();
    // Where the users' timer consists of registers of a core, a passive service has the core of its clients.
    services.any(|(service, _)| *service == name && (name != TIMERS || platform.timer.is_empty()))
}

/// Refuses a filter that names an example of which there is none.
pub(in super::super) fn require_examples(workspace: &Workspace, filter: &Filter<'_>) -> Result<()> {
    let mut names = System::names(workspace);
    let others = [LAST_TURN, debugger::NAME, templates::NAME, same_sdk::NAME].into_iter();
    names.extend(others.chain(Base::ALL.map(Base::name)).map(String::from));
    names.extend(SERVICES.map(|(name, _)| system::on_two_cores(name)));
    let is_there = |text: &str| names.iter().any(|name| example(name).contains(text));
    let named = filter.of(SYSTEM);
    if let Some(text) = named.texts().iter().find(|text| !is_there(text)) {
        bail!(
            "no example has a name with `{text}`; there are, after `{SYSTEM}::`: {}",
            names.join(", ")
        );
    }
    Ok(())
}
