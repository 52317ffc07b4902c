//! The command `check`: all checks of the sources that need no run, and a short run in Miri. Warnings are
//! errors here, and it does not stop at the first one.

use std::process::Command;

use anyhow::bail;

use crate::bench;
use crate::build::{self, BareMetal, Side};
use crate::cli::CheckArguments;
use crate::crates::{self, Crate};
use crate::platform::Platform;
use crate::setup::{self, BuildTools};
use crate::system::System;
use crate::ui::{Step, say};
use crate::workspace::Workspace;
use crate::{Outcome, Result, cargo, describe, project, rules};

/// The feature sets of kernels; each must compile without warnings.
const KERNELS: [&[&str]; 3] = [&["debug", "log"], &["bench"], &[]];
/// The features for boards with several cores.
const SEVERAL_CORES: &[&str] = &["debug", "log", "smp"];
/// The features for boards with processors that need hardening.
const HARDENED: &[&str] = &["harden-meltdown", "harden-spectre", "harden-mds"];

/// Miri's options. Addresses in the words of capabilities become pointers again, by exposed
/// provenance.
const MIRI_FLAGS: &str = "-Zmiri-permissive-provenance -Zmiri-disable-isolation";

/// Arguments of the documentation check.
const DOC: [&str; 3] = ["doc", "--no-deps", "--document-private-items"];

/// The command `check`.
pub(crate) fn run(workspace: &Workspace, arguments: &CheckArguments) -> Result {
    if let Some(folder) = project::folder() {
        return project::check::run(workspace, &folder, arguments);
    }
    if arguments.json {
        bail!("--json is for editors, in a project; leave it out");
    }
    let tools = setup::build_tools()?;
    setup::bare_metal_clippy(&tools.toolchain)?;
    let mut check = Check {
        workspace,
        tools,
        crates: crates::all(workspace)?,
        failed: Vec::new(),
    };
    check.rules()?;
    check.formatting()?;
    let names = if arguments.platforms.is_empty() {
        check.host()?;
        Platform::names(workspace)
    } else {
        arguments.platforms.clone()
    };
    for name in names {
        let platform = Platform::load(workspace, &name)?;
        check.kernel(&platform)?;
        check.users(&platform)?;
    }
    if check.failed.is_empty() {
        say("all checks passed");
        return Ok(Outcome::Success);
    }
    for what in &check.failed {
        say(&format!("failed: {what}"));
    }
    Ok(Outcome::Failure)
}

struct Check<'a> {
    workspace: &'a Workspace,
    tools: BuildTools,
    crates: Vec<Crate>,
    failed: Vec<String>,
}

impl Check<'_> {
    fn rules(&mut self) -> Result<()> {
        let step = Step::begin("checking the repository's own rules");
        let mut complaints = rules::complaints(self.workspace)?;
        complaints.extend(bench::complaints(self.workspace)?);
        complaints.extend(describe::complaints(self.workspace)?);
        for complaint in &complaints {
            step.say(complaint);
        }
        if !complaints.is_empty() {
            self.failed.push(step.name().to_string());
        }
        Ok(())
    }

    fn formatting(&mut self) -> Result<()> {
        let mut command = setup::subcommand("fmt", "rustfmt-web")?.subcommand("fmt");
        command
            .current_dir(self.workspace.root())
            .args(["--all", "--", "--check"]);
        self.step("checking the formatting", &mut command)
    }

    /// The checks of host programs.
    fn host(&mut self) -> Result<()> {
        let toolchain = setup::subcommand("clippy", "rust-web-clippy")?;
        let tested = self.crates.iter().filter(|one| one.is_tested_on_host());
        let names: Vec<_> = tested
            .flat_map(|one| ["-p".to_string(), one.name.clone()])
            .collect();

        let mut clippy = toolchain.subcommand("clippy");
        clippy
            .current_dir(self.workspace.root())
            .arg("--all-targets")
            .args(&names);
        self.lint("linting for the host", clippy)?;

        let mut doc = toolchain.cargo();
        doc.current_dir(self.workspace.root())
            .args(DOC)
            .args(&names)
            .env("CARGO_ENCODED_RUSTDOCFLAGS", "-Dwarnings");
        self.step("documenting for the host", &mut doc)?;
        self.undefined_behaviour()
    }

    /// Runs the short histories of the host suite in Miri, if the toolchain has it.
    fn undefined_behaviour(&mut self) -> Result<()> {
        let toolchain = &self.tools.toolchain;
        if !toolchain.has_subcommand("miri") {
            say(&format!(
                "skipped: Miri is not in the toolchain {}; try `rustup component add miri`",
                toolchain.version()
            ));
            return Ok(());
        }
        let mut miri = toolchain.subcommand("miri");
        miri.current_dir(self.workspace.root())
            .env("MIRIFLAGS", MIRI_FLAGS)
            .args(["test", "-p", "kernel-host", "--features", "kernel-host/smp"])
            .args(["--test", "suite", "--", "whole::"]);
        self.step("running short histories in Miri", &mut miri)
    }

    /// The kernel and its dependencies, for one platform.
    fn kernel(&mut self, platform: &Platform) -> Result<()> {
        let name = &*platform.name;
        let several = (platform.cores > 1).then_some(SEVERAL_CORES);
        let hardened = platform.qemu.hardened.as_ref().map(|_| HARDENED);
        for features in KERNELS.into_iter().chain(several).chain(hardened) {
            let features: Vec<_> = features
                .iter()
                .map(|feature| format!("{name}/{feature}"))
                .collect();
            let mut clippy = self.tools.toolchain.subcommand("clippy");
            self.complete(platform, &mut clippy, Side::Kernel, &[name], &features)?;
            clippy.env(build::CORES, "2");
            self.lint(
                &format!("linting the kernel for {name} [{}]", features.join(" ")),
                clippy,
            )?;
        }
        let mut doc = self.tools.toolchain.cargo();
        doc.args(DOC);
        let closure = crates::closure(&self.crates, &[name]);
        self.complete(
            platform,
            &mut doc,
            Side::Kernel,
            &closure,
            &[format!("{name}/debug")],
        )?;
        self.step(&format!("documenting the kernel for {name}"), &mut doc)
    }

    /// Every system that runs on one platform, and the userlib.
    fn users(&mut self, platform: &Platform) -> Result<()> {
        let name = &*platform.name;
        let systems = System::all(self.workspace)?;
        let systems: Vec<_> = systems
            .iter()
            .filter(|system| system.runs_on(name))
            .collect();
        let given = self.workspace.target().join("given").join(name);
        for system in &systems {
            if let Some(generated) = system.generate(self.workspace, platform)? {
                build::write_given(&given, &generated)?;
            }
        }
        let programs = systems.iter().flat_map(|system| system.crates());
        let mut programs: Vec<_> = programs.collect();
        if programs.is_empty() {
            return Ok(());
        }
        programs.sort_unstable();
        programs.dedup();

        let mut clippy = self.tools.toolchain.subcommand("clippy");
        self.complete(platform, &mut clippy, Side::User, &programs, &[])?;
        clippy.env(build::GIVEN, &given);
        self.lint(&format!("linting the systems for {name}"), clippy)?;

        let mut doc = self.tools.toolchain.cargo();
        doc.args(DOC);
        let closure = crates::closure(&self.crates, &programs);
        self.complete(platform, &mut doc, Side::User, &closure, &[])?;
        doc.env(build::GIVEN, &given);
        self.step(&format!("documenting the systems for {name}"), &mut doc)
    }

    fn complete(
        &self,
        platform: &Platform,
        command: &mut Command,
        side: Side,
        crates: &[&str],
        features: &[String],
    ) -> Result<()> {
        let bare_metal = BareMetal::new(self.workspace, &self.tools, platform);
        bare_metal.complete(command, side, crates, features, &[])
    }

    /// Runs clippy with warnings as errors.
    fn lint(&mut self, what: &str, mut command: Command) -> Result<()> {
        self.step(what, command.args(["--", "-Dwarnings"]))
    }

    /// Runs a call of cargo and records its failure.
    fn step(&mut self, what: &str, command: &mut Command) -> Result<()> {
        if !cargo::succeeds(&Step::begin(what), command)? {
            self.failed.push(what.to_string());
        }
        Ok(())
    }
}
