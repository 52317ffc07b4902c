//! The runs of the fuzzer.

use super::Scope;
use super::kinds::FUZZ;
use super::planner::Planner;
use super::ready_made::ready_made;
use crate::Result;
use crate::cli::AbiOption;
use crate::system::System;
use crate::test::target::Run;

/// The test that needs several cores.
const FROM_ALL_CORES: &str = "fuzz::from_all_cores";
/// What a short run divides the number of calls of each campaign by.
pub(super) const CALLS_DIVISOR: u64 = 8;

impl<'a> Planner<'a> {
    /// The runs of the fuzzer.
    pub(super) fn fuzzers(&self) -> Result<Vec<Run<'a>>> {
        let mut runs = Vec::new();
        let is_usual = self.is_whole && !self.is_own;
        let fuzz = self.filter.of(FUZZ);
        if is_usual || !fuzz.is_empty() {
            runs.push(self.fuzzer(&fuzz.to_string(), self.usual_abi())?);
            // Once more with what ready-made systems want, domains and breakpoints among it.
            let is_entered = self.platform.loader.is_some() || self.platform.takes_module();
            if self.scope == Scope::All && is_entered && self.has_two_cores {
                let ready_made = &ready_made(self.platform)[0].1;
                let abi = [&self.arguments.abi[..], ready_made].concat();
                runs.push(Run {
                    fuzz_divisor: Some(CALLS_DIVISOR),
                    ..self.fuzzer(&fuzz.to_string(), abi)?
                });
            }
        }
        if is_usual && self.has_two_cores {
            // With the same options as the suite on two cores, so that they share what is built.
            let fuzzer = self.fuzzer(FROM_ALL_CORES, self.abi_of_suite())?;
            runs.push(self.on_two_cores(fuzzer));
        }
        Ok(runs)
    }

    fn fuzzer(&self, filter: &str, abi: Vec<AbiOption>) -> Result<Run<'a>> {
        Ok(Run {
            filter: filter.to_string(),
            abi,
            ..self.run(System::fuzzer(self.workspace)?)
        })
    }
}
