//! The command `bench` in a project: what its components run, and what its servers take for requests, from a trace of a
//! run on a kernel of kind `bench`, in which each instruction counts as a nanosecond.

use anyhow::bail;

use crate::cli::{BenchArguments, BuildArguments, Kernel, TraceArguments, Tracing};
use crate::platform::Platform;
use crate::programs::{self, Program};
use crate::system::System;
use crate::ui::say;
use crate::workspace::Workspace;
use crate::{Outcome, Result, temporary};

/// The platform that is measured unless others are chosen.
const USUAL: &str = "pc99";
/// How long a system runs that does not end itself, in seconds.
const SECONDS: u64 = 10;

/// Measures the project in which the tool was called.
pub(super) fn run(workspace: &Workspace, arguments: &BenchArguments) -> Result {
    require_plain(arguments)?;
    let usual = [USUAL.to_string()];
    let platforms = match &*arguments.platforms {
        [] => &usual[..],
        platforms => platforms,
    };
    let system = System::chosen(workspace, None)?;
    for platform in platforms {
        let folder = temporary::Folder::new()?;
        let file = folder.path().join("bench.trace");
        let trace = TraceArguments {
            reader: None,
            build: build_of(workspace, &system, arguments, platform)?,
            root_task: None,
            real_time: false,
            seconds: Some(arguments.timeout.unwrap_or(SECONDS)),
            tracing: Tracing::default(),
            output: Some(file.clone()),
        };
        let outcome = programs::trace(workspace, trace)?;
        if !matches!(outcome, Outcome::Success) {
            return Ok(outcome);
        }
        say(&format!(
            "{platform}: instructions, without those of tracing"
        ));
        let table = ["requests".into(), file.into_os_string()];
        programs::run(workspace, Program::Trace, &table)?;
    }
    Ok(Outcome::Success)
}

/// What is built for a platform: the kernel has the options that the system's devices need.
fn build_of(
    workspace: &Workspace,
    system: &System,
    arguments: &BenchArguments,
    platform: &str,
) -> Result<BuildArguments> {
    Ok(BuildArguments {
        platform: platform.to_string(),
        system: None,
        kernel: Kernel::Bench,
        abi: system.options(workspace, &Platform::load(workspace, platform)?)?,
        cores: arguments.cores,
        hardening: arguments.hardening.clone(),
    })
}

/// Refuses what is for the repository's own benchmarks.
fn require_plain(arguments: &BenchArguments) -> Result<()> {
    let plain = BenchArguments {
        platforms: arguments.platforms.clone(),
        cores: arguments.cores,
        hardening: arguments.hardening.clone(),
        timeout: arguments.timeout,
        ..BenchArguments::of(0)
    };
    if *arguments != plain {
        bail!(
            "in a project `bench` takes --platform, --smp, --harden and --timeout only; the others are for the kernel's \
             own benchmarks, in a checkout"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::AbiOption;
    use crate::project;

    #[test]
    fn a_system_has_its_timer_on_every_platform() {
        let workspace = Workspace::find().unwrap();
        let folder = temporary::Folder::new().unwrap();
        let path = folder.path().join("timers");
        project::create(&workspace, &path, Some("timers")).unwrap();
        let system = System::of_project(&workspace, &path).unwrap();
        let abi = |platform| {
            let build = build_of(&workspace, &system, &BenchArguments::of(5), platform);
            build.unwrap().abi
        };
        assert_eq!(abi("pc99"), []);
        assert_eq!(abi("hikey"), [AbiOption::UserTimer]);
    }

    #[test]
    fn options_of_the_kernel_s_benchmarks_are_refused() {
        let mut arguments = BenchArguments::of(5);
        arguments.platforms = vec!["kzm".to_string()];
        require_plain(&arguments).unwrap();
        arguments.twice = true;
        let error = require_plain(&arguments).unwrap_err().to_string();
        assert!(error.starts_with("in a project `bench` takes"), "{error}");
    }
}
