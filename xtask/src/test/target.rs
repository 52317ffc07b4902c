//! Tests on the target: a system like any other, whose root task prints a line
//! for each test and a summary at its end. This side believes nothing that the
//! guest did not print: a run that dies is a failure.

use std::io::Read;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use anyhow::Context;

use super::screen::Place;
use super::tally::Tally;
use crate::Result;
use crate::build::{self, Built, Request, RootTask};
use crate::cli::{Kernel, TestArguments};
use crate::platform::Platform;
use crate::qemu::{Ending, Machine, Supervisor};
use crate::setup::{self, BuildTools};
use crate::system::System;
use crate::workspace::Workspace;

/// Tells the tests' compilation which tests are wanted; empty for all.
const FILTER: &str = "ESCAPEMENT_TEST_FILTER";

/// Builds the tests for `platform`.
pub(super) fn build(
    workspace: &Workspace,
    tools: &BuildTools,
    platform: &Platform,
    arguments: &TestArguments,
) -> Result<Built> {
    let system = System::target_tests(workspace)?;
    system.require(platform)?;
    let filter = arguments.filter.as_deref().unwrap_or_default();
    let request = Request {
        platform,
        kernel: Kernel::Debug,
        abi: &arguments.abi,
        log: None,
        root_task: RootTask::System(&system),
        environment: &[(FILTER, filter)],
    };
    build::build(workspace, tools, &request)
}

/// Runs the tests that were built for `platform`.
pub(super) fn run(
    platform: &Platform,
    built: &Built,
    arguments: &TestArguments,
    supervisor: &Supervisor,
    place: Place<'_>,
) -> Result<Tally> {
    let machine = Machine {
        platform,
        image: &built.image,
        log: None,
        // Virtual time that follows the instructions: a busy host disturbs no test.
        icount: true,
        gdb: false,
        more: &[],
    };
    place.say(&format!("testing on {}: {}", platform.name, platform.title));
    let mut child = machine
        .command(&setup::emulator(platform)?)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {}", platform.qemu.binary))?;
    let mut console = child.stdout.take().context("the console is not a pipe")?;
    let (ending, output) = thread::scope(|scope| {
        let reader = scope.spawn(|| show_and_keep(&mut console, &place));
        let timeout = Duration::from_secs(arguments.timeout);
        let ending = supervisor.wait(&mut child, Some(timeout));
        (ending, reader.join().unwrap_or_default())
    });
    if !output.is_empty() && !output.ends_with(b"\n") {
        place.output(b"\n");
    }

    let success = platform.qemu.exit.success;
    let end = match ending? {
        Ending::Exited(status) if status.code() == Some(success) => End::Success,
        Ending::Exited(status) => End::Other(format!("QEMU ended with {status}")),
        Ending::TimedOut => End::Other(format!("it was ended after {} s", arguments.timeout)),
        Ending::Interrupted => End::Other("it was interrupted".to_string()),
    };
    let must_run = arguments.filter.is_none();
    let (tally, complaint) = judge(&String::from_utf8_lossy(&output), &end, must_run);
    if let Some(complaint) = complaint {
        place.say(&format!(
            "{}: {complaint}, which counts as a failure",
            platform.name
        ));
    }
    Ok(tally)
}

/// Shows what comes from the guest at once, and returns all of it.
fn show_and_keep(console: &mut impl Read, place: &Place<'_>) -> Vec<u8> {
    let mut output = Vec::new();
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = console.read(&mut bytes) {
        output.extend_from_slice(&bytes[..count]);
        place.output(&bytes[..count]);
    }
    output
}

/// How a run came to its end.
#[derive(Debug)]
enum End {
    Success,
    Other(String),
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
