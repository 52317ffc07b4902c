//! The emulator's plugin: its build, its arguments, and its output.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use object::{Object, ObjectSymbol};

use super::record::{self, Observation};
use super::{DELAY, INTERRUPTS_OFF, SUITE, WAITING, cores_of};
use crate::Result;
use crate::bench::measurement::Measurement;
use crate::bench::run::Bench;
use crate::build::Built;
use crate::image::elf::{Executable, Machine};
use crate::temporary;
use crate::ui::Step;
use crate::{cargo, programs, setup};

/// The plugin's crate, and its build profile.
const CRATE: &str = "emulator-plugin";
const PROFILE: &str = "host";
/// The variable that gives its compilation the version of the emulator's plugin interface.
const VERSION: &str = "EMULATOR_PLUGIN_VERSION";
/// The kernel's function that checks for pending interrupts.
const LOOK: &str = "is_interrupt_pending";
/// The kernel's functions that stop an operation at a preemption point; the second one is part of a fast path, which not
/// all kernels have.
const STOPS: [&str; 2] = ["stop_call", "stop_invocation"];

/// The exception vectors of cores on which they cannot be moved: users never have these addresses.
const HIGH_VECTORS: (u64, u64) = (0xffff_0000, 0xffff_1000);

/// The plugin for one run.
#[derive(Debug)]
pub(in crate::bench) struct Observer {
    plugin: PathBuf,
    machine: &'static str,
    kernel: Vec<(u64, u64)>,
    look: u64,
    stops: Vec<u64>,
    /// The addresses of the first instructions of boot image and root task.
    boot: (u64, u64),
    /// Whether it records cache lines, too.
    lines: bool,
    out: temporary::File,
}

impl Observer {
    /// Builds the plugin, and determines its arguments.
    pub(in crate::bench) fn prepare(bench: &Bench<'_>, built: &Built) -> Result<Self> {
        let emulator = setup::emulator(bench.platform)?;
        let mut command = programs::build_on_host(bench.workspace, PROFILE, CRATE)?;
        command.env(VERSION, interface(&emulator)?);
        cargo::run(&Step::begin("building the emulator's plugin"), &mut command)?;
        let file = format!("{DLL_PREFIX}{}{DLL_SUFFIX}", CRATE.replace('-', "_"));

        let bytes = fs::read(&built.kernel)?;
        let mut kernel: Vec<_> = Executable::parse(&bytes)?
            .segments
            .iter()
            // Segments that are not relocated run at boot only, at addresses that users have later.
            .filter(|segment| segment.virtual_address != segment.physical_address)
            .map(|segment| (segment.virtual_address, segment.virtual_end()))
            .collect();
        let entry = |file: &Path| -> Result<u64> { Ok(Executable::parse(&fs::read(file)?)?.entry) };
        let boot = (entry(&built.image)?, entry(&built.root_task)?);
        let machine = match bench.platform.user.elf.machine {
            Machine::X86_64 => "x86-64",
            Machine::Arm => {
                kernel.push(HIGH_VECTORS);
                "arm"
            }
            Machine::Aarch64 => "aarch64",
            Machine::I386 => bail!("the emulator's plugin does not know 32-bit x86"),
        };
        Ok(Self {
            plugin: bench.workspace.target().join(PROFILE).join(file),
            machine,
            kernel,
            look: addresses(&bytes, &[LOOK])?[0],
            stops: addresses(&bytes, &STOPS)?,
            boot,
            lines: false,
            out: temporary::File::new()?,
        })
    }

    /// The same, with recording of cache lines.
    pub(in crate::bench) fn with_lines(self) -> Self {
        Self {
            lines: true,
            ..self
        }
    }

    /// The plugin's output.
    pub(in crate::bench) fn written(&self) -> Result<String> {
        Ok(fs::read_to_string(self.out.path())?)
    }

    /// QEMU's arguments.
    pub(in crate::bench) fn arguments(&self) -> [OsString; 2] {
        let mut argument = self.plugin.clone().into_os_string();
        argument.push(format!(",machine={},look={:x}", self.machine, self.look));
        for (start, end) in &self.kernel {
            argument.push(format!(",kernel={start:x}-{end:x}"));
        }
        for address in &self.stops {
            argument.push(format!(",stop={address:x}"));
        }
        let (start, end) = self.boot;
        argument.push(format!(",boot={start:x}-{end:x}"));
        if self.lines {
            argument.push(",lines=on");
        }
        argument.push(",out=");
        argument.push(self.out.path());
        ["-plugin".into(), argument]
    }

    /// Replaces the guest's results for this suite by the observed ones, in the same order.
    pub(in crate::bench) fn complete(
        &self,
        measurements: Vec<Measurement>,
    ) -> Result<(Vec<Measurement>, Vec<Observation>)> {
        let observations = record::read(&self.written()?)?;
        let (said, mut all): (Vec<_>, Vec<_>) =
            measurements.into_iter().partition(|one| one.suite == SUITE);
        if said.len() != observations.len() {
            bail!(
                "the emulator observed {} scenarios, but the guest ran {}",
                observations.len(),
                said.len()
            );
        }
        for (one, observation) in said.into_iter().zip(&observations) {
            let name = |kind: &str| format!("{}{kind}", one.operation);
            let parameters = one.parameters.clone();
            let (suite, unit) = (&*one.suite, &*one.unit);
            let delays = &observation.delays;
            all.push(Measurement::new(
                suite,
                &name(DELAY),
                parameters.clone(),
                unit,
                delays,
            )?);
            if cores_of(&one) > 1 {
                all.push(Measurement::new(
                    suite,
                    &name(WAITING),
                    parameters,
                    unit,
                    &[observation.wait],
                )?);
            }
            all.push(observation.sections(Measurement {
                operation: name(INTERRUPTS_OFF),
                ..one
            }));
        }
        Ok((all, observations))
    }
}

/// The version of the plugin interface: 1 up to QEMU 8; later versions have changed only parts that are not
/// used here.
fn interface(emulator: &Path) -> Result<&'static str> {
    let output = Command::new(emulator).arg("--version").output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let major = text
        .split_once("version ")
        .and_then(|(_, version)| version.split('.').next()?.parse::<u32>().ok())
        .with_context(|| format!("{} does not report its version", emulator.display()))?;
    Ok(if major < 9 { "1" } else { "2" })
}

/// The addresses of the kernel's functions of these names: one for each copy that the compiler made.
fn addresses(kernel: &[u8], names: &[&str]) -> Result<Vec<u64>> {
    let file = object::File::parse(kernel)?;
    let named = file.symbols().filter(|symbol| {
        let name = symbol.name().unwrap_or_default();
        names.iter().any(|known| name.contains(known))
    });
    let addresses: Vec<_> = named.map(|symbol| symbol.address()).collect();
    if addresses.is_empty() {
        bail!("the kernel has no function `{}`", names.join("` or `"));
    }
    Ok(addresses)
}
