//! Running a boot image in QEMU.
//!
//! The guest's console is QEMU's own stdout, to which this tool adds only functions and lines after a
//! post-mortem. The guest reports its result as QEMU's exit code, by the board's own mechanism.

mod machine;
mod processor;
mod supervise;

use std::io::{IsTerminal, stdout};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use nix::sys::signal::Signal;

pub(crate) use machine::{Machine, escaped};
pub(crate) use supervise::{Ending, Supervisor, is_interrupted};

use crate::build::{self, Built, Request, RootTask};
use crate::cli::{QemuArguments, Tracing};
use crate::gdb::{self, Session};
use crate::log::{self, Log};
use crate::microkit::Board;
use crate::platform::{Exit, Platform};
use crate::post_mortem::PostMortems;
use crate::programs::{self, Collection, Program};
use crate::project;
use crate::sdk;
use crate::setup;
use crate::system::System;
use crate::temporary;
use crate::ui::{self, say};
use crate::workspace::Workspace;
use crate::{Outcome, Result};

/// Tells the compilation of a root task that its output goes to a terminal, which the guest cannot detect by
/// itself.
const TERMINAL: &str = "ESCAPEMENT_TERMINAL";

/// A variable of the environment, and its value: they tell the compilation of a system that time is the host's, in
/// which no share of the processor can be guaranteed.
pub(crate) const REAL_TIME: (&str, &str) = ("ESCAPEMENT_REAL_TIME", "yes");

/// The command `qemu`.
pub(crate) fn run(workspace: &Workspace, arguments: &QemuArguments) -> Result {
    let platform = Platform::load(workspace, &arguments.build.platform)?;
    platform.require(arguments.build.cores)?;
    if arguments.gdb {
        gdb::require_free()?;
    }
    if arguments.trace.is_none() && arguments.tracing != Tracing::default() {
        bail!("no file is given for the trace; add --trace FILE");
    }
    if let Some(file) = &arguments.trace {
        ui::require_file(file)?;
    }
    if let Some(image) = &arguments.microkit {
        return traced(workspace, &platform, arguments, |ram| {
            boot(&platform, image, arguments, ram)
        });
    }
    sdk::require_kernels(workspace, &platform)?;
    let system;
    let root_task = if let Some(file) = &arguments.root_task {
        build::read_root_task(&platform, file, None)?;
        RootTask::File(file)
    } else {
        system = System::chosen(workspace, arguments.build.system.as_deref())?;
        system.require(&platform)?;
        RootTask::System(&system)
    };
    let tools = setup::build_tools()?;
    let emulator = setup::emulator(&platform)?;
    let real_time = (!arguments.is_virtual()).then_some(REAL_TIME);
    let terminal = stdout().is_terminal().then_some((TERMINAL, "yes"));
    let environment: Vec<_> = terminal.into_iter().chain(real_time).collect();
    let request = Request {
        platform: &platform,
        kernel: arguments.build.kernel,
        abi: &arguments.build.abi,
        cores: arguments.build.cores,
        hardening: &arguments.build.hardening,
        log: arguments.log,
        tracing: arguments.trace.as_ref().map(|_| &arguments.tracing),
        root_task,
        loaded: false,
        bare: false,
        user_profile: build::UserProfile::Shipped,
        variables: arguments.gdb,
        environment: &environment,
        features: &[],
        parameters: &[],
    };
    let built = build::build(workspace, &tools, &request)?;
    let _note = match arguments.gdb {
        true => Some(Session::of(workspace, &platform, root_task, &built)?.note(workspace)?),
        false => None,
    };
    traced(workspace, &platform, arguments, |ram| {
        emulate(workspace, &platform, &emulator, &built, arguments, ram)
    })
}

/// The outcome of `start`, which runs a machine whose RAM is in a file, if it is given one; what the kernel has traced is
/// then written, if it is to be.
fn traced(
    workspace: &Workspace,
    platform: &Platform,
    arguments: &QemuArguments,
    start: impl FnOnce(Option<&Path>) -> Result,
) -> Result {
    let Some(trace) = &arguments.trace else {
        return start(None);
    };
    // The reader is built before: an interruption may end the run, but not keep the trace from being written.
    let reader = programs::build(workspace, Program::Trace)?;
    let ram = temporary::File::new_in(workspace.target());
    let ram = ram.with_context(|| format!("cannot write to {}", workspace.target().display()))?;
    let keep = arguments.tracing.keep;
    let collection = Collection::start(&reader, &platform.name, ram.path(), trace, keep, true)?;
    let outcome = start(Some(ram.path()));
    let status = collection.finish()?.status;
    let outcome = outcome?;
    if !status.success() {
        bail!("this run left no trace; see above");
    }
    if let Some(words) = told_of_trace(outcome, trace) {
        say(&words);
    }
    Ok(outcome)
}

/// Where the last events are of a run that has not succeeded: of a kernel that has panicked, or one that was stopped.
fn told_of_trace(outcome: Outcome, trace: &Path) -> Option<String> {
    let has_succeeded = matches!(outcome, Outcome::Success);
    (!has_succeeded).then(|| format!("the kernel's events until then are in {}", trace.display()))
}

fn emulate(
    workspace: &Workspace,
    platform: &Platform,
    emulator: &Path,
    built: &Built,
    arguments: &QemuArguments,
    ram: Option<&Path>,
) -> Result {
    let log = match &built.log_decoder {
        Some(decoder) => Some(Log::open(workspace, decoder, &built.kernel, log::show)?),
        None => None,
    };
    let socket = log.as_ref().map(Log::socket);
    let machine = Machine {
        platform,
        image: Some(&built.image),
        memory: None,
        cores: arguments.build.cores.count,
        hardening: &arguments.build.hardening,
        log: socket.as_deref(),
        ram,
        icount: arguments.is_virtual(),
        gdb: arguments.gdb,
        more: &arguments.more,
    };
    let mut post_mortems = PostMortems::of(workspace, built, None);
    let ending = watch(&machine, emulator, arguments, |bytes| {
        post_mortems.add(bytes)
    })?;
    if let Some(log) = log {
        log.close();
    }
    conclude(ending, platform, arguments, ram)
}

/// Boots an image that Microkit's tool has built.
fn boot(
    platform: &Platform,
    image: &Path,
    arguments: &QemuArguments,
    ram: Option<&Path>,
) -> Result {
    let more = Board::arguments(platform, image, arguments)?;
    let machine = Machine {
        platform,
        image: None,
        memory: platform.microkit.as_ref().map(|board| board.memory),
        cores: arguments.build.cores.count,
        hardening: &arguments.build.hardening,
        log: None,
        ram,
        icount: arguments.is_virtual(),
        gdb: arguments.gdb,
        more: &more,
    };
    let emulator = setup::emulator(platform)?;
    let ending = watch(&machine, &emulator, arguments, <[u8]>::to_vec)?;
    conclude(ending, platform, arguments, ram)
}

/// Runs a machine, and shows what `show` makes of the bytes of its console.
fn watch(
    machine: &Machine<'_>,
    emulator: &Path,
    arguments: &QemuArguments,
    mut show: impl FnMut(&[u8]) -> Vec<u8> + Send,
) -> Result<Ending> {
    let supervisor = Supervisor::new()?;
    let mut command = machine.command(emulator);
    command.stdin(if supervise::may_read_terminal() {
        Stdio::inherit()
    } else {
        Stdio::null()
    });
    let (mut child, _processor) = machine.start(&mut command)?;
    let has_ended = || Ok(child.try_wait()?.is_some() || supervisor.interrupted());
    if machine.gdb && gdb::comes(has_ended)? {
        let tool = project::tool();
        say(&format!(
            "waiting for a debugger; in another terminal: {tool} gdb"
        ));
    }
    let timeout = arguments.timeout.map(Duration::from_secs);
    let mut shown = Ok(());
    let ending = supervisor.watch(&mut child, timeout, |bytes| {
        let bytes = show(bytes);
        // The guest continues without a reader of its output, and where there is no room for it.
        if shown.is_ok() {
            shown = ui::print(bytes);
        }
    })?;
    shown.map(|()| ending)
}

/// The result of a run, with a line about it unless it succeeded.
fn conclude(
    ending: Ending,
    platform: &Platform,
    arguments: &QemuArguments,
    ram: Option<&Path>,
) -> Result {
    match ending {
        Ending::Exited(status) => {
            let (outcome, words) = judge(status, &platform.qemu.exit, ram)?;
            if let Some(words) = words {
                say(&words);
            }
            Ok(outcome)
        }
        Ending::TimedOut => {
            say(&format!(
                "the run was ended after {} s",
                arguments.timeout.unwrap_or_default()
            ));
            Ok(Outcome::Timeout)
        }
        Ending::Interrupted => Ok(Outcome::Interrupted),
    }
}

/// The guest's result from QEMU's exit status, with a description of failures. `ram` is the file with the machine's RAM, if
/// it is in one.
fn judge(status: ExitStatus, exit: &Exit, ram: Option<&Path>) -> Result<(Outcome, Option<String>)> {
    // The file takes room as the guest writes to RAM, and QEMU has it mapped.
    if let (Some(ram), Some(signal)) = (ram, status.signal())
        && signal == Signal::SIGBUS as i32
    {
        bail!(
            "the disk has no room for the machine's RAM, {}",
            ram.display()
        );
    }
    match status.code() {
        Some(code) if code == exit.success => Ok((Outcome::Success, None)),
        Some(code) if code == exit.failure => Ok((
            Outcome::Failure,
            Some("the guest reported failure".to_string()),
        )),
        // QEMU's own exit code for a bad command line.
        Some(1) => bail!("QEMU refused to run; see its message above"),
        _ => {
            let words = format!("the machine stopped without a word from the kernel ({status})");
            Ok((Outcome::Failure, Some(words)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;
    use std::os::unix::process::ExitStatusExt;

    fn exited(code: i32) -> ExitStatus {
        ExitStatus::from_raw(code << 8)
    }

    #[test]
    fn exit_codes_are_those_of_the_board() {
        let judged = |status, exit| judge(status, exit, None).unwrap().0;
        let pc = Exit {
            success: 33,
            failure: 35,
        };
        assert_eq!(judged(exited(33), &pc), Outcome::Success);
        assert_eq!(judged(exited(35), &pc), Outcome::Failure);
        assert_eq!(judged(exited(0), &pc), Outcome::Failure, "a triple fault");
        let arm = Exit {
            success: 0,
            failure: 35,
        };
        assert_eq!(judged(exited(0), &arm), Outcome::Success);
        assert_eq!(judged(exited(35), &arm), Outcome::Failure);
        assert_eq!(
            judged(ExitStatus::from_raw(9), &arm),
            Outcome::Failure,
            "a crash of QEMU"
        );
    }

    #[test]
    fn a_trace_that_cannot_be_written_is_refused_before_a_build() {
        // No user may make files there.
        let call = ["cargo xtask", "qemu", "--trace", "/proc/run.trace"];
        let Command::Qemu(arguments) = Cli::parse_from(call).command else {
            panic!("not `qemu`")
        };
        let error = run(&Workspace::find().unwrap(), &arguments).unwrap_err();
        let error = format!("{error:#}");
        assert!(
            error.starts_with("cannot write /proc/run.trace: "),
            "{error}"
        );
    }

    #[test]
    fn a_run_that_fails_or_is_stopped_says_where_its_events_are() {
        let said = |outcome| told_of_trace(outcome, Path::new("run.trace"));
        assert_eq!(said(Outcome::Success), None);
        let words = "the kernel's events until then are in run.trace";
        for outcome in [Outcome::Failure, Outcome::Timeout, Outcome::Interrupted] {
            assert_eq!(said(outcome).as_deref(), Some(words));
        }
    }

    #[test]
    fn no_board_reports_failure_as_qemu_does_a_bad_command_line() {
        let workspace = Workspace::find().unwrap();
        for name in Platform::names(&workspace) {
            let exit = Platform::load(&workspace, &name).unwrap().qemu.exit;
            let error = judge(exited(1), &exit, None).unwrap_err().to_string();
            assert_eq!(error, "QEMU refused to run; see its message above");
        }
    }

    #[test]
    fn a_disk_without_room_for_the_ram_is_no_failure_of_the_guest() {
        let (exit, ram) = (
            Exit {
                success: 0,
                failure: 35,
            },
            Path::new("target/ram"),
        );
        let full = ExitStatus::from_raw(Signal::SIGBUS as i32);
        let error = judge(full, &exit, Some(ram)).unwrap_err().to_string();
        assert_eq!(
            error,
            "the disk has no room for the machine's RAM, target/ram"
        );
        assert_eq!(judge(full, &exit, None).unwrap().0, Outcome::Failure);
    }
}
