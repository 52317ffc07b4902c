//! The root task of the on-target tests.
//!
//! It has the highest priority. For each test it makes a component, waits until the component has ended,
//! failed, faulted or taken too long, deletes all objects of the component, and prints one line. So a test
//! can neither affect the next one nor hang the run.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

mod clock;
mod machine;
mod run;
mod verdict;

use run::Runner;
use suite::GROUPS;
use userlib::{BootInfo, Environment, Result, archive, println, runtime};
use verdict::Verdict;

/// The parameter with the wanted tests: those with a name that contains this text, or one of several texts separated
/// by commas.
const FILTER: &str = "filter";

/// The parameter with the attacks against which the kernel is hardened.
const HARDENED: &str = "hardened";

userlib::root!(main);

fn main(boot: &'static BootInfo) -> Result {
    let mut environment = Environment::from_boot_info(boot);
    environment.end_with_root_task("kernel-target")?;
    let mut runner = Runner::new(&mut environment, boot)?;
    let (mut passed, mut failed) = machine::test(boot);
    let filter = archive::parameter(FILTER);
    for (group, &(file, names)) in GROUPS.iter().enumerate() {
        for (index, name) in names.iter().enumerate() {
            let name = Name { file, name };
            if !name.matches(filter) {
                continue;
            }
            match runner.run(group, index) {
                Ok(Verdict::Passed) => {
                    passed += 1;
                    println!("test {name} ... ok");
                }
                Ok(Verdict::Failed(how)) => {
                    failed += 1;
                    println!("test {name} ... FAILED: {}", how.with(runner.report()));
                }
                Err(error) => {
                    failed += 1;
                    println!("test {name} ... FAILED: the runner could not do it: {error:?}");
                }
            }
        }
    }
    if passed + failed > 0 {
        let stack = runtime::stack_use();
        if stack.has_margin() {
            passed += 1;
            println!("test runner::its_stack_has_a_margin ... ok");
        } else {
            failed += 1;
            println!("test runner::its_stack_has_a_margin ... FAILED: {stack} were used");
        }
    }
    println!("{passed} passed, {failed} failed");
    runtime::exit((failed != 0) as usize)
}

/// The name of a test: its file, and its function.
struct Name {
    file: &'static str,
    name: &'static str,
}

impl Name {
    fn matches(&self, filters: &str) -> bool {
        filters.split(',').any(|filter| self.matches_one(filter))
    }

    fn matches_one(&self, filter: &str) -> bool {
        // The first group needs a kernel kind that does not run the others, the second needs host time, the third needs a
        // kernel that streams events.
        let asked_for = ["benchmark", "stress", "stream"];
        if asked_for.contains(&self.file) && !filter.starts_with(self.file) {
            return false;
        }
        // This group needs kernels that are not mapped in user mode.
        if self.file == "x86_isolation" && !archive::parameter(HARDENED).contains("meltdown") {
            return false;
        }
        match filter.split_once("::") {
            Some((file, name)) => self.file.ends_with(file) && self.name.starts_with(name),
            None => self.file.contains(filter) || self.name.contains(filter),
        }
    }
}

impl core::fmt::Display for Name {
    fn fmt(&self, out: &mut core::fmt::Formatter) -> core::fmt::Result {
        write!(out, "{}::{}", self.file, self.name)
    }
}
