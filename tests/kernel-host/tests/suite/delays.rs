//! How long the highest-priority thread can be delayed, whatever others do.
//!
//! Kernel execution costs time here: each read of the clock takes some. A thread that has budget and
//! a higher priority than all others runs within the worst-case execution time of a kernel entry that
//! the ABI publishes. The delay in instructions is measured on the target (`cargo xtask bench --suite
//! delay`).

use abi::config::DOMAINS;
use host_machine::{Budget, Spec, Task};
use kernel::time::Ticks;
use proptest::prelude::*;

use crate::random::{Act, History, Step, TestSystem, step};

/// The worst-case execution time of a kernel entry, in microseconds.
const BOUND: u64 = 10;
/// How often the high-priority thread has work to do, and how long that takes.
const PERIOD: u64 = 310;
const WORK: u64 = 30;

/// A random system with a high-priority thread.
struct System {
    system: TestSystem,
    high: Task,
    /// When its budget is or was replenished, unless it has run since.
    due: Option<u64>,
    /// The longest delay observed.
    worst: u64,
    /// The number of observations.
    runs: usize,
}

impl System {
    fn new(kernel_time: u64) -> Self {
        let mut system = TestSystem::new();
        let spec = Spec::new("high", 254).budget(Budget::new(200, PERIOD).refills(2));
        let high = system.machine.spawn(spec);
        system.machine.set_criticality(high, 7);
        system.machine.kernel.arch.time_per_look = Ticks(kernel_time);
        let mut system = Self {
            system,
            high,
            due: None,
            worst: 0,
            runs: 0,
        };
        system.look();
        system
    }

    /// If the high-priority thread runs, it does its work and yields.
    fn look(&mut self) {
        let machine = &mut self.system.machine;
        if !machine.runs(self.high) {
            return;
        }
        if let Some(due) = self.due.take() {
            self.worst = self.worst.max(machine.now() - due);
            self.runs += 1;
        }
        machine.advance(WORK);
        if machine.runs(self.high) {
            machine.yield_now(self.high);
            self.due = Some(machine.refills(self.high.context)[0].0);
        }
    }

    fn pass(&mut self, ticks: u64) {
        for _ in 0..ticks {
            self.system.machine.advance(1);
            self.look();
        }
    }

    fn step(&mut self, step: &Step) {
        match step {
            // The timer interrupt is not late here.
            Step::Late(ticks) | Step::Time(ticks) => self.pass(*ticks),
            Step::Act(_) if self.system.machine.current().is_none() => self.pass(100),
            Step::Order(_) => {
                self.system.step(step);
                // The root task has a higher priority.
                self.due = self.due.filter(|due| *due > self.system.machine.now());
            }
            _ => self.system.step(step),
        }
        self.look();
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_highest_priority_thread_runs_when_its_time_comes(
        kernel_time in 0..4u64,
        history in prop::collection::vec(step(), 1..40).prop_map(History),
    ) {
        // With domains, it waits for the turn of its own domain.
        if DOMAINS == 1 {
            let mut system = System::new(kernel_time);
            for step in &history.0 {
                system.step(step);
            }
            prop_assert!(system.worst <= BOUND, "{} µs", system.worst);
        }
    }
}

/// Negative control: a machine with a late timer.
#[test]
fn a_timer_that_is_late_is_caught() {
    if DOMAINS > 1 {
        return;
    }
    let mut system = System::new(0);
    for _ in 0..10 {
        system.system.machine.stall(PERIOD / 2);
        system.step(&Step::Act(Act::Yield));
    }
    assert!(
        system.runs > 0 && system.worst > BOUND,
        "{} µs",
        system.worst
    );
}
