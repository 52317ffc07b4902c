//! The runs of example systems, and the traces of them.

use super::Scope;
use super::examples::{
    COMPARED, EVERYWHERE, LAST_TURN, ON_ARCHITECTURES, SYSTEM, example, has_two_cores, on_two_cores,
};
use super::kinds::{STREAM, TRACE};
use super::planner::Planner;
use super::suite::SCHEDULING;
use crate::Result;
use crate::cli::{AbiOption, Cores, Keep};
use crate::platform::{Coverage, Platform};
use crate::system::System;
use crate::test::target::Run;

/// The example that also runs in host time, and whose trace is checked on several platforms. A short run does so beside the
/// run of the example on a platform without options, where a full run checks traces of all examples; on the others it
/// replaces that run, and costs no more than another kernel: programs are those of other runs.
pub(super) const DEMO: &str = "demo";

impl<'a> Planner<'a> {
    /// The example systems, as they are and with the drivers of services on another core than their clients.
    pub(super) fn examples(&self) -> Result<Vec<Run<'a>>> {
        let mut runs = Vec::new();
        if self.wants(SYSTEM) {
            for name in System::names(self.workspace) {
                runs.extend(self.example_by_name(&name)?);
            }
        }
        let is_wanted = self.is_whole && (!self.is_own || self.is_joined);
        let system = self.filter.of(SYSTEM);
        if (is_wanted || !system.is_empty()) && self.has_two_cores {
            for service in on_two_cores(self.workspace, self.platform, &system)? {
                let run = Run {
                    cores: Cores::TWO,
                    ..self.example(service, &self.abi_of_suite())?
                };
                runs.push(match self.is_joined {
                    true => run,
                    false => self.on_two_cores(run),
                });
            }
        }
        // On the kernel of the example with domains.
        let last_turn = self.is_whole || system.finds(&example(LAST_TURN));
        if last_turn && self.platform.is_sample() && self.arguments.abi.is_empty() {
            runs.push(Run {
                is_example: true,
                abi: vec![AbiOption::Domains],
                cores: Cores::ONE,
                ..self.run(System::last_turn(self.workspace)?)
            });
        }
        Ok(runs)
    }

    /// An example, if it is wanted and runs on the platform.
    fn example_by_name(&self, name: &str) -> Result<Option<Run<'a>>> {
        let is_sample = !self.is_thrifty || self.platform.is_sample();
        let is_wanted = self.filter.of(SYSTEM).wants(&example(name))
            && (EVERYWHERE.contains(&name)
                || !self.is_own && (is_sample || ON_ARCHITECTURES.contains(&name)));
        // Where all is on a kernel for two cores, a service has its driver on another core, and no further run.
        let is_replaced = self.is_whole && self.is_joined && has_two_cores(name, self.platform);
        if !is_wanted || is_replaced {
            return Ok(None);
        }
        let system = System::load(self.workspace, name)?;
        if !system.runs_on(&self.platform.name) {
            return Ok(None);
        }
        let needed = cores_of(&system, self.platform);
        let example = Run {
            cores: self.usual_cores(),
            ..self.example(system, &self.usual_abi())?
        };
        if self.is_whole && name == DEMO && self.is_traced_instead() {
            // Where nothing depends on the architecture, on two cores.
            return Ok(Some(Run {
                is_traced: true,
                keep: Keep::All,
                cores: match self.is_own {
                    true => self.arguments.cores,
                    false => Cores::TWO,
                },
                ..example
            }));
        }
        if needed.count <= self.arguments.cores.count {
            return Ok(Some(example));
        }
        // On a kernel of the suite, if two cores suffice.
        let is_possible = self.has_two_cores && self.platform.has(needed);
        Ok(is_possible.then(|| Run {
            cores: needed,
            ..self.on_two_cores(Run {
                abi: self.abi_of_suite(),
                ..example
            })
        }))
    }

    /// Whether the demo's only run is one that is traced.
    fn is_traced_instead(&self) -> bool {
        match self.scope {
            Scope::All => false,
            Scope::Portable => !self.platform.is_sample() && self.has_two_cores,
            Scope::Own(_) => self.platform.covers == Coverage::Architecture && self.has_two_cores,
        }
    }

    /// Whether there are traced runs beside others.
    pub(super) fn is_traced(&self) -> bool {
        match self.scope {
            Scope::All => self.platform.covers >= Coverage::Architecture,
            Scope::Portable => self.platform.is_sample(),
            Scope::Own(_) => false,
        }
    }

    /// The numbers of cores of traced runs.
    pub(super) fn traced_cores(&self) -> impl Iterator<Item = Cores> + use<> {
        let is_wanted = self.scope == Scope::All || !self.filter.of(STREAM).is_empty();
        let several = (self.has_two_cores && is_wanted).then_some(Cores::TWO);
        [Some(self.arguments.cores), several].into_iter().flatten()
    }

    /// Examples whose traces are checked or compared, and tests whose trace is checked.
    pub(super) fn traces(&self) -> Result<Vec<Run<'a>>> {
        let mut runs = Vec::new();
        let is_usual = self.is_whole && self.is_traced();
        let trace = self.filter.of(TRACE);
        let traced = |system| Run {
            is_example: true,
            is_traced: true,
            ..self.run(system)
        };
        // A run is always the same on one core, in virtual time.
        let is_repeatable = !self.arguments.cores.are_several() && !self.arguments.parallel;
        if is_repeatable && (is_usual || !trace.is_empty()) {
            runs.push(traced(System::traced(self.workspace)?));
        }
        let is_checked = !trace.only(|text| !text.starts_with(COMPARED)).is_empty();
        if !is_usual && !is_checked {
            return Ok(runs);
        }
        for cores in self.traced_cores() {
            runs.push(Run {
                cores,
                ..traced(System::load(self.workspace, DEMO)?)
            });
        }
        // One platform is enough for what examples do, and for what tests do to the scheduler.
        if self.scope != Scope::All || !self.platform.is_sample() {
            return Ok(runs);
        }
        runs.push(Run {
            is_traced: true,
            keep: Keep::All,
            ..self.part(SCHEDULING)?
        });
        let names = System::names(self.workspace).into_iter();
        for name in names.filter(|name| name != DEMO) {
            let system = System::load(self.workspace, &name)?;
            if !system.runs_on(&self.platform.name) {
                continue;
            }
            let needed = cores_of(&system, self.platform);
            if needed.count <= self.arguments.cores.count {
                runs.push(traced(system));
            } else if self.has_two_cores && self.platform.has(needed) {
                runs.push(Run {
                    cores: needed,
                    ..self.on_two_cores(traced(system))
                });
            }
        }
        Ok(runs)
    }
}

/// The cores that a system needs on a platform.
pub(super) fn cores_of(system: &System, platform: &Platform) -> Cores {
    Cores {
        count: system.cores(platform),
        ..Cores::TWO
    }
}
