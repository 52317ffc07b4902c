//! Scheduling: priorities, queues, round robin, Yield.

use abi::{Method, slots};
use host_machine::{Budget, Machine, Message, Spec, State, Task};
use kernel::invoke::Error;
use kernel::object::Fault;

use crate::common::{make_passive, sender, waiter, word};

/// Active tasks of the given priorities; the root task rests.
fn tasks<const N: usize>(machine: &mut Machine, specs: [(&'static str, u8); N]) -> [Task; N] {
    let tasks = specs.map(|(name, priority)| machine.spawn(Spec::new(name, priority).active()));
    if machine.runs(machine.root) {
        machine.rest();
    }
    tasks
}

#[test]
fn the_highest_priority_thread_runs() {
    let mut machine = Machine::with_memory(22);
    // One thread at every priority, in mixed order.
    let mut all: Vec<(u8, Task)> = Vec::new();
    for index in 0..=254u8 {
        let priority = (u16::from(index) * 7 % 255) as u8;
        let spec = Spec::new("thread", priority)
            .budget(Budget::slice(10_000))
            .without_buffer();
        all.push((priority, machine.spawn(spec)));
    }
    machine.rest();
    all.sort_by_key(|(priority, _)| std::cmp::Reverse(*priority));
    let never = machine.notification();
    for (_, task) in all {
        assert!(machine.runs(task));
        machine.wait(task, never);
    }
    assert_eq!(machine.running(), "none");
}

#[test]
fn equals_take_turns_of_one_slice() {
    let mut machine = Machine::new();
    let names = ["one", "two", "three"];
    for name in names {
        machine.spawn(Spec::new(name, 10).budget(Budget::slice(1000)));
    }
    machine.rest();
    // The first thread that became ready runs; each later one was queued before the earlier ones.
    let mut order = Vec::new();
    for _ in 0..6 {
        order.push(machine.running());
        machine.advance(999);
        assert_eq!(machine.running(), order[order.len() - 1]);
        machine.advance(1);
    }
    assert_eq!(order[..3], order[3..]);
    let mut seen = order[..3].to_vec();
    seen.sort();
    assert_eq!(seen, ["one", "three", "two"]);
}

#[test]
fn yielding_gives_way_for_one_slice() {
    let mut machine = Machine::new();
    let [one, two] = [("one", 10), ("two", 10)].map(|(name, priority)| {
        machine.spawn(Spec::new(name, priority).budget(Budget::slice(1000)))
    });
    machine.rest();
    let (first, second) = if machine.runs(one) {
        (one, two)
    } else {
        (two, one)
    };
    machine.advance(100);
    machine.yield_now(first);
    assert!(machine.runs(second));
    machine.advance(999);
    assert!(machine.runs(second));
    machine.advance(1);
    assert!(machine.runs(first));
    // The thread that yielded has a full slice, too.
    machine.advance(999);
    assert!(machine.runs(first));
    machine.advance(1);
    assert!(machine.runs(second));
    // Yielding does not let lower-priority threads run.
    machine.suspend(first);
    let low = machine.spawn(Spec::new("low", 5).active());
    machine.yield_now(second);
    assert!(machine.runs(second));
    assert_eq!(machine.state(low), State::Runnable);
}

#[test]
fn a_preempted_slice_is_kept() {
    let mut machine = Machine::new();
    let notification = machine.notification();
    let high = waiter(&mut machine, "high", 20, notification);
    let [one, two] = [("one", 10), ("two", 10)].map(|(name, priority)| {
        machine.spawn(Spec::new(name, priority).budget(Budget::slice(1000)))
    });
    let (first, second) = if machine.runs(one) {
        (one, two)
    } else {
        (two, one)
    };
    machine.advance(600);
    machine.signal(first, notification);
    assert!(machine.runs(high));
    machine.advance(50);
    machine.wait(high, notification);
    assert!(machine.runs(first), "it was put in front");
    machine.advance(399);
    assert!(machine.runs(first));
    machine.advance(1);
    assert!(machine.runs(second));
}

#[test]
fn priorities_need_authority() {
    let mut machine = Machine::new();
    let [task, boss] = tasks(&mut machine, [("task", 10), ("boss", 20)]);
    let root = slots::INIT_THREAD_TCB;
    machine
        .tcb(boss, Method::TcbSetMcPriority, &[30], &[root])
        .unwrap();
    let limit = Err(Error::Range {
        minimum: 0,
        maximum: 30,
    });
    for method in [Method::TcbSetPriority, Method::TcbSetMcPriority] {
        assert_eq!(machine.tcb(task, method, &[31], &[boss.tcb]), limit);
        assert_eq!(machine.tcb(task, method, &[usize::MAX], &[boss.tcb]), limit);
        assert_eq!(machine.tcb(task, method, &[30], &[boss.tcb]), Ok(vec![]));
        assert_eq!(
            machine.tcb(task, method, &[0], &[task.context]),
            Err(Error::InvalidCapability(1))
        );
        assert_eq!(machine.tcb(task, method, &[0], &[]), Err(Error::Truncated));
        assert_eq!(
            machine.tcb(task, method, &[], &[root]),
            Err(Error::Truncated)
        );
    }
    // A thread's own priority and its maximum controlled priority do not limit each other.
    assert_eq!(machine.thread(task).priority, 30);
    assert_eq!(machine.thread(task).max_controlled_priority, 30);
    machine
        .tcb(task, Method::TcbSetMcPriority, &[1], &[boss.tcb])
        .unwrap();
    assert_eq!(machine.thread(task).priority, 30);
}

#[test]
fn two_threads_woken_at_once_run_by_priority() {
    for (first, second, runs) in [(20, 30, "second"), (30, 20, "first"), (20, 20, "second")] {
        let mut machine = Machine::new();
        let endpoint = machine.endpoint();
        // Both wait to send; the deletion of the endpoint wakes them in one kernel entry. They become
        // ready in the order of the wait queue; of equals the last one is first.
        let first = sender(&mut machine, "first", first, endpoint, &word(1));
        let second = sender(&mut machine, "second", second, endpoint, &word(2));
        let low = machine.spawn(Spec::new("low", 10).active());
        let message = Message::new(Method::CNodeDelete.number(), &[endpoint, abi::WORD_BITS]);
        machine.call(low, slots::INIT_THREAD_CNODE, &message);
        assert_eq!(machine.running(), runs);
        for task in [first, second] {
            assert_eq!(machine.state(task), State::Runnable);
        }
    }
}

#[test]
fn suspended_threads_do_not_run() {
    let mut machine = Machine::new();
    let [low, high] = tasks(&mut machine, [("low", 10), ("high", 20)]);
    machine.suspend(high);
    assert!(machine.runs(low));
    // Resuming a running thread has no effect.
    machine.resume(low);
    assert!(machine.runs(low));
    machine.resume(high);
    assert!(machine.runs(high));
    // It may suspend itself; when resumed, it repeats the call.
    machine.call(
        high,
        high.tcb,
        &Message::new(Method::TcbSuspend.number(), &[]),
    );
    assert_eq!(machine.state(high), State::Inactive);
    machine.resume(high);
    assert_eq!(machine.state(high), State::Inactive);
    // With a new program counter, it continues.
    machine
        .tcb(high, Method::TcbWriteRegisters, &[1, 1, 0x2000], &[])
        .unwrap();
    assert!(machine.runs(high));
}

#[test]
fn threads_without_time_do_not_run() {
    let mut machine = Machine::new();
    let passive = machine.spawn(Spec::new("passive", 30));
    let [low] = tasks(&mut machine, [("low", 10)]);
    assert!(machine.runs(low));
    assert_eq!(machine.state(passive), State::Runnable);
    // An unconfigured context has no budget.
    let context = machine.create(abi::ObjectType::SchedContext, 8);
    machine.bind(context, passive.tcb).unwrap();
    assert!(machine.runs(low));
    machine.configure(context, Budget::slice(1000)).unwrap();
    assert!(machine.runs(passive));
    make_passive(&mut machine, Task { context, ..passive });
    assert!(machine.runs(low));
    machine.delete(context);
    machine.suspend(passive);
    machine.resume(passive);
    assert!(machine.runs(low));
}

#[test]
fn a_faulting_thread_without_handler_stops() {
    let mut machine = Machine::new();
    let [low, high] = tasks(&mut machine, [("low", 10), ("high", 20)]);
    machine.fault(
        high,
        Fault::Vm {
            address: 1,
            status: 2,
            instruction: false,
        },
    );
    assert_eq!(machine.state(high), State::Inactive);
    assert!(machine.runs(low));
}

#[test]
fn unknown_system_calls_are_faults() {
    for number in [
        0,
        1,
        0usize.wrapping_sub(12),
        0usize.wrapping_sub(34),
        usize::MAX / 2,
    ] {
        let mut machine = Machine::new();
        let [low, high] = tasks(&mut machine, [("low", 10), ("high", 20)]);
        machine.trap(high, number);
        assert_eq!(machine.state(high), State::Inactive, "{number:#x}");
        assert!(machine.runs(low));
    }
}
