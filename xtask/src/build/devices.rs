//! Whether the kernel to be built leaves the devices of a system's components to them.

use anyhow::bail;
use system_description::System;

use super::Request;
use crate::Result;
use crate::cli::AbiOption;
use crate::platform::{Platform, Serial};

/// The device whose registers are those of the platform's timer for users.
const TIMER: &str = "timer";
/// The devices of boards on which the kernel measures the frequency of its own timer.
const CLOCKS_OF_KERNEL: [&str; 2] = ["imx31", "imx6"];
/// The device that is the serial port after the kernel's console.
const SERIAL: &str = "serial";

/// The options of the ABI without which the devices of a system's components are not there on a platform.
pub(crate) fn options<'a>(system: &System, platform: &'a Platform) -> &'a [AbiOption] {
    let mut interrupts = system.components.iter().flat_map(|one| &one.interrupts);
    match interrupts.any(|used| used.device == TIMER) {
        true => &platform.timer,
        false => &[],
    }
}

/// Refuses devices of components that work only with other options, or that the kernel uses.
pub(super) fn require(system: &System, request: &Request<'_>) -> Result<()> {
    let platform = request.platform;
    let timer = platform.user.devices.as_deref().unwrap_or_default();
    if !system.schedule.is_empty() && CLOCKS_OF_KERNEL.contains(&timer) {
        bail!(
            "the turns of domains are in ticks of the kernel's clock, whose frequency users do not learn on {}; use \
             contexts instead of domains",
            platform.name
        );
    }
    for one in &system.components {
        for device in one.interrupts.iter().map(|used| &used.device) {
            let missing = |option: &&_| device == TIMER && !request.abi.contains(option);
            if let Some(option) = platform.timer.iter().find(missing) {
                bail!(
                    "`{}` has the device `{TIMER}`, which users may program on {} only with --abi {}",
                    one.name,
                    platform.name,
                    option.feature()
                );
            }
        }
        let uses_port = one.devices.iter().any(|used| used.device == SERIAL);
        if uses_port && request.log.is_some() && logs_to_serial(platform) {
            bail!(
                "`{}` has the device `{SERIAL}`, by which the kernel of {} writes its log; leave out --log",
                one.name,
                platform.name
            );
        }
    }
    Ok(())
}

/// Whether the log has a serial port of its own.
fn logs_to_serial(platform: &Platform) -> bool {
    platform.qemu.serial.contains(&Serial::Log)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::{RootTask, UserProfile};
    use crate::cli::{Cores, Hardening, Kernel, LogLevel};
    use crate::describe;
    use crate::system::System;
    use crate::workspace::Workspace;
    use std::path::Path;

    /// The refusal of the system `lines`, whose component `port` has the devices `devices`.
    fn refusal(platform: &str, device: &str, abi: &[AbiOption], logs: bool) -> Option<String> {
        let workspace = Workspace::find().unwrap();
        let file = System::file(&workspace, "systems/lines");
        let mut system = describe::of_file(&workspace, &file, Some(platform)).unwrap();
        for component in &mut system.components {
            for used in &mut component.devices {
                used.device = device.to_string();
            }
            for used in &mut component.interrupts {
                used.device = device.to_string();
            }
        }
        let platform = Platform::load(&workspace, platform).unwrap();
        let request = Request {
            platform: &platform,
            kernel: Kernel::Debug,
            abi,
            cores: Cores::ONE,
            hardening: &Hardening::default(),
            log: logs.then_some(LogLevel::Debug),
            tracing: None,
            root_task: RootTask::File(Path::new("")),
            loaded: false,
            bare: false,
            user_profile: UserProfile::Tests,
            variables: false,
            environment: &[],
            features: &[],
            parameters: &[],
        };
        require(&system, &request)
            .err()
            .map(|error| error.to_string())
    }

    #[test]
    fn a_timer_needs_the_option_that_gives_it_to_users() {
        let complaint = "`port` has the device `timer`, which users may program on hikey only with --abi user-timer";
        assert_eq!(
            refusal("hikey", "timer", &[], false).as_deref(),
            Some(complaint)
        );
        assert_eq!(
            refusal("hikey", "timer", &[AbiOption::UserTimer], false),
            None
        );
        assert_eq!(refusal("sabre", "timer", &[], false), None);
    }

    #[test]
    fn a_port_is_not_shared_with_the_log() {
        let complaint = "`port` has the device `serial`, by which the kernel of sabre writes its log; leave out --log";
        assert_eq!(
            refusal("sabre", "serial", &[], true).as_deref(),
            Some(complaint)
        );
        assert_eq!(refusal("sabre", "serial", &[], false), None);
        // There the log goes elsewhere.
        assert_eq!(refusal("hikey", "serial", &[], true), None);
    }
}
