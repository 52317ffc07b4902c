//! Random histories of several cores: one core acts at a time, on shared objects. The machine checks
//! the invariants of all cores after every kernel entry, so an entry that was wrongly taken for
//! core-local is found.

use host_tests::Machine;
use kernel::time::Ticks;
use proptest::prelude::*;

use crate::random::{BigReaderLock, Step, step};

const CORES: usize = 3;

/// A step, and the core that does it.
fn step_of_a_core() -> impl Strategy<Value = (usize, Step)> {
    (0..CORES, step())
}

/// Plays a history. If cores are late, cores that do not act take no interrupts until they act next,
/// and take IPIs only after their next system call.
fn play(history: &[(usize, Step)], late: bool) {
    let mut world = BigReaderLock::of(Machine::with_cores(CORES));
    world.machine.others_are_late = late;
    world.machine.calls_are_slow = late;
    for core in 0..CORES {
        let per_look = if late { core as u64 } else { 0 };
        world.machine.kernel_of(core).arch.time_per_look = Ticks(per_look);
    }
    for (core, step) in history {
        world.machine.turn_to(*core);
        if !late {
            world.machine.advance(0);
        }
        world.step(step);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn invariants_hold_on_all_cores(
        history in prop::collection::vec(step_of_a_core(), 1..150),
    ) {
        play(&history, false);
    }

    #[test]
    fn invariants_hold_when_cores_are_late(
        history in prop::collection::vec(step_of_a_core(), 1..150),
    ) {
        play(&history, true);
    }
}

/// A call on a remotely modified core takes the slow path, and its thread's budget is used up during it.
#[test]
fn a_slow_call_after_a_visit_ends_with_its_time() {
    use crate::random::{Act, Order};
    let call = || Step::Act(Act::Endpoint(abi::Syscall::Call, 0, 0, false));
    let budget = host_tests::Budget {
        budget: 97,
        period: 100,
        extra_refills: 0,
        badge: 7,
        sporadic: false,
        idling: false,
    };
    let history = [
        (0, Step::Order(Order::Configure(15, budget))),
        (2, call()),
        (0, Step::Order(Order::Domain(52, 0))),
        (2, call()),
    ];
    play(&history, true);
}

/// A thread on a core that another one has changed yields to a thread whose budget another core has set.
#[test]
fn a_slow_yield_to_a_thread_leaves_time_to_use() {
    use crate::random::{Act, Order};
    let call = || Step::Act(Act::Endpoint(abi::Syscall::Call, 0, 0, false));
    let budget = host_tests::Budget {
        budget: 40,
        period: 40,
        extra_refills: 0,
        badge: 0,
        sporadic: false,
        idling: false,
    };
    let history = [
        (1, call()),
        (0, Step::Order(Order::Configure(55, budget))),
        (1, call()),
        (1, Step::Act(Act::YieldTo(11))),
        (0, call()),
    ];
    play(&history, true);
}
