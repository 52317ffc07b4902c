//! Running the benchmarks on one platform.

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::{Map, json};

use super::measurement::Measurement;
use crate::Result;
use crate::build::{self, Built, Request, RootTask};
use crate::cli::{BenchArguments, Kernel};
use crate::platform::Platform;
use crate::qemu::{Ending, Machine, Supervisor};
use crate::setup::{self, BuildTools};
use crate::sizes::Sizes;
use crate::system::System;
use crate::ui::{Step, say};
use crate::workspace::Workspace;

/// Tells the benchmarks' compilation which are wanted; empty for all.
const FILTER: &str = "ESCAPEMENT_BENCH_FILTER";

/// What one platform's benchmarks need.
#[derive(Clone, Copy)]
pub(super) struct Bench<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) tools: &'a BuildTools,
    pub(super) platform: &'a Platform,
    pub(super) supervisor: &'a Supervisor,
    pub(super) arguments: &'a BenchArguments,
}

impl Bench<'_> {
    /// Builds and runs the benchmarks.
    pub(super) fn measure(&self) -> Result<Vec<Measurement>> {
        let filter = self.arguments.suite.as_deref().unwrap_or_default();
        let built = self.build(filter)?;
        let counted = if self.arguments.kvm {
            "cycles"
        } else {
            "instructions"
        };
        let output = self.run(&built, &[])?;
        let mut measurements = Vec::new();
        for line in output.lines() {
            measurements.extend(Measurement::from_guest(line.trim_end(), counted)?);
        }
        if self.arguments.suite.is_none() {
            measurements.extend(sizes(&built)?);
        }
        if measurements.is_empty() {
            bail!("no benchmark is called `{filter}`");
        }
        Ok(measurements)
    }

    fn build(&self, filter: &str) -> Result<Built> {
        let system = System::benches(self.workspace)?;
        system.require(self.platform)?;
        let request = Request {
            platform: self.platform,
            kernel: Kernel::Bench,
            abi: &[],
            log: None,
            root_task: RootTask::System(&system),
            environment: &[(FILTER, filter)],
        };
        build::build(self.workspace, self.tools, &request)
    }

    /// Runs a boot image to its good end; what it printed.
    fn run(&self, built: &Built, more: &[OsString]) -> Result<String> {
        let mut more = more.to_vec();
        if self.arguments.kvm {
            say(
                "on this computer's own processor: cycles, which caches, interrupts and other programs disturb",
            );
            more.extend(["-accel", "kvm", "-cpu", "host"].map(Into::into));
        }
        let machine = Machine {
            platform: self.platform,
            image: &built.image,
            log: None,
            icount: !self.arguments.kvm,
            gdb: false,
            more: &more,
        };
        let emulator = setup::emulator(self.platform)?;
        let _step = Step::begin(&format!("measuring on {}", self.platform.name));
        let mut child = machine
            .command(&emulator)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", emulator.display()))?;
        let mut console = child.stdout.take().context("the console is not a pipe")?;
        let reader = thread::spawn(move || {
            let mut output = Vec::new();
            let _ = console.read_to_end(&mut output);
            String::from_utf8_lossy(&output).into_owned()
        });
        let timeout = Duration::from_secs(self.arguments.timeout);
        let ending = self.supervisor.wait(&mut child, Some(timeout))?;
        let output = reader.join().unwrap_or_default();
        match ending {
            Ending::Exited(status) if status.code() == Some(self.platform.qemu.exit.success) => {
                Ok(output)
            }
            Ending::Interrupted => bail!("it was interrupted"),
            Ending::TimedOut => bail!(
                "it was ended after {timeout:?}; its last words were:\n{}",
                tail(&output)
            ),
            Ending::Exited(status) => bail!(
                "QEMU ended with {status}; the last words were:\n{}",
                tail(&output)
            ),
        }
    }
}

/// The last lines of `text`.
fn tail(text: &str) -> &str {
    let start = text
        .trim_end()
        .rmatch_indices('\n')
        .nth(4)
        .map_or(0, |(at, _)| at + 1);
    text[start..].trim_end()
}

/// The size of the kernel.
fn sizes(built: &Built) -> Result<Vec<Measurement>> {
    let Sizes { text, data, bss } = Sizes::of(&fs::read(&built.kernel)?)?;
    [("text", text), ("data", data), ("zeros", bss)]
        .into_iter()
        .map(|(section, bytes)| {
            let parameters = Map::from_iter([("section".to_string(), json!(section))]);
            #[expect(clippy::cast_precision_loss, reason = "no kernel is that large")]
            Measurement::new("size", "kernel", parameters, "bytes", &[bytes as f64])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_the_last_lines() {
        assert_eq!(tail("a\nb\n"), "a\nb");
        assert_eq!(tail("0\n1\n2\n3\n4\n5\n6\n"), "2\n3\n4\n5\n6");
    }
}
