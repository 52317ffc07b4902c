//! The runs of the suite.

use super::kinds::{BENCHMARK, LOADER, LOG, MACHINE, STREAM, STRESS};
use super::planner::{Planner, with_breakpoints};
use super::ready_made::ready_made;
use super::systems::DEMO;
use super::{Scope, stressed};
use crate::Result;
use crate::cli::{Cores, Hardening, Keep, Kernel};
use crate::platform::Coverage;
use crate::system::System;
use crate::test::target::Run;

/// Names of tests that need several cores contain this.
const CORES: &str = "cores";
/// Those of several cores that depend on a board.
pub(super) const CORES_OF_BOARD: &str = "cores::,cores_memory,cores_signals";
/// The tests of user-level schedulers with several cores, some of which need four.
const SCHEDULERS: &str = "cores_dispatcher,cores_quanta,cores_shared,cores_simso";
/// The tests during which several cores write the log together.
const BUSY: &str = "cores_history";
/// The tests of all kernel entries and exits of a hardened kernel.
const ENTRIES: &str = "x86_isolation,call_reply,fast_path,faults,fpu,irq";
/// Tests of a kernel that is compiled for size: those of what it does without fast paths, thresholds and criticalities.
const SMALL: &str = "arm_signals,aarch64_spaces,arm_spaces,budget::,call_reply::,cap_transfer::,deletion::,donation::,\
                     endpoint::,faults::,fpu::,notification::,reply_stack::,retype::,sched_context::,timeout::,\
                     untyped::,x86_spaces";
/// Tests of scheduling, of which a trace is checked.
pub(super) const SCHEDULING: &str = "budget::,donation::,scheduling::,thresholds::,timeout::";
/// The most cores of a large machine. Only pc99 can have more, 64.
const MANY_CORES: u32 = 8;
/// Tests of registers that threads must not share.
const HIDDEN: &str = "hidden_registers";
/// Tests of the processor's debug registers.
const BREAKPOINTS: &str = "breakpoints";
/// The files that depend on the machine, where the same kernel runs on another one: its processor, its interrupt
/// controller, its firmware.
const MACHINES: &str = "arm_irq,arm_signals,boot_info,fpu,irq";
/// The files of those that a kernel passes which a loader has entered, without a device tree.
const LOADED: &str = "arm_irq,arm_signals,fpu,irq";
/// The same where the boot loader brings the root task.
const MODULE: &str = "boot_info,untyped";

impl<'a> Planner<'a> {
    /// The suite on the usual kernel, or the files that are the platform's own.
    pub(super) fn suite(&self) -> Result<Vec<Run<'a>>> {
        if let Scope::Own(names) = self.scope {
            let run = match self.is_joined {
                true => self.joined(names)?,
                false => self.part(names)?,
            };
            return Ok(vec![run]);
        }
        let others = self.others();
        match self.is_whole || !others.is_empty() {
            true => Ok(vec![self.part(&others.to_string())?]),
            false => Ok(Vec::new()),
        }
    }

    /// On other machines for the same kernel.
    pub(super) fn other_machines(&self) -> Result<Vec<Run<'a>>> {
        let mut runs = Vec::new();
        if self.is_whole && self.has_two_cores {
            for (name, more) in &self.platform.qemu.variants {
                runs.push(Run {
                    variant: Some((&**name, &**more)),
                    ..self.joined(MACHINES)?
                });
            }
        }
        Ok(runs)
    }

    /// On kernels that a loader enters, with the options that ready-made systems want.
    pub(super) fn loaded(&self) -> Result<Vec<Run<'a>>> {
        if !self.wants(LOADER) || !self.has_two_cores {
            return Ok(Vec::new());
        }
        let names = match self.platform.loader {
            Some(_) => LOADED,
            None if self.platform.takes_module() => MODULE,
            None => return Ok(Vec::new()),
        };
        let loader = self.platform.loader.iter();
        let variants = loader.flat_map(|loader| &loader.variants);
        let variants = variants.map(|(name, more)| Some((&**name, &**more)));
        let machines: Vec<_> = std::iter::once(None).chain(variants).collect();
        let mut runs = Vec::new();
        for &variant in &machines {
            let part = match self.platform.loader {
                Some(_) => self.joined(names)?,
                None => self.part(names)?,
            };
            runs.extend(self.beside_promise(Run { variant, ..part })?);
        }
        let kernels = (self.scope == Scope::All).then(|| ready_made(self.platform));
        for (kernel, options, cores) in kernels.into_iter().flatten() {
            // What firmware answers does not depend on the kernel.
            let machines = match kernel == Kernel::Debug && cores.are_several() {
                true => &machines[..],
                false => &machines[..1],
            };
            for &variant in machines {
                let part = self.part(&match (kernel, cores.are_several()) {
                    (Kernel::Bench, _) => BENCHMARK.to_string(),
                    (_, true) => format!("{names},arm_smc,{BREAKPOINTS},{CORES_OF_BOARD}"),
                    (_, false) => format!("{names},arm_smc,{BREAKPOINTS},domain"),
                })?;
                let abi = [&part.abi[..], &options].concat();
                runs.extend(self.beside_promise(Run {
                    kernel,
                    abi,
                    cores,
                    variant,
                    ..part
                })?);
            }
        }
        Ok(runs)
    }

    /// A part of the suite on a kernel that a loader enters and, on the same kernel, a task that compares its memory with
    /// what it was promised.
    fn beside_promise(&self, part: Run<'a>) -> Result<[Run<'a>; 2]> {
        let memory = self.platform.loader.as_ref().map(|loader| loader.memory);
        let task = Run {
            kernel: part.kernel,
            abi: part.abi.clone(),
            cores: part.cores,
            variant: part.variant,
            ..self.run(System::loaded(self.workspace)?)
        };
        Ok([part, task].map(|run| Run {
            is_loaded: true,
            memory,
            ..run
        }))
    }

    /// Tests of several cores, and of the log.
    pub(super) fn on_several_cores(&self) -> Result<Vec<Run<'a>>> {
        let mut runs = Vec::new();
        let is_usual = self.is_whole && self.has_two_cores;
        if is_usual && !self.is_joined {
            let names = match self.is_thrifty {
                true => [CORES, BREAKPOINTS, HIDDEN].join(","),
                false => CORES.to_string(),
            };
            runs.push(self.on_two_cores(self.part(&names)?));
        }
        if is_usual && self.scope == Scope::All && self.platform.covers == Coverage::Portable {
            runs.push(Run {
                cores: Cores {
                    count: 4,
                    ..Cores::TWO
                },
                ..self.part(SCHEDULERS)?
            });
        }
        let is_logged = is_usual && !self.is_own && (!self.is_thrifty || self.platform.is_sample());
        let is_named = !self.filter.of(LOG).is_empty();
        if (is_logged || is_named) && self.platform.has(Cores::TWO) {
            runs.push(Run {
                is_logged: true,
                ..self.on_two_cores(self.part(BUSY)?)
            });
        }
        Ok(runs)
    }

    /// In host time, in which interrupts come at any time, with busy loops on the host.
    pub(super) fn in_host_time(&self) -> Result<Vec<Run<'a>>> {
        let mut runs = Vec::new();
        let stress = self.filter.of(STRESS);
        if (!self.is_whole || self.is_own) && stress.is_empty() {
            return Ok(runs);
        }
        let demo = stressed(DEMO);
        let others = stress.only(|text| text != demo);
        if self.is_whole || !others.is_empty() {
            let run = || -> Result<_> {
                Ok(Run {
                    is_stress: true,
                    ..self.part(&others.or(STRESS))?
                })
            };
            if self.has_two_cores {
                runs.push(self.on_two_cores(run()?));
            }
            runs.push(run()?);
        }
        let is_sample = self.scope == Scope::All || self.platform.is_sample();
        if (self.is_whole || stress.finds(&demo)) && is_sample {
            runs.push(Run {
                is_example: true,
                is_stress: true,
                ..self.run(System::load(self.workspace, DEMO)?)
            });
        }
        Ok(runs)
    }

    /// On kernels of other kinds and options.
    pub(super) fn on_other_kernels(&self) -> Result<Vec<Run<'a>>> {
        let mut runs = Vec::new();
        let is_usual = self.is_whole && !self.is_own;
        let benchmark = self.filter.of(BENCHMARK);
        if is_usual || !benchmark.is_empty() {
            runs.push(Run {
                kernel: Kernel::Bench,
                // A short run takes the kernel of the benchmarks: no test there needs a timer.
                abi: match self.scope {
                    Scope::All => self.abi_of_suite(),
                    _ => self.arguments.abi.clone(),
                },
                ..self.part(&benchmark.or(BENCHMARK))?
            });
        }
        if is_usual && !self.is_thrifty && self.arguments.abi.is_empty() {
            runs.push(with_breakpoints(self.part(BREAKPOINTS)?));
        }
        let is_hardened = self.arguments.hardening.is_wanted();
        if self.is_whole && self.platform.qemu.hardened.is_some() && !is_hardened {
            runs.push(Run {
                hardening: Hardening::all(),
                ..self.part(ENTRIES)?
            });
        }
        if self.is_whole && self.scope == Scope::All && self.platform.covers != Coverage::Board {
            runs.push(Run {
                kernel: Kernel::SmallBench,
                ..self.part(SMALL)?
            });
        }
        // Without options, user mode has no access to the timer's registers.
        let hidden = self.filter.of(HIDDEN);
        if (is_usual || !hidden.is_empty()) && !self.platform.timer.is_empty() {
            runs.push(Run {
                abi: self.arguments.abi.clone(),
                ..self.part(&hidden.or(HIDDEN))?
            });
        }
        Ok(runs)
    }

    /// With more memory than usual, and in a full run with as many cores as boards have.
    pub(super) fn on_large_machine(&self) -> Result<Vec<Run<'a>>> {
        let memory = self.platform.qemu.large_memory;
        if !self.wants(MACHINE) || memory.is_none() {
            return Ok(Vec::new());
        }
        let cores = match self.scope {
            Scope::All if !self.arguments.cores.are_several() => Cores {
                count: self.platform.cores.min(MANY_CORES),
                ..Cores::ONE
            },
            _ => self.usual_cores(),
        };
        Ok(vec![Run {
            memory,
            cores,
            ..self.part("boot_info")?
        }])
    }

    /// Tests that read trace events while they run.
    pub(super) fn streams(&self) -> Result<Vec<Run<'a>>> {
        let stream = self.filter.of(STREAM);
        if (!self.is_whole || !self.is_traced()) && stream.is_empty() {
            return Ok(Vec::new());
        }
        self.traced_cores()
            .map(|cores| {
                Ok(Run {
                    is_traced: true,
                    keep: Keep::Stream,
                    cores,
                    ..self.part(&stream.or(STREAM))?
                })
            })
            .collect()
    }
}
