//! The root task of the fuzzer.
//!
//! It runs some campaigns. In each, a hostile component, which holds a capability of every kind, makes system
//! calls; it is made anew every few thousand calls, and started again when it is stuck. Well-behaved clients
//! and their servers work at the same time, with scheduling contexts of their own. At the end of a campaign
//! the root task checks their results, and which methods the hostile component has reached.
//!
//! All random numbers follow from the seeds: in virtual time, each run is the same.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

mod arch;
mod campaign;
mod domains;
mod reached;
mod system;
mod victims;

use campaign::{ALL_CORES, CAMPAIGNS, Grounds};
use reached::Reached;
use userlib::runtime::StackUse;
use userlib::{BootInfo, Environment, Result, archive, println, runtime};

/// The parameter with the wanted campaigns: those with a name that contains this text; all if it is empty.
const FILTER: &str = "filter";

userlib::root!(main);

fn main(boot: &'static BootInfo) -> Result {
    let mut environment = Environment::from_boot_info(boot);
    environment.end_with_root_task("kernel-fuzz-target")?;
    let mut grounds = Grounds::new(&mut environment, boot)?;
    domains::take_turns(boot)?;
    let mut reached = Reached::default();
    let (mut passed, mut failed) = (0, 0);
    let mut tell = |name: &str, verdict: core::result::Result<(), campaign::Failure>| match verdict
    {
        Ok(()) => {
            passed += 1;
            println!("test fuzz::{name} ... ok");
        }
        Err(failure) => {
            failed += 1;
            println!("test fuzz::{name} ... FAILED: {failure}");
        }
    };
    let filter = archive::parameter(FILTER);
    let wanted = |name: &str| {
        let filter = filter.trim_start_matches("fuzz").trim_start_matches("::");
        name.contains(filter)
    };
    let several = abi::config::SMP.then_some(&ALL_CORES);
    for campaign in CAMPAIGNS.iter().chain(several) {
        if wanted(campaign.name) {
            tell(campaign.name, campaign.run(&mut grounds, &mut reached));
        }
    }
    if wanted(Reached::NAME) {
        tell(Reached::NAME, reached.judge());
    }
    if wanted(Reached::LIMITS) {
        tell(Reached::LIMITS, reached.judge_limits());
    }
    let own = runtime::stack_use();
    let hostile = StackUse {
        size: system::SIZE.stack().len(),
        used: reached.stack,
    };
    println!("fuzz: of the stacks {own} (root task) and {hostile} (hostile component) were used");
    let margins = campaign::stack_margin(own).and(campaign::stack_margin(hostile));
    tell("stacks_have_a_margin", margins);
    println!("{passed} passed, {failed} failed");
    runtime::exit((failed != 0) as usize)
}
