//! Random histories of several cores: one core acts at a time, on shared objects. The machine checks
//! the invariants of all cores after every kernel entry, so an entry that was wrongly taken for
//! core-local is found.

use host_machine::Machine;
use kernel::time::Ticks;
use proptest::prelude::*;

use crate::fast_paths::{config, picture};
use crate::random::{Act, Order, Step, TestSystem, step};

const CORES: usize = 3;

/// A step, and the core that does it.
fn step_of_a_core() -> impl Strategy<Value = (usize, Step)> {
    (0..CORES, step())
}

/// Plays a history. If cores are late, cores that do not act take no interrupts until they act next,
/// and take IPIs only after their next system call. With `limited`, all calls have a limit.
fn play(history: &[(usize, Step)], late: bool, limited: bool) {
    let mut system = TestSystem::of(Machine::with_cores(CORES));
    if limited {
        system.limit_calls();
    }
    system.machine.others_are_late = late;
    system.machine.calls_are_slow = late;
    for core in 0..CORES {
        let per_look = if late { core as u64 } else { 0 };
        system.machine.kernel_of(core).arch.time_per_look = Ticks(per_look);
    }
    for (core, step) in history {
        system.machine.turn_to(*core);
        if !late {
            system.machine.advance(0);
        }
        system.step(step);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn invariants_hold_on_all_cores(
        limited in any::<bool>(),
        history in prop::collection::vec(step_of_a_core(), 1..150),
    ) {
        play(&history, false, limited);
    }

    #[test]
    fn invariants_hold_when_cores_are_late(
        limited in any::<bool>(),
        history in prop::collection::vec(step_of_a_core(), 1..150),
    ) {
        play(&history, true, limited);
    }
}

/// Plays a history in which a core waits for the entry lock, for so long, at the system calls of a step.
fn play_late(history: &[(usize, Step, u64)], fast: bool, limited: bool, late: bool) {
    let mut system = TestSystem::of(Machine::with_cores(CORES));
    if limited {
        system.limit_calls();
    }
    let machine = &mut system.machine;
    machine.others_are_late = late;
    machine.calls_are_slow = late;
    for core in 0..CORES {
        let arch = &mut machine.kernel_of(core).arch;
        arch.fast_paths = fast;
        arch.time_per_look = Ticks(core as u64);
    }
    // A sender whose wait leaves less than the endpoint's threshold is deferred, each time: then not all waits are so long.
    // A limit is a threshold, too.
    let is_threshold = |step: &Step| matches!(step, Step::Order(Order::Threshold(..)));
    let has_threshold = limited || history.iter().any(|(_, step, _)| is_threshold(step));
    let most_waits = if has_threshold { 16 } else { usize::MAX };
    for (core, step, wait) in history {
        let machine = &mut system.machine;
        machine.turn_to(*core);
        if !late {
            machine.advance(0);
        }
        let wait = *wait;
        if let Step::Act(Act::Fault(_)) = step {
            machine.stall(wait);
            machine.kernel.pretend_wait();
        } else if wait > 0 {
            let mut left = most_waits;
            machine.before_calls = Some(Box::new(move |machine| {
                if left > 0 {
                    left -= 1;
                    machine.stall(wait);
                    machine.kernel.pretend_wait();
                }
            }));
        }
        system.step(step);
        system.machine.before_calls = None;
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn invariants_hold_when_requests_are_late(
        (fast, limited, late) in any::<(bool, bool, bool)>(),
        history in prop::collection::vec((0..CORES, step(), prop_oneof![Just(0), 1u64..400]), 1..150),
    ) {
        play_late(&history, fast, limited, late);
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn both_paths_lead_to_the_same_on_all_cores(
        history in prop::collection::vec(step_of_a_core(), 1..150),
    ) {
        let [mut short, mut general] = [true, false].map(|fast| {
            let mut system = TestSystem::of(Machine::with_cores(CORES));
            (0..CORES).for_each(|core| system.machine.kernel_of(core).arch.fast_paths = fast);
            system
        });
        for (core, step) in &history {
            for system in [&mut short, &mut general] {
                system.machine.turn_to(*core);
                system.machine.advance(0);
                system.step(step);
            }
            prop_assert_eq!(picture(&short), picture(&general), "after {:?} on {}", step, core);
        }
    }
}

/// A call that reaches nothing; it enters the kernel.
fn call() -> Step {
    Step::Act(Act::Endpoint(abi::Syscall::Call, 0, 0, false))
}

fn configure(context: u8, budget: u64, period: u64) -> Step {
    let budget = host_machine::Budget {
        budget,
        period,
        extra_refills: 0,
        badge: 0,
        sporadic: false,
        idling: false,
    };
    Step::Order(Order::Configure(context, budget))
}

/// A call on a core that another core has changed is slow, and the thread's budget ends with it.
#[test]
fn a_slow_call_after_remote_access_ends_with_its_budget() {
    let history = [
        (0, configure(15, 97, 100)),
        (2, call()),
        (0, Step::Order(Order::Domain(52, 0))),
        (2, call()),
    ];
    play(&history, true, false);
}

/// A slow thread yields to a thread that runs on another core and has just used up its budget.
#[test]
fn a_slow_yield_to_a_remote_thread_leaves_no_thread_without_budget() {
    let history = [
        (1, call()),
        (0, configure(55, 40, 40)),
        (1, call()),
        (1, Step::Act(Act::YieldTo(11))),
        (0, call()),
    ];
    play(&history, true, false);
}

/// The same with a timer, before the other core has noticed.
#[test]
fn a_thread_that_a_remote_one_yields_to_ends_its_slice_on_its_own_core() {
    let history = [
        (1, call()),
        (0, call()),
        (1, call()),
        (0, Step::Act(Act::Notification(abi::Syscall::Send, 0))),
        (1, call()),
        (0, configure(35, 40, 40)),
        (2, Step::Time(76)),
        (0, Step::Time(1)),
        (2, Step::Act(Act::YieldToTimeout(31, 5, 11))),
        (1, call()),
        (0, call()),
    ];
    play(&history, true, false);
}
