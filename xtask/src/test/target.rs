//! Tests on the target: ordinary systems with root tasks that print a line for each test and a summary at the
//! end. Only printed results count: a run that ends unexpectedly is a failure.

mod trace;

use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context;

use super::Session;
use super::busy::Busy;
use super::heard::Heard;
use super::plan;
use super::screen::Place;
use super::tally::Tally;
use super::typist::Typist;
use super::verdict::{End, judge, verdict};
use crate::archive::FILTER;
use crate::build::{self, Built, Request, RootTask, UserProfile};
use crate::cli::{
    AbiOption, Cores, Emulator, Hardening, Keep, Kernel, LogLevel, TestArguments, Tracing,
};
use crate::log::Log;
use crate::platform::{Bochs, Platform};
use crate::post_mortem::PostMortems;
use crate::qemu::{Ending, Machine, REAL_TIME, Supervisor, escaped};
use crate::setup::{self, BuildTools};
use crate::system::System;
use crate::temporary;
use crate::workspace::Workspace;
use crate::{Result, bochs};
use trace::Collected;

/// The parameters with the fuzzer's seed and number of calls in thousands, empty for its own, the divisor of its own
/// number of calls, and whether it prints every call.
const FUZZ_SEED: &str = "seed";
const FUZZ_CALLS: &str = "calls";
const FUZZ_DIVISOR: &str = "divisor";
const FUZZ_TRACE: &str = "trace";
/// The date with which virtual time begins in examples, so that no run depends on the day: soon a leap day begins.
const DATE: &str = "base=2028-02-28T23:59:50,clock=vm";
/// The parameter with the attacks against which the kernel is hardened.
const HARDENED: &str = "hardened";
/// The parameter that is not empty if time is the host's.
const HOST_TIME: &str = "real-time";
/// The parameter with the memory of a large machine in MiB, and the feature with which the tests' program is large.
const MEMORY: &str = "memory";
const LARGE: &str = "kernel-target/large";
const SUITE: &str = "kernel-target";
/// The feature with which they are chosen. Without one, cargo would compile all of them again after each change of the
/// variable, also where all are wanted.
const PART: &str = "kernel-target-component/part";
/// The variable with the files of tests that are compiled.
const FILES: &str = "ESCAPEMENT_TEST_FILES";

/// One boot of a system.
#[derive(Debug)]
pub(super) struct Run<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) platform: &'a Platform,
    pub(super) system: System,
    pub(super) kernel: Kernel,
    pub(super) abi: Vec<AbiOption>,
    pub(super) cores: Cores,
    pub(super) hardening: Hardening,
    pub(super) filter: String,
    /// The files of tests that are compiled, by a part of their names, separated by commas; all if it is empty.
    pub(super) files: String,
    /// The memory of a large machine, in MiB.
    pub(super) memory: Option<u32>,
    /// The other machine on which it runs: its name, and QEMU's arguments for it.
    pub(super) variant: Option<(&'a str, &'a [String])>,
    /// What the fuzzer's campaigns divide their own numbers of calls by.
    pub(super) fuzz_divisor: Option<u64>,
    /// Whether the platform's loader enters the kernel.
    pub(super) is_loaded: bool,
    /// Whether the run as a whole is a test: that of an example system, which prints no verdicts.
    pub(super) is_example: bool,
    /// Whether the kernel's log is a test, too.
    pub(super) is_logged: bool,
    /// Whether the kernel writes trace events. They are checked unless the system itself reads them.
    pub(super) is_traced: bool,
    /// Which of these events it keeps.
    pub(super) keep: Keep,
    /// Whether time is the host's, and the host is kept busy.
    pub(super) is_stress: bool,
    pub(super) arguments: &'a TestArguments,
}

impl Run<'_> {
    /// A label that is unique among all runs.
    pub(super) fn label(&self) -> String {
        let mut label = format!("{}: {}", self.platform.name, self.system.name);
        let mut add = |part: &str| {
            label.push_str(", ");
            label.push_str(part);
        };
        if self.kernel != Kernel::Debug {
            add(self.kernel.name());
        }
        for option in &self.abi {
            add(option.feature());
        }
        for feature in self.hardening.features() {
            add(feature);
        }
        if self.cores.are_several() {
            add(&format!("{} cores", self.cores.count));
        }
        if let Some(memory) = self.memory {
            add(&format!("{memory} MiB"));
        }
        if let Some((variant, _)) = self.variant {
            add(variant);
        }
        if self.is_loaded {
            add("loaded");
        }
        if self.is_logged {
            add("logged");
        }
        if self.is_traced {
            add("traced");
        }
        if self.keep != Keep::default() {
            add(self.keep.name());
        }
        if self.is_stress {
            add("the host's time");
        }
        if !self.filter.is_empty() {
            add(&self.filter);
        }
        label
    }

    /// Builds the boot image.
    pub(super) fn build(&self, workspace: &Workspace, tools: &BuildTools) -> Result<Built> {
        self.system.require(self.platform)?;
        let number =
            |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
        let seed = number(self.arguments.fuzz_seed);
        let calls = number(self.arguments.fuzz_calls);
        let divisor = number(self.fuzz_divisor);
        let trace = number(Some(self.arguments.fuzz_trace.into()));
        let memory = number(self.memory.map(u64::from));
        let attacks: Vec<_> = self.hardening.features().collect();
        let is_real_time = !self.is_virtual();
        // An example's programs are compiled for it.
        let real_time = (self.is_example && is_real_time).then_some(REAL_TIME);
        let environment: Vec<_> = [(FILES, &*self.files)]
            .into_iter()
            .chain(real_time)
            .collect();
        let is_large = self.memory.is_some() && self.system.root == SUITE;
        let features = [(is_large, LARGE), (!self.files.is_empty(), PART)];
        let features = features.iter().filter(|(wanted, _)| *wanted);
        let features: Vec<_> = features.map(|(_, feature)| *feature).collect();
        let tracing = Tracing {
            keep: self.keep,
            // Where no marks are looked at, nothing is compiled again for them.
            is_unmarked: self.is_example
                && !self.platform.is_sample()
                && self.system.name != plan::TRACED,
            ..Tracing::default()
        };
        let request = Request {
            platform: self.platform,
            kernel: self.kernel,
            abi: &self.abi,
            cores: self.cores,
            hardening: &self.hardening,
            log: self.is_logged.then_some(LogLevel::Debug),
            tracing: self.is_traced.then_some(&tracing),
            root_task: RootTask::System(&self.system),
            loaded: self.is_loaded,
            bare: false,
            user_profile: UserProfile::Tests,
            variables: false,
            environment: &environment,
            features: &features,
            parameters: &[
                (FILTER, &self.filter),
                (MEMORY, &memory),
                (FUZZ_SEED, &seed),
                (FUZZ_CALLS, &calls),
                (FUZZ_DIVISOR, &divisor),
                (FUZZ_TRACE, &trace),
                (HARDENED, &attacks.join(",")),
                (HOST_TIME, if is_real_time { "yes" } else { "" }),
            ],
        };
        build::build(workspace, tools, &request)
    }

    /// Boots what was built.
    pub(super) fn start(
        &self,
        built: &Built,
        session: &Session<'_>,
        place: Place<'_>,
    ) -> Result<Tally> {
        let (platform, supervisor) = (self.platform, session.supervisor);
        place.say(&format!("{} ({})", self.label(), platform.title));
        let mut output = Vec::new();
        let mut post_mortems = PostMortems::of(self.workspace, built, session.symbolizer.clone());
        let show = |bytes: &[u8]| {
            let bytes = post_mortems.add(bytes);
            output.extend_from_slice(&bytes);
            place.output(&bytes);
        };
        let heard = Heard::default();
        let failure = platform.qemu.exit.failure;
        let ram = match self.is_traced {
            true => Some(temporary::File::new_in(self.workspace.target())?),
            false => None,
        };
        let ram = ram.as_ref().map(|file| file.path());
        let collected = match ram.filter(|_| self.keep != Keep::Stream) {
            Some(ram) => Some(Collected::begin(self, ram)?),
            None => None,
        };
        let (ending, success) = match self.arguments.emulator {
            Emulator::Qemu => (
                self.on_qemu(built, supervisor, &heard, ram, show)?,
                platform.qemu.exit.success,
            ),
            Emulator::Bochs => (self.on_bochs(&built.image, supervisor, show)?, bochs::OFF),
        };
        if !output.is_empty() && !output.ends_with(b"\n") {
            place.output(b"\n");
        }

        let succeeded = match &ending {
            Ending::Exited(status) if status.code() == Some(success) => Some(true),
            Ending::Exited(status) if status.code() == Some(failure) => Some(false),
            _ => None,
        };
        let end = match (ending, succeeded) {
            (Ending::Exited(_), Some(succeeded)) if self.is_example => {
                let words = String::from_utf8_lossy(&output);
                let complaint = self.system.complaint(succeeded, &words);
                complaint.map_or(End::Success, End::Other)
            }
            (Ending::Exited(_), Some(true)) => End::Success,
            (Ending::Exited(status), _) => End::Other(format!("the emulator ended with {status}")),
            (Ending::TimedOut, _) => {
                End::Other(format!("it was ended after {} s", self.arguments.timeout))
            }
            (Ending::Interrupted, _) => End::Other("it was interrupted".to_string()),
        };
        let tell = |name: &str, failure: Option<&str>| {
            let line = verdict(name, failure);
            place.output(format!("{line}\n").as_bytes());
            Tally::from_test(&line).unwrap_or(Tally::FAILURE)
        };
        let mut tally = if self.is_example {
            let name = match self.is_stress {
                true => plan::stressed(&self.system.name),
                false => plan::example(&self.system.name),
            };
            tell(&name, end.failure())
        } else {
            let must_run = self.arguments.filter.is_none();
            let (tally, complaint) = judge(&String::from_utf8_lossy(&output), &end, must_run);
            if let Some(complaint) = complaint {
                place.say(&format!(
                    "{}: {complaint}, which counts as a failure",
                    platform.name
                ));
            }
            tally
        };
        if self.is_logged {
            tally += tell(
                "log::frames_of_several_cores_come_whole",
                heard.complaint(self.cores.count).as_deref(),
            );
        }
        if let Some(collected) = collected {
            let (of_trace, kept) = collected.judge(self, tally.failed > 0, tell)?;
            tally += of_trace;
            if let Some(words) = kept {
                place.say(&format!("{}: {words}", platform.name));
            }
        }
        Ok(tally)
    }

    /// Whether time is the number of executed instructions, so that a busy host affects no test.
    fn is_virtual(&self) -> bool {
        !self.arguments.parallel && !self.is_stress
    }

    fn timeout(&self) -> Duration {
        Duration::from_secs(self.arguments.timeout)
    }

    /// Boots the image in QEMU; `show` gets the console's output, `heard` the log.
    fn on_qemu(
        &self,
        built: &Built,
        supervisor: &Supervisor,
        heard: &Heard,
        ram: Option<&Path>,
        mut show: impl FnMut(&[u8]) + Send,
    ) -> Result<Ending> {
        let platform = self.platform;
        let mut more: Vec<OsString> = Vec::new();
        if self.is_example && self.is_virtual() {
            more.extend(["-rtc".into(), DATE.into()]);
        }
        if let Some((_, arguments)) = self.variant {
            more.extend(arguments.iter().map(OsString::from));
        }
        let log = match &built.log_decoder {
            Some(decoder) => {
                let heard = heard.clone();
                let take = move |entry| heard.take(&entry);
                Some(Log::open(self.workspace, decoder, &built.kernel, take)?)
            }
            None => None,
        };
        let socket = log.as_ref().map(Log::socket);
        if let Some(loader) = platform.loader.as_ref().filter(|_| self.is_loaded) {
            more.extend(loader.arguments.iter().map(OsString::from));
            // Cores that a kernel for one leaves where they are.
            if !self.cores.are_several() {
                more.extend(["-smp".into(), "4".into()]);
            }
        }
        if let Some(module) = &built.module {
            more.extend(["-initrd".into(), escaped(module)]);
        }
        let machine = Machine {
            platform,
            image: Some(&built.image),
            memory: self.memory,
            cores: self.cores.count,
            hardening: &self.hardening,
            log: socket.as_deref(),
            ram,
            icount: self.is_virtual(),
            gdb: false,
            more: &more,
        };
        let _busy = self.is_stress.then(Busy::begin);
        let mut command = machine.command(&setup::emulator(platform)?);
        let typed = &self.system.types;
        let input = match typed.is_empty() {
            true => Stdio::null(),
            false => Stdio::piped(),
        };
        let (mut child, _processor) = machine.start(command.stdin(input))?;
        let mut typist = Typist::new(typed, child.stdin.take());
        let ending = supervisor.watch(&mut child, Some(self.timeout()), |bytes| {
            show(bytes);
            typist.see(bytes);
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

/// The description of `platform` for Bochs.
pub(super) fn bochs(platform: &Platform) -> Result<&Bochs> {
    let name = &platform.name;
    let bochs = platform.bochs.as_ref();
    bochs.with_context(|| format!("Bochs does not emulate {name}; leave out --emulator"))
}
