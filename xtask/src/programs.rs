//! Programs of the host that the tool builds when they are needed, and the commands `sim` and `trace`, which run them.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use anyhow::{Context, bail};

use crate::cli::{Keep, QemuArguments, TraceArguments, TraceReader};
use crate::qemu::{self, Ending, Supervisor};
use crate::toolchain::Toolchain;
use crate::ui::Step;
use crate::workspace::Workspace;
use crate::{Outcome, Result, cargo};

/// The profile of the tool.
const OF_TOOL: &str = "tool";

/// A program of the host.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Program {
    /// The simulator.
    Simulator,
    /// The reader of traces.
    Trace,
    /// The analyses of systems.
    Analyser,
    /// From addresses of a program to its source.
    Symbols,
}

impl Program {
    /// Its package, which is also the name of its file.
    const fn package(self) -> &'static str {
        match self {
            Self::Simulator => "simulator",
            Self::Trace => "trace",
            Self::Analyser => "analyser",
            Self::Symbols => "symbols",
        }
    }

    /// The profile with which users run it: that of the tool, whose libraries it shares, or the one of programs that
    /// run long.
    const fn profile(self) -> &'static str {
        match self {
            Self::Simulator | Self::Trace => "host",
            Self::Analyser | Self::Symbols => OF_TOOL,
        }
    }
}

/// The command `trace`: boots a system and writes a trace, or reads one.
pub(crate) fn trace(workspace: &Workspace, arguments: TraceArguments) -> Result {
    let (reader, output) = (arguments.reader, arguments.output);
    let Some(output) = output else {
        let Some(TraceReader::Reader(arguments)) = reader else {
            bail!("no file is given for the trace; add -o FILE");
        };
        return run(workspace, Program::Trace, &arguments);
    };
    let outcome = qemu::run(
        workspace,
        &QemuArguments {
            build: arguments.build,
            icount: !arguments.real_time,
            real_time: arguments.real_time,
            root_task: arguments.root_task,
            microkit: None,
            timeout: arguments.seconds,
            gdb: false,
            log: None,
            trace: Some(output.clone()),
            tracing: arguments.tracing,
            more: Vec::new(),
        },
    )?;
    if let Outcome::Interrupted = outcome {
        return Ok(outcome);
    }
    run(
        workspace,
        Program::Trace,
        &["info".into(), output.into_os_string()],
    )?;
    Ok(match outcome {
        // The run was to end then.
        Outcome::Timeout => Outcome::Success,
        outcome => outcome,
    })
}

/// The reader of traces, which writes what is in a machine's RAM into a file.
pub(crate) enum Collection {
    /// When the machine has stopped.
    Afterwards(Command),
    /// It takes events out of the RAM while the machine runs.
    Meanwhile(Child),
}

impl Collection {
    /// `reader` is the program's file. Where its output is not `shown`, [`Collection::finish`] returns it.
    pub(crate) fn start(
        reader: &Path,
        platform: &str,
        ram: &Path,
        output: &Path,
        keep: Keep,
        shown: bool,
    ) -> Result<Self> {
        let mut command = Command::new(reader);
        command.arg("collect").arg(ram);
        command
            .args(["--platform", platform, "--output"])
            .arg(output);
        if !shown {
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
        }
        if !keep.is_followed() {
            return Ok(Self::Afterwards(command));
        }
        // The key that ends the run is not for the reader.
        command
            .arg("--follow")
            .stdin(Stdio::piped())
            .process_group(0);
        Ok(Self::Meanwhile(started(&mut command)?))
    }

    /// Lets it write the trace, when the machine has stopped.
    pub(crate) fn finish(self) -> Result<Output> {
        let child = match self {
            Self::Afterwards(mut command) => started(&mut command)?,
            Self::Meanwhile(child) => child,
        };
        // This closes the standard input, at whose end it writes the file.
        let output = child.wait_with_output();
        output.context("cannot wait for the reader of traces")
    }
}

fn started(command: &mut Command) -> Result<Child> {
    let child = command.spawn();
    child.with_context(|| format!("cannot start {}", command.get_program().display()))
}

/// The response times in a trace, as JSON.
pub(crate) fn responses(workspace: &Workspace, trace: &Path) -> Result<Vec<u8>> {
    output(
        workspace,
        Program::Trace,
        &["responses".as_ref(), trace.as_os_str()],
    )
}

/// How many events entries wrote in a trace, as JSON.
pub(crate) fn entries(workspace: &Workspace, trace: &Path) -> Result<Vec<u8>> {
    output(
        workspace,
        Program::Trace,
        &["entries".as_ref(), trace.as_os_str()],
    )
}

/// What a program prints when it is run with these arguments.
pub(crate) fn output(
    workspace: &Workspace,
    program: Program,
    arguments: &[impl AsRef<OsStr>],
) -> Result<Vec<u8>> {
    let file = build(workspace, program)?;
    let output = Command::new(&file).args(arguments).output();
    let output = output.with_context(|| format!("cannot start {}", file.display()))?;
    printed(output)
}

/// What a program has printed; what it complained about is the error.
pub(crate) fn printed(output: Output) -> Result<Vec<u8>> {
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        bail!("{}", words.trim_start_matches("error: ").trim_end());
    }
    Ok(output.stdout)
}

/// Builds a program as users run it; returns its file.
pub(crate) fn build(workspace: &Workspace, program: Program) -> Result<PathBuf> {
    build_by_profile(workspace, program, program.profile())
}

/// Builds a program with a profile of cargo; returns its file.
pub(crate) fn build_by_profile(
    workspace: &Workspace,
    program: Program,
    profile: &str,
) -> Result<PathBuf> {
    let package = program.package();
    let mut build = build_on_host(workspace, profile, package)?;
    if profile == OF_TOOL {
        // With the tool, from which nothing is to be compiled, so that it has the tool's libraries: cargo chooses their
        // features for all packages of a call.
        build.args(["-p", env!("CARGO_PKG_NAME")]);
    }
    cargo::run(
        &Step::begin(&format!("building the program `{package}`")),
        &mut build,
    )?;
    Ok(workspace.target().join(profile).join(package))
}

/// Cargo's build of a package of the repository for the host, in the tool's target folder whatever cargo's settings name.
pub(crate) fn build_on_host(
    workspace: &Workspace,
    profile: &str,
    package: &str,
) -> Result<Command> {
    let mut build = Toolchain::host()?.cargo();
    build
        .current_dir(workspace.root())
        .args(["build", "--profile", profile, "-p", package])
        .arg("--target-dir")
        .arg(workspace.target());
    Ok(build)
}

/// Runs a program with these arguments.
pub(crate) fn run(workspace: &Workspace, program: Program, arguments: &[OsString]) -> Result {
    run_with(workspace, program, arguments, Stdio::inherit())
}

/// Runs a program with these arguments and this standard input.
pub(crate) fn run_with(
    workspace: &Workspace,
    program: Program,
    arguments: &[OsString],
    input: Stdio,
) -> Result {
    let mut child = Command::new(build(workspace, program)?)
        .args(arguments)
        .stdin(input)
        .spawn()
        .with_context(|| format!("cannot start the program `{}`", program.package()))?;
    let Ending::Exited(status) = Supervisor::new()?.wait(&mut child, None)? else {
        return Ok(Outcome::Interrupted);
    };
    match status.code() {
        Some(0) => Ok(Outcome::Success),
        Some(1) => Ok(Outcome::Failure),
        Some(2) => Ok(Outcome::Refused),
        _ => bail!("the program `{}` crashed: {status}", program.package()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Otherwise a build of the program compiles the tool again, which takes a minute, and replaces its file while it runs.
    #[test]
    fn programs_have_the_libraries_of_the_tool() {
        let workspace = Workspace::find().unwrap();
        let libraries = |program: Option<Program>| {
            let mut tree = Toolchain::host().unwrap().cargo();
            tree.current_dir(workspace.root())
                .args(["tree", "--offline", "--no-dedupe", "--prefix", "none"])
                .args(["--edges", "normal,build", "--format", "{p} {f}"])
                .args(["-p", env!("CARGO_PKG_NAME")])
                .args(program.into_iter().flat_map(|one| ["-p", one.package()]));
            let output = tree.output().unwrap();
            assert!(output.status.success(), "{output:?}");
            let text = String::from_utf8(output.stdout).unwrap();
            text.lines().map(str::to_string).collect::<BTreeSet<_>>()
        };
        let own = libraries(None);
        let programs = [
            Program::Simulator,
            Program::Trace,
            Program::Analyser,
            Program::Symbols,
        ];
        for program in programs {
            let shared = libraries(Some(program));
            let others: Vec<_> = own.difference(&shared).collect();
            assert!(others.is_empty(), "{program:?} has another {others:?}");
        }
    }
}
