//! What all runs on a platform have in common.

use std::path::Path;

use super::examples::example;
use super::systems::cores_of;
use super::{Scope, kinds, suite};
use crate::Result;
use crate::cli::{AbiOption, Cores, Keep, Kernel, TestArguments};
use crate::platform::{Coverage, Platform};
use crate::system::System;
use crate::test::filter::Filter;
use crate::test::target::Run;
use crate::workspace::Workspace;

/// Plans the runs on a platform.
pub(super) struct Planner<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) platform: &'a Platform,
    pub(super) arguments: &'a TestArguments,
    pub(super) filter: Filter<'a>,
    pub(super) scope: Scope,
    /// Whether no test is selected by name.
    pub(super) is_whole: bool,
    /// Whether only what is the platform's own is tested.
    pub(super) is_own: bool,
    /// Whether some tests run on two cores, beside those on one.
    pub(super) has_two_cores: bool,
    /// Whether a board's own features, those of several cores and the examples are tested by one kernel.
    pub(super) is_joined: bool,
    /// Whether a kernel less is built: those of several cores have breakpoints, too. The log, whose libraries take long to
    /// compile, is then tested on one platform only.
    pub(super) is_thrifty: bool,
}

impl<'a> Planner<'a> {
    pub(super) fn new(
        workspace: &'a Workspace,
        platform: &'a Platform,
        arguments: &'a TestArguments,
        scope: Scope,
    ) -> Self {
        let filter = Filter::new(arguments.filter.as_deref());
        let is_whole = filter.is_empty();
        let is_own = matches!(scope, Scope::Own(_));
        let has_two_cores = platform.has(Cores::TWO) && !arguments.cores.are_several();
        let is_joined = platform.covers == Coverage::Board && is_own && has_two_cores;
        Self {
            workspace,
            platform,
            arguments,
            filter,
            scope,
            is_whole,
            is_own,
            has_two_cores,
            is_joined,
            is_thrifty: scope != Scope::All
                && !is_joined
                && is_whole
                && has_two_cores
                && arguments.abi.is_empty(),
        }
    }

    /// Whether tests of a kind are wanted.
    pub(super) fn wants(&self, kind: &str) -> bool {
        self.is_whole || !self.filter.of(kind).is_empty()
    }

    /// The run of a system.
    pub(super) fn run(&self, system: System) -> Run<'a> {
        Run {
            workspace: self.workspace,
            platform: self.platform,
            system,
            kernel: Kernel::Debug,
            abi: self.arguments.abi.clone(),
            cores: self.arguments.cores,
            hardening: self.arguments.hardening.clone(),
            filter: String::new(),
            files: String::new(),
            memory: None,
            variant: None,
            is_loaded: false,
            fuzz_divisor: (self.scope != Scope::All).then_some(super::fuzzer::CALLS_DIVISOR),
            is_example: false,
            is_logged: false,
            is_traced: false,
            keep: Keep::default(),
            is_stress: false,
            arguments: self.arguments,
        }
    }

    /// The ABI of the suite's kernels: its tests of interrupts need a timer.
    pub(super) fn abi_of_suite(&self) -> Vec<AbiOption> {
        [&self.arguments.abi[..], &self.platform.timer].concat()
    }

    /// Those tests of the suite that a filter selects.
    pub(super) fn part(&self, filter: &str) -> Result<Run<'a>> {
        Ok(Run {
            filter: filter.to_string(),
            abi: self.abi_of_suite(),
            ..self.run(System::target_tests(self.workspace)?)
        })
    }

    /// Those tests of the suite, and a board's of several cores, on two of them.
    pub(super) fn joined(&self, names: &str) -> Result<Run<'a>> {
        Ok(Run {
            cores: Cores::TWO,
            ..self.part(&format!("{names},{}", suite::CORES_OF_BOARD))?
        })
    }

    /// A run on the kernel for two cores.
    pub(super) fn on_two_cores(&self, run: Run<'a>) -> Run<'a> {
        let run = Run {
            cores: Cores::TWO,
            ..run
        };
        match self.is_thrifty {
            true => with_breakpoints(run),
            false => run,
        }
    }

    /// The ABI of the kernels for examples and the fuzzer, and the number of cores.
    pub(super) fn usual_abi(&self) -> Vec<AbiOption> {
        match self.is_joined {
            true => self.abi_of_suite(),
            false => self.arguments.abi.clone(),
        }
    }

    pub(super) fn usual_cores(&self) -> Cores {
        match self.is_joined {
            true => Cores::TWO,
            false => self.arguments.cores,
        }
    }

    /// An example, with the options without which its devices are not there.
    pub(super) fn example(&self, system: System, abi: &[AbiOption]) -> Result<Run<'a>> {
        let mut abi = [abi, &system.options(self.workspace, self.platform)?].concat();
        abi.sort_unstable();
        abi.dedup();
        Ok(Run {
            is_example: true,
            abi,
            ..self.run(system)
        })
    }

    /// The system of a project, if it is wanted.
    pub(super) fn of_project(&self, folder: &Path) -> Result<Vec<Run<'a>>> {
        let system = System::of_project(self.workspace, folder)?;
        if !self.filter.wants(&example(&system.name)) {
            return Ok(Vec::new());
        }
        let needed = cores_of(&system, self.platform);
        let mut run = self.example(system, &self.arguments.abi)?;
        if needed.count > run.cores.count {
            run.cores = needed;
        }
        Ok(vec![run])
    }

    /// The filter's texts that select tests of the suite.
    pub(super) fn others(&self) -> Filter<'a> {
        let is_kind = |text: &str| kinds::ALL.iter().any(|kind| text.starts_with(kind));
        self.filter.only(|text| !is_kind(text))
    }
}

/// A run on a kernel whose ABI has the processor's debug registers.
pub(super) fn with_breakpoints(mut run: Run<'_>) -> Run<'_> {
    run.abi.push(AbiOption::Hwdebug);
    run
}
