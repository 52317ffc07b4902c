//! Tests on the target: systems like any other, whose root tasks print a line
//! for each test and a summary at their end. This side believes nothing that the
//! guest did not print: a run that dies is a failure.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use anyhow::Context;

use super::heard::Heard;
use super::screen::Place;
use super::tally::Tally;
use crate::build::{self, Built, Request, RootTask};
use crate::cli::{AbiOption, Cores, Emulator, Hardening, Kernel, LogLevel, TestArguments};
use crate::log::Log;
use crate::platform::{Bochs, Platform};
use crate::qemu::{Ending, Machine, Supervisor};
use crate::setup::{self, BuildTools};
use crate::system::System;
use crate::workspace::Workspace;
use crate::{Result, bochs};

/// Tells the tests' compilation which tests are wanted; empty for all.
const FILTER: &str = "ESCAPEMENT_TEST_FILTER";
/// Tell the fuzzer's compilation another seed and number of calls, 0 for its own, and whether to print
/// every call.
const FUZZ_SEED: &str = "ESCAPEMENT_FUZZ_SEED";
const FUZZ_TRACE: &str = "ESCAPEMENT_FUZZ_TRACE";
const FUZZ_CALLS: &str = "ESCAPEMENT_FUZZ_CALLS";
/// Tells the tests' compilation that the machine is a large one, and its memory in MiB.
const MEMORY: &str = "ESCAPEMENT_TEST_MEMORY";
/// Tells the tests' compilation what the kernel is hardened against; and the tests of all ways into a
/// hardened kernel and back.
const HARDENED: &str = "ESCAPEMENT_TEST_HARDENED";
const WAYS: &str = "x86_isolation,call_reply,faults,fpu,irq";
/// All tests of the fuzzer, and no others, have names that begin with this.
const FUZZ: &str = "fuzz";
/// So have those of the calls that only kernels of kind `bench` have.
const BENCHMARK: &str = "benchmark";
/// And those for which the machine must be large; with them run those of boot information.
const MACHINE: &str = "machine";
/// Names of tests that need several cores contain this,
const CORES: &str = "cores";
/// and this is the one of the fuzzer.
const FUZZ_OF_ALL_CORES: &str = "fuzz::from_all_cores";
/// The test of the log,
const LOG: &str = "log";
/// which several cores write together during these.
const BUSY: &str = "cores_history";
/// And those of which each is the run of an example system.
const SYSTEM: &str = "system";

/// One boot of a system.
#[derive(Debug)]
pub(super) struct Run<'a> {
    workspace: &'a Workspace,
    platform: &'a Platform,
    system: System,
    kernel: Kernel,
    abi: &'a [AbiOption],
    cores: Cores,
    hardening: Hardening,
    filter: String,
    /// The memory of a large machine, in MiB.
    memory: Option<u32>,
    /// Whether the run as a whole is a test: that of an example system, which prints no verdicts.
    is_example: bool,
    /// Whether the kernel's log is a test, too.
    is_logged: bool,
    arguments: &'a TestArguments,
}

/// What to boot on a platform: the suite and the fuzzer, as far as they are asked for; and parts of the
/// suite where they need a machine or a kernel of their own: a large machine, a kernel of kind `bench`,
/// the hardware debug interface; and parts of both on two cores. And all example systems.
pub(super) fn runs<'a>(
    workspace: &'a Workspace,
    platform: &'a Platform,
    arguments: &'a TestArguments,
) -> Result<Vec<Run<'a>>> {
    let filter = arguments.filter.as_deref().unwrap_or_default();
    let all = filter.is_empty();
    let run = |system| Run {
        workspace,
        platform,
        system,
        kernel: Kernel::Debug,
        abi: &arguments.abi,
        cores: arguments.cores,
        hardening: arguments.hardening.clone(),
        filter: filter.to_string(),
        memory: None,
        is_example: false,
        is_logged: false,
        arguments,
    };
    let suite = || System::target_tests(workspace).map(run);
    let [fuzz, benchmark, machine, system, log] =
        [FUZZ, BENCHMARK, MACHINE, SYSTEM, LOG].map(|name| filter.starts_with(name));
    let mut runs = Vec::new();
    if arguments.emulator == Emulator::Bochs {
        let own = bochs(platform)?.tests.join(",");
        return Ok(vec![Run {
            filter: if all { own } else { filter.to_string() },
            ..suite()?
        }]);
    }
    if !fuzz && !benchmark && !machine && !system && !log {
        runs.push(suite()?);
    }
    if all || fuzz {
        runs.push(run(System::fuzzer(workspace)?));
    }
    if all || benchmark {
        runs.push(Run {
            kernel: Kernel::Bench,
            filter: if benchmark { filter } else { BENCHMARK }.to_string(),
            ..suite()?
        });
    }
    if all && arguments.abi.is_empty() {
        runs.push(Run {
            abi: &[AbiOption::Hwdebug],
            filter: "breakpoints".to_string(),
            ..suite()?
        });
    }
    if all && platform.qemu.hardened.is_some() && !arguments.hardening.is_wanted() {
        runs.push(Run {
            hardening: Hardening::all(),
            filter: WAYS.to_string(),
            ..suite()?
        });
    }
    if (all || machine) && platform.qemu.large_memory.is_some() {
        runs.push(Run {
            filter: "boot_info".to_string(),
            memory: platform.qemu.large_memory,
            ..suite()?
        });
    }
    // What is about several cores, and what all cores do to each other.
    if all && !arguments.cores.are_several() && platform.has(Cores::TWO) {
        for (system, filter) in [
            (System::target_tests(workspace)?, CORES),
            (System::fuzzer(workspace)?, FUZZ_OF_ALL_CORES),
        ] {
            runs.push(Run {
                cores: Cores::TWO,
                filter: filter.to_string(),
                ..run(system)
            });
        }
    }
    if (all && !arguments.cores.are_several() || log) && platform.has(Cores::TWO) {
        runs.push(Run {
            cores: Cores::TWO,
            filter: BUSY.to_string(),
            is_logged: true,
            ..suite()?
        });
    }
    if all || system {
        let names = System::names(workspace).into_iter();
        for name in names.filter(|name| example(name).contains(filter)) {
            let system = System::load(workspace, &name)?;
            if system.runs_on(&platform.name) {
                runs.push(Run {
                    is_example: true,
                    ..run(system)
                });
            }
        }
    }
    Ok(runs)
}

/// What the run of an example system is called as a test.
fn example(system: &str) -> String {
    format!("{SYSTEM}::{system}")
}

impl Run<'_> {
    /// Builds the boot image.
    pub(super) fn build(&self, workspace: &Workspace, tools: &BuildTools) -> Result<Built> {
        self.system.require(self.platform)?;
        let number = |number: Option<u64>| number.unwrap_or_default().to_string();
        let seed = number(self.arguments.fuzz_seed);
        let calls = number(self.arguments.fuzz_calls);
        let trace = number(Some(self.arguments.fuzz_trace.into()));
        let memory = number(self.memory.map(u64::from));
        let attacks: Vec<_> = self.hardening.features().collect();
        let request = Request {
            platform: self.platform,
            kernel: self.kernel,
            abi: self.abi,
            cores: self.cores,
            hardening: &self.hardening,
            log: self.is_logged.then_some(LogLevel::Debug),
            root_task: RootTask::System(&self.system),
            bare: false,
            environment: &[
                (FILTER, &self.filter),
                (FUZZ_SEED, &seed),
                (FUZZ_CALLS, &calls),
                (FUZZ_TRACE, &trace),
                (MEMORY, &memory),
                (HARDENED, &attacks.join(",")),
            ],
        };
        build::build(workspace, tools, &request)
    }

    /// Boots what was built.
    pub(super) fn start(
        &self,
        built: &Built,
        supervisor: &Supervisor,
        place: Place<'_>,
    ) -> Result<Tally> {
        let platform = self.platform;
        place.say(&format!(
            "{} on {}: {}",
            self.system.name, platform.name, platform.title
        ));
        let mut output = Vec::new();
        let show = |bytes: &[u8]| {
            output.extend_from_slice(bytes);
            place.output(bytes);
        };
        let heard = Heard::default();
        let (ending, success) = match self.arguments.emulator {
            Emulator::Qemu => (
                self.on_qemu(built, supervisor, &heard, show)?,
                platform.qemu.exit.success,
            ),
            Emulator::Bochs => (self.on_bochs(&built.image, supervisor, show)?, bochs::OFF),
        };
        if !output.is_empty() && !output.ends_with(b"\n") {
            place.output(b"\n");
        }

        let end = match ending {
            Ending::Exited(status) if status.code() == Some(success) => End::Success,
            Ending::Exited(status) => End::Other(format!("the emulator ended with {status}")),
            Ending::TimedOut => {
                End::Other(format!("it was ended after {} s", self.arguments.timeout))
            }
            Ending::Interrupted => End::Other("it was interrupted".to_string()),
        };
        let tell = |name: &str, failure: Option<&str>| {
            let line = verdict(name, failure);
            place.output(format!("{line}\n").as_bytes());
            Tally::from_test(&line).unwrap_or(Tally::FAILURE)
        };
        if self.is_example {
            return Ok(tell(&example(&self.system.name), end.failure()));
        }
        let must_run = self.arguments.filter.is_none();
        let (mut tally, complaint) = judge(&String::from_utf8_lossy(&output), &end, must_run);
        if let Some(complaint) = complaint {
            place.say(&format!(
                "{}: {complaint}, which counts as a failure",
                platform.name
            ));
        }
        if self.is_logged {
            tally += tell(
                "log::frames_of_several_cores_come_whole",
                heard.complaint(self.cores.count).as_deref(),
            );
        }
        Ok(tally)
    }

    fn timeout(&self) -> Duration {
        Duration::from_secs(self.arguments.timeout)
    }

    /// Boots what was built in QEMU; `show` gets what comes from the console, `heard` what comes from the log.
    fn on_qemu(
        &self,
        built: &Built,
        supervisor: &Supervisor,
        heard: &Heard,
        mut show: impl FnMut(&[u8]) + Send,
    ) -> Result<Ending> {
        let platform = self.platform;
        let memory = self
            .memory
            .map(|memory| ["-m".into(), format!("{memory}M").into()]);
        let log = if self.is_logged {
            let (kernel, heard) = (fs::read(&built.kernel)?, heard.clone());
            let take = move |entry| heard.take(&entry);
            Some(Log::open(self.workspace, &kernel, take)?)
        } else {
            None
        };
        let socket = log.as_ref().map(Log::socket);
        let machine = Machine {
            platform,
            image: &built.image,
            cores: self.cores.count,
            hardening: &self.hardening,
            log: socket.as_deref(),
            // Virtual time that follows the instructions: a busy host disturbs no test.
            icount: !self.arguments.parallel,
            gdb: false,
            more: memory.as_ref().map_or(&[], |memory| memory),
        };
        let mut child = machine
            .command(&setup::emulator(platform)?)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", platform.qemu.binary))?;
        let mut console = child.stdout.take().context("the console is not a pipe")?;
        let ending = thread::scope(|scope| {
            scope.spawn(move || {
                let mut bytes = [0; 4096];
                while let Ok(count @ 1..) = console.read(&mut bytes) {
                    show(&bytes[..count]);
                }
            });
            supervisor.wait(&mut child, Some(self.timeout()))
        })?;
        if let Some(log) = log {
            log.close();
        }
        Ok(ending)
    }

    /// The same in Bochs.
    fn on_bochs(
        &self,
        image: &Path,
        supervisor: &Supervisor,
        show: impl FnMut(&[u8]) + Send,
    ) -> Result<Ending> {
        let platform = self.platform;
        let bochs = bochs(platform)?;
        let folder = self.workspace.target().join(&platform.name).join("bochs");
        bochs::run(bochs, &folder, image, supervisor, self.timeout(), show)
    }
}

/// How Bochs plays `platform`.
fn bochs(platform: &Platform) -> Result<&Bochs> {
    let name = &platform.name;
    let bochs = platform.bochs.as_ref();
    bochs.with_context(|| format!("Bochs does not play {name}"))
}

/// How a run came to its end.
#[derive(Debug)]
enum End {
    Success,
    Other(String),
}

impl End {
    /// What was wrong with it.
    fn failure(&self) -> Option<&str> {
        match self {
            Self::Success => None,
            Self::Other(how) => Some(how),
        }
    }
}

/// What is printed of a run that as a whole is a test.
fn verdict(name: &str, failure: Option<&str>) -> String {
    match failure {
        None => format!("test {name} ... ok"),
        Some(how) => format!("test {name} ... FAILED: {how}"),
    }
}

/// The tally of a run that printed `output`, and what else was wrong with it.
fn judge(output: &str, end: &End, must_run: bool) -> (Tally, Option<String>) {
    let lines = || output.lines().map(str::trim_end);
    let counted: Tally = lines().filter_map(Tally::from_test).sum();
    let summary = lines().filter_map(Tally::from_summary).next_back();
    let complaint = match (summary, end) {
        (None, End::Other(how)) => Some(format!("the run ended without its summary: {how}")),
        (None, End::Success) => Some("the run ended without its summary".to_string()),
        (Some(summary), _) if summary != counted => Some(format!(
            "the summary says {summary}, but the lines say {counted}"
        )),
        (Some(_), End::Other(how)) if counted.failed == 0 => Some(format!(
            "all tests passed, but the run did not end in success: {how}"
        )),
        (Some(_), _) if counted == Tally::default() && must_run => Some("no test ran".to_string()),
        _ => None,
    };
    let mut tally = counted;
    if complaint.is_some() {
        tally += Tally::FAILURE;
    }
    (tally, complaint)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "boot\r\ntest a ... ok\r\ntest b ... ok\r\n2 passed, 0 failed\r\n";
    const BAD: &str = "test a ... ok\ntest b ... FAILED: it is 3\n1 passed, 1 failed\n";

    fn dead() -> End {
        End::Other("it was ended after 600 s".to_string())
    }

    #[test]
    fn a_good_run_is_a_success() {
        let (tally, complaint) = judge(GOOD, &End::Success, true);
        assert_eq!(
            (tally, complaint),
            (
                Tally {
                    passed: 2,
                    failed: 0
                },
                None
            )
        );
    }

    #[test]
    fn a_failed_test_is_counted_once() {
        let (tally, complaint) = judge(BAD, &dead(), true);
        assert_eq!(
            (tally, complaint),
            (
                Tally {
                    passed: 1,
                    failed: 1
                },
                None
            )
        );
    }

    #[test]
    fn a_run_that_dies_is_a_failure() {
        let (tally, complaint) = judge("test a ... ok\ntest b ... ", &dead(), true);
        assert_eq!(
            tally,
            Tally {
                passed: 1,
                failed: 1
            }
        );
        assert_eq!(
            complaint.unwrap(),
            "the run ended without its summary: it was ended after 600 s"
        );
        assert_eq!(judge("", &End::Success, true).0, Tally::FAILURE);
    }

    #[test]
    fn a_clean_summary_does_not_hide_a_bad_end() {
        assert_eq!(
            judge(GOOD, &dead(), true).0,
            Tally {
                passed: 2,
                failed: 1
            }
        );
    }

    #[test]
    fn a_summary_must_agree_with_the_lines() {
        let (tally, complaint) = judge("test a ... ok\n2 passed, 0 failed\n", &End::Success, true);
        assert_eq!(
            tally,
            Tally {
                passed: 1,
                failed: 1
            }
        );
        assert!(
            complaint
                .unwrap()
                .contains("but the lines say 1 passed, 0 failed")
        );
    }

    #[test]
    fn an_example_is_one_test() {
        let tally = |end: End| Tally::from_test(&verdict("demo", end.failure())).unwrap();
        let [passed, failed] = [tally(End::Success), tally(dead())];
        assert_eq!((passed.passed, passed.failed), (1, 0));
        assert_eq!(failed, Tally::FAILURE);
    }

    #[test]
    fn no_tests_fail_unless_a_filter_asked_for_it() {
        assert_eq!(
            judge("0 passed, 0 failed\n", &End::Success, true).0,
            Tally::FAILURE
        );
        assert_eq!(
            judge("0 passed, 0 failed\n", &End::Success, false).0,
            Tally::default()
        );
    }
}
