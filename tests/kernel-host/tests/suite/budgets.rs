//! Budgets: when they are used up, and when they are replenished.

use abi::Method;
use host_machine::{Budget, Machine, Spec, State, Task};

use crate::common::waiter;

/// A single task with a budget.
fn lone(budget: Budget) -> (Machine, Task) {
    let mut machine = Machine::new();
    let task = machine.spawn(Spec::new("task", 10).budget(budget));
    machine.rest();
    (machine, task)
}

#[test]
fn a_hog_gets_its_budget_in_every_period() {
    for refills in [2, 10] {
        for sporadic in [false, true] {
            let budget = Budget::new(100, 1000).refills(refills);
            let (mut machine, task) = lone(if sporadic { budget.sporadic() } else { budget });
            for period in 0..20 {
                assert!(machine.runs(task));
                machine.advance(99);
                assert!(machine.runs(task), "period {period}");
                machine.advance(1);
                assert_eq!(machine.running(), "none");
                machine.advance(899);
                assert_eq!(machine.running(), "none");
                machine.advance(1);
            }
        }
    }
}

#[test]
fn the_smallest_budget_works() {
    let (mut machine, task) = lone(Budget::new(20, 40));
    for _ in 0..100 {
        assert!(machine.runs(task));
        // At the start of a period, there is enough left for a system call.
        machine.nb_wait(task, 0);
        if machine.state(task) == State::Inactive {
            machine
                .tcb(task, Method::TcbWriteRegisters, &[1, 1, 0x2000], &[])
                .unwrap();
            machine.resume(task);
        }
        assert!(machine.runs(task));
        machine.advance(20);
        assert_eq!(machine.running(), "none");
        machine.advance(20);
    }
}

#[test]
fn a_system_call_needs_the_smallest_budget() {
    for (used, performed) in [(80, true), (81, false), (99, false)] {
        let (mut machine, task) = lone(Budget::new(100, 1000));
        let notification = machine.notification();
        machine.advance(used);
        machine.signal(task, notification);
        let word = |machine: &Machine| match machine.cap(notification) {
            kernel::cap::Cap::Notification(cap) => matches!(
                machine.kernel[cap.object].state,
                kernel::object::NotificationState::Active(_)
            ),
            _ => false,
        };
        assert_eq!(word(&machine), performed, "after {used}");
        assert_eq!(machine.runs(task), performed);
        if !performed {
            // It is performed after the next replenishment, with which the small remainder is merged.
            machine.advance_until(|machine| machine.runs(task));
            assert_eq!(machine.now(), 1000 - (100 - used));
            assert!(word(&machine));
            assert_eq!(machine.refills(task.context)[0].1, 100);
        }
    }
}

#[test]
fn what_is_used_in_parts_comes_back_in_parts() {
    let (mut machine, task) = lone(Budget::new(100, 1000).sporadic());
    let never = machine.notification();
    machine.advance(40);
    machine.wait(task, never);
    assert_eq!(machine.refills(task.context), [(40, 60), (1000, 40)]);
    machine.advance(260);
    machine.suspend(task);
    machine
        .tcb(task, Method::TcbWriteRegisters, &[1, 1, 0x2000], &[])
        .unwrap();
    assert!(machine.runs(task));
    assert_eq!(machine.refills(task.context), [(300, 60), (1000, 40)]);
    machine.advance(60);
    assert_eq!(machine.running(), "none");
    assert_eq!(machine.refills(task.context), [(1000, 40), (1300, 60)]);
    machine.advance_until(|machine| machine.runs(task));
    assert_eq!(machine.now(), 1000);
    machine.advance(40);
    assert_eq!(machine.running(), "none");
    machine.advance_until(|machine| machine.runs(task));
    assert_eq!(machine.now(), 1300);
}

#[test]
fn a_rest_below_the_smallest_budget_joins_the_next() {
    let (mut machine, task) = lone(Budget::new(100, 1000).sporadic());
    let never = machine.notification();
    machine.advance(75);
    machine.wait(task, never);
    assert_eq!(machine.refills(task.context), [(75, 25), (1000, 75)]);
    machine.suspend(task);
    machine
        .tcb(task, Method::TcbWriteRegisters, &[1, 1, 0x2000], &[])
        .unwrap();
    machine.advance(10);
    machine.wait(task, never);
    // The remaining 15 are less than the smallest budget, so the system call waits and they are kept.
    // The 10 just used would be replenished at 1075, where the replenishment of 1000 ends: they are
    // merged with it.
    assert_eq!(machine.state(task), State::Runnable);
    assert_eq!(machine.running(), "none");
    assert_eq!(machine.refills(task.context), [(985, 100)]);
}

#[test]
fn a_full_list_delays_replenishments() {
    let (mut machine, task) = lone(Budget::new(100, 1000).refills(2).sporadic());
    let bell = machine.notification();
    // Three short runs with pauses need more replenishments than the context can hold.
    for start in [0, 100, 200] {
        machine.advance_until(|machine| machine.now() >= start || machine.runs(task));
        while machine.now() < start {
            machine.advance(1);
        }
        machine.advance(20);
        machine.wait(task, bell);
        machine.suspend(task);
        machine.advance(start + 100 - machine.now());
        machine
            .tcb(task, Method::TcbWriteRegisters, &[1, 1, 0x2000], &[])
            .unwrap();
        assert!(machine.runs(task));
    }
    let refills = machine.refills(task.context);
    assert_eq!(refills.len(), 2);
    // No time was replenished earlier than one period after its use.
    assert_eq!(refills[1].0 + refills[1].1, 1220);
}

/// A budget of 100 per 1000; the task runs from 0 to 30, is preempted until 530, and runs again.
fn preempted(budget: Budget) -> Vec<(u64, u64)> {
    let mut machine = Machine::new();
    let notification = machine.notification();
    let high = waiter(&mut machine, "high", 20, notification);
    let task = machine.spawn(Spec::new("task", 10).budget(budget));
    machine.advance(30);
    machine.signal(task, notification);
    assert!(machine.runs(high));
    machine.advance(500);
    machine.wait(high, notification);
    assert!(machine.runs(task));
    machine.advance(70);
    assert_eq!(machine.running(), "none");
    machine.refills(task.context)
}

#[test]
fn preemption_delays_constant_bandwidth() {
    let budget = Budget::new(100, 1000);
    assert_eq!(preempted(budget), [(1000, 30), (1530, 70)]);
}

#[test]
fn preemption_does_not_delay_sporadic_servers() {
    let budget = Budget::new(100, 1000).sporadic();
    assert_eq!(preempted(budget), [(1000, 100)]);
}

#[test]
fn a_woken_sporadic_server_starts_anew() {
    let mut machine = Machine::new();
    let notification = machine.notification();
    let task = machine.spawn(Spec::new("task", 20).budget(Budget::new(100, 1000).sporadic()));
    let other = machine.spawn(Spec::new("other", 10).active());
    machine.rest();
    machine.wait(task, notification);
    machine.advance(400);
    machine.signal(other, notification);
    assert!(machine.runs(task));
    assert_eq!(machine.refills(task.context), [(400, 100)]);
    machine.advance(100);
    assert_eq!(machine.refills(task.context), [(1400, 100)]);
}

#[test]
fn yielding_waits_for_the_next_period() {
    let (mut machine, task) = lone(Budget::new(100, 1000).refills(2));
    machine.advance(10);
    machine.yield_now(task);
    assert_eq!(machine.running(), "none");
    machine.advance_until(|machine| machine.runs(task));
    assert_eq!(machine.now(), 1000);
    // Budget given up by yielding is not counted as consumed.
    let consumed = machine.invoke(task.context, Method::SchedContextConsumed, &[], &[]);
    assert_eq!(consumed, Ok(vec![10]));
}

#[test]
fn one_job_per_period() {
    let (mut machine, task) = lone(Budget::new(100, 1000));
    for job in 0..10 {
        machine.advance_until(|machine| machine.runs(task));
        assert_eq!(machine.now(), job * 1000);
        machine.advance(30);
        machine.yield_now(task);
    }
}

#[test]
fn suspending_gives_no_time_back() {
    let (mut machine, task) = lone(Budget::new(100, 1000));
    machine.advance(60);
    machine.suspend(task);
    machine.resume(task);
    machine.advance(39);
    assert!(machine.runs(task));
    machine.advance(1);
    assert_eq!(machine.running(), "none");
    machine.suspend(task);
    machine.resume(task);
    assert_eq!(machine.running(), "none");
    machine.advance_until(|machine| machine.runs(task));
    assert!(machine.now() >= 1000);
}

#[test]
fn several_contexts_keep_their_shares() {
    let mut machine = Machine::new();
    machine.history = Some(Vec::new());
    let specs = [
        ("a", 30, 100, 1000),
        ("b", 20, 300, 1500),
        ("c", 10, 500, 2000),
    ];
    let tasks = specs.map(|(name, priority, budget, period)| {
        machine.spawn(Spec::new(name, priority).budget(Budget::new(budget, period).sporadic()))
    });
    let idle = machine.spawn(Spec::new("idle", 1).active());
    machine.rest();
    machine.advance(60_000);
    let history = machine.history.take().unwrap();
    let total = |task: Task| -> u64 {
        let context = machine.context(task.context).address();
        (history.iter())
            .filter(|slice| slice.context == context)
            .map(|slice| slice.end.0 - slice.start.0)
            .sum()
    };
    assert_eq!(tasks.map(total), [6_000, 12_000, 15_000]);
    assert_eq!(total(idle), 27_000);
}

#[test]
fn time_that_the_kernel_needs_is_on_the_caller() {
    let (mut machine, task) = lone(Budget::new(100, 1000));
    let notification = machine.notification();
    machine.kernel.arch.time_per_look = kernel::time::Ticks(7);
    for _ in 0..5 {
        machine.signal(task, notification);
    }
    machine.kernel.arch.time_per_look = kernel::time::Ticks(0);
    assert!(machine.runs(task));
    machine.advance(65);
    assert_eq!(machine.running(), "none");
}
