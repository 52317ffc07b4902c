//! Running the benchmarks on one platform.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use anyhow::bail;
use serde_json::{Map, Value, json};

use super::TIMEOUT;
use super::boot;
use super::delay::{self, Observation, Observer};
use super::measurement::Measurement;
use super::profile::{self, Runs, Trace};
use super::{scaling, speed};
use crate::Result;
use crate::archive::FILTER;
use crate::build::{self, Built, Request, RootTask, UserProfile};
use crate::cli::{BenchArguments, Cores, Kernel, Tracing};
use crate::platform::Platform;
use crate::qemu::{Ending, Machine, Supervisor};
use crate::setup::{self, BuildTools};
use crate::sizes::{self, Sizes};
use crate::system::System;
use crate::ui::{Step, say};
use crate::workspace::Workspace;

/// The root task's parameter that selects the variant of each benchmark; empty for all.
const VARIANT: &str = "variant";
/// The parameter with the maximum number of attackers; empty for the benchmarks' own.
const ATTACKERS: &str = "attackers";

/// The benchmarks of kernels of kind `small`: all but the suites about what these lack, and the long ones.
const OF_SMALL: &str = "!criticality,delay,edf,mcipc,threshold";

/// The suite with messages that are also measured in a kernel without thresholds.
const THRESHOLD: &str = "threshold";
/// The value of their parameter `threshold` there.
const ABSENT: &str = "absent";

/// The kernel's variable with the state of the cores, by the names that it has on the architectures. In kernels for one core
/// it is the state of that one.
const STATE: [&str; 2] = ["kernel_state", "KERNELS"];

/// The parameters of one platform's benchmarks.
#[derive(Clone, Copy)]
pub(super) struct Bench<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) tools: &'a BuildTools,
    pub(super) platform: &'a Platform,
    pub(super) supervisor: &'a Supervisor,
    pub(super) arguments: &'a BenchArguments,
    /// The machine's cores, which can differ from those of the arguments.
    pub(super) cores: Cores,
    /// The unit of virtual time.
    pub(super) counted: Counted,
    /// The trace events that the kernel writes, if any.
    pub(super) tracing: Option<&'a Tracing>,
    /// A file for the machine's RAM, in which the events are.
    pub(super) ram: Option<&'a Path>,
}

/// The unit that the guest's counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    /// Instructions; several cores run in turn on one thread of the host.
    Instructions,
    /// Host time, with a thread for each core.
    Ticks,
    /// Cycles of this computer's processor.
    Cycles,
}

impl Counted {
    /// The name of the unit.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Ticks => "ticks",
            Self::Cycles => "cycles",
        }
    }
}

/// Whether a measurement needs a kernel of its own, without thresholds.
pub(super) fn is_without_thresholds(one: &Measurement) -> bool {
    one.suite == THRESHOLD && one.parameters["threshold"] == json!(ABSENT)
}

impl<'a> Bench<'a> {
    /// Counts instructions in kernels without trace events.
    pub(super) fn new(
        workspace: &'a Workspace,
        tools: &'a BuildTools,
        platform: &'a Platform,
        supervisor: &'a Supervisor,
        arguments: &'a BenchArguments,
    ) -> Self {
        Self {
            workspace,
            tools,
            platform,
            supervisor,
            arguments,
            cores: arguments.cores,
            counted: Counted::Instructions,
            tracing: None,
            ram: None,
        }
    }
}

impl Bench<'_> {
    /// Builds and runs the benchmarks.
    pub(super) fn measure(&self) -> Result<Vec<Measurement>> {
        if self.arguments.tracing {
            return self.measure_tracing();
        }
        if let Some(suite) = scaling::wanted(self.filter()) {
            return scaling::measure(self, suite);
        }
        if self.arguments.measures_sizes() {
            return self.measure_with_sizes(true);
        }
        let mut measurements = self.observe(&self.build()?)?.0;
        self.measure_absent(&mut measurements)?;
        Ok(measurements)
    }

    /// If the suite `threshold` was measured, adds the cost of its messages in a kernel without thresholds.
    fn measure_absent(&self, measurements: &mut Vec<Measurement>) -> Result<()> {
        let is_off = |one: &Measurement| {
            one.suite == THRESHOLD && one.parameters["threshold"] == json!("off")
        };
        let Some(place) = measurements.iter().position(is_off) else {
            return Ok(());
        };
        let built = self.build_with(true, "threshold/call", UserProfile::Shipped)?;
        let mut absent = self.observe(&built)?.0;
        absent.retain(is_off);
        for one in &mut absent {
            let name = "threshold".to_string();
            one.parameters.insert(name, json!(ABSENT));
        }
        measurements.splice(place..place, absent);
        Ok(())
    }

    /// Builds and runs the benchmarks, and adds the size of the kernel; with what needs a further kernel only if
    /// `complete`.
    pub(super) fn measure_with_sizes(&self, complete: bool) -> Result<Vec<Measurement>> {
        let built = self.build()?;
        let mut measurements = self.observe(&built)?.0;
        measurements.extend(sizes(&built)?);
        if complete {
            self.measure_absent(&mut measurements)?;
        }
        Ok(measurements)
    }

    /// Runs the benchmarks; the plugin observes the suite `delay`. Returns the measurements, and the
    /// observations for each measurement of that suite.
    pub(super) fn observe(&self, built: &Built) -> Result<(Vec<Measurement>, Vec<Observation>)> {
        if self.arguments.kvm {
            let (mut measurements, _) = self.run(built, None, None)?;
            measurements.retain(|one| one.suite != delay::SUITE);
            return Ok((measurements, Vec::new()));
        }
        let observer = Observer::prepare(self, built)?;
        let (measurements, _) = self.run(built, None, Some(&observer))?;
        let (mut measurements, observations) = observer.complete(measurements)?;
        if self.cores.count == 1 && !self.arguments.hardening.is_wanted() {
            measurements.push(boot::measurement(&observer.written()?)?);
        }
        // Their circumstances may not come again.
        profile::say_too_long(self, built, &measurements, &observations);
        Ok((measurements, observations))
    }

    /// Builds the benchmarks.
    pub(super) fn build(&self) -> Result<Built> {
        self.build_with(false, self.filter(), UserProfile::Shipped)
    }

    /// Builds the benchmarks selected by `filter`, with a kernel without default features if `bare`.
    pub(super) fn build_with(
        &self,
        bare: bool,
        filter: &str,
        user_profile: UserProfile,
    ) -> Result<Built> {
        let system = System::benches(self.workspace)?;
        system.require(self.platform)?;
        fn number(number: Option<impl ToString>) -> String {
            number.map_or_else(String::new, |number| number.to_string())
        }
        let request = Request {
            platform: self.platform,
            kernel: match self.arguments.small {
                true => Kernel::SmallBench,
                false => Kernel::Bench,
            },
            abi: &[],
            cores: self.cores,
            hardening: &self.arguments.hardening,
            log: None,
            tracing: self.tracing,
            root_task: RootTask::System(&system),
            loaded: false,
            bare,
            user_profile,
            variables: false,
            environment: &[],
            features: &[],
            parameters: &[
                (FILTER, filter),
                (VARIANT, &number(self.arguments.variant)),
                (ATTACKERS, &number(self.arguments.attackers)),
            ],
        };
        build::build(self.workspace, self.tools, &request)
    }

    pub(super) fn filter(&self) -> &str {
        let all = if self.arguments.small { OF_SMALL } else { "" };
        self.arguments.suite.as_deref().unwrap_or(all)
    }

    /// Runs the benchmarks to their successful end; returns the measurements, and the paths through the
    /// kernel if there is a trace.
    pub(super) fn run(
        &self,
        built: &Built,
        trace: Option<Trace>,
        observer: Option<&Observer>,
    ) -> Result<(Vec<Measurement>, Runs)> {
        let emulator = setup::emulator(self.platform)?;
        let _step = Step::begin(&format!("measuring on {}", self.platform.name));
        let mut more = trace.as_ref().map_or(Vec::new(), Trace::arguments);
        more.extend(observer.iter().flat_map(|observer| observer.arguments()));
        if self.counted == Counted::Cycles {
            say(
                "on this computer's own processor: cycles, which caches, interrupts and other \
                 programs disturb",
            );
            more.extend(["-accel", "kvm", "-cpu", "host"].map(Into::into));
        }
        let machine = Machine {
            platform: self.platform,
            image: Some(&built.image),
            memory: None,
            cores: self.cores.count,
            hardening: &self.arguments.hardening,
            log: None,
            ram: self.ram,
            icount: self.counted == Counted::Instructions,
            gdb: false,
            more: &more,
        };
        let mut command = machine.command(&emulator);
        command.stdin(Stdio::null());
        if trace.is_some() {
            command.stderr(Stdio::piped());
        }
        let (mut child, _processor) = machine.start(&mut command)?;
        if let Some(trace) = &trace
            && let Err(error) = trace.begin()
        {
            // The emulator waits for a debugger that does not connect.
            let _ = child.kill();
            let _ = child.wait();
            return Err(error);
        }
        let tracer = trace
            .zip(child.stderr.take())
            .map(|(trace, lines)| thread::spawn(move || trace.read(lines)));
        let timeout = Duration::from_secs(self.arguments.timeout.unwrap_or(TIMEOUT));
        let mut output = Vec::new();
        let read = |bytes: &[u8]| output.extend_from_slice(bytes);
        let ending = self.supervisor.watch(&mut child, Some(timeout), read)?;
        let output = String::from_utf8_lossy(&output);
        let runs = tracer
            .and_then(|tracer| tracer.join().ok())
            .unwrap_or_default();
        let end = match ending {
            Ending::Exited(status) if status.code() == Some(self.platform.qemu.exit.success) => {
                return Ok((self.read(&output)?, runs));
            }
            Ending::Exited(status) => format!("QEMU ended with {status}"),
            Ending::TimedOut => format!("it was ended after {timeout:?}"),
            Ending::Interrupted => bail!("it was interrupted"),
        };
        bail!("{end}; the last words were:\n{}", tail(&output))
    }

    /// The results in the benchmarks' output.
    fn read(&self, output: &str) -> Result<Vec<Measurement>> {
        let mut measurements = Vec::new();
        for line in output.lines() {
            measurements.extend(Measurement::from_guest(
                line.trim_end(),
                self.counted.name(),
            )?);
        }
        if measurements.is_empty() {
            bail!("no benchmark is called `{}`", self.filter());
        }
        Ok(measurements)
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

/// The size of the kernel, and of the state of a core in it.
fn sizes(built: &Built) -> Result<Vec<Measurement>> {
    let kernel = fs::read(&built.kernel)?;
    let Sizes { text, data, bss } = Sizes::of(&kernel)?;
    let sections = [("text", text), ("data", data), ("zeros", bss)].map(|(section, bytes)| {
        let parameters = Map::from_iter([("section".to_string(), json!(section))]);
        size("kernel", parameters, bytes)
    });
    let state = sizes::of_variable(&kernel, &STATE)?;
    let state = size(speed::PER_CORE, Map::new(), state);
    sections.into_iter().chain([state]).collect()
}

fn size(operation: &str, parameters: Map<String, Value>, bytes: u64) -> Result<Measurement> {
    #[expect(clippy::cast_precision_loss, reason = "no kernel is that large")]
    Measurement::new("size", operation, parameters, "bytes", &[bytes as f64])
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
