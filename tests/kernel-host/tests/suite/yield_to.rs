//! `SchedContext_YieldTo`.

use abi::{Method, slots};
use host_machine::{Answer, Budget, CPtr, Machine, Message, Spec, State, Task, answer};
use kernel::invoke::Error;

use crate::common::make_passive;

fn task(machine: &mut Machine, name: &'static str, priority: u8) -> Task {
    let task = machine.spawn(Spec::new(name, priority).active());
    if machine.runs(machine.root) {
        machine.rest();
    }
    task
}

fn yield_to(machine: &mut Machine, task: Task, context: CPtr) {
    let message = Message::new(Method::SchedContextYieldTo.number(), &[]);
    machine.call(task, context, &message);
}

fn result(machine: &Machine, task: Task) -> Answer {
    answer(machine.received(task))
}

#[test]
fn some_targets_are_refused() {
    let mut machine = Machine::new();
    let yielder = task(&mut machine, "yielder", 10);
    let high = machine.spawn(Spec::new("high", 50).active().suspended());
    let free = machine.new_context(Budget::slice(1000));
    machine
        .tcb(
            yielder,
            Method::TcbSetMcPriority,
            &[49],
            &[slots::INIT_THREAD_TCB],
        )
        .unwrap();
    for context in [yielder.context, high.context, free] {
        yield_to(&mut machine, yielder, context);
        assert!(machine.runs(yielder));
        assert_eq!(result(&machine, yielder), Err(Error::IllegalOperation));
    }
}

#[test]
fn the_target_runs_and_the_yielder_learns_what_it_used() {
    let mut machine = Machine::new();
    let yielder = task(&mut machine, "yielder", 10);
    let target = task(&mut machine, "target", 10);
    if machine.runs(target) {
        machine.yield_now(target);
    }
    machine.advance(30);
    yield_to(&mut machine, yielder, target.context);
    assert!(machine.runs(target));
    machine.advance(123);
    let never = machine.notification();
    machine.wait(target, never);
    assert!(machine.runs(yielder));
    assert_eq!(result(&machine, yielder), Ok(vec![123]));
}

#[test]
fn lower_priority_and_unable_targets_answer_at_once() {
    let mut machine = Machine::new();
    let yielder = task(&mut machine, "yielder", 10);
    let low = task(&mut machine, "low", 5);
    yield_to(&mut machine, yielder, low.context);
    assert!(machine.runs(yielder));
    assert_eq!(result(&machine, yielder), Ok(vec![0]));
    let suspended = machine.spawn(Spec::new("suspended", 20).active().suspended());
    yield_to(&mut machine, yielder, suspended.context);
    assert!(machine.runs(yielder));
    assert_eq!(result(&machine, yielder), Ok(vec![0]));
    // The target was moved to the head of its ready queue.
    let other = task(&mut machine, "other", 5);
    yield_to(&mut machine, yielder, low.context);
    machine.suspend(yielder);
    assert!(machine.runs(low));
    machine.yield_now(low);
    assert!(machine.runs(other));
}

#[test]
fn a_target_without_budget_answers_at_once() {
    let mut machine = Machine::new();
    let spec = Spec::new("target", 20).budget(Budget::new(100, 1000).refills(2));
    let target = machine.spawn(spec);
    let yielder = task(&mut machine, "yielder", 10);
    machine.advance(100);
    assert!(machine.runs(yielder));
    yield_to(&mut machine, yielder, target.context);
    assert!(machine.runs(yielder));
    assert_eq!(result(&machine, yielder), Ok(vec![100]));
    yield_to(&mut machine, yielder, target.context);
    assert_eq!(result(&machine, yielder), Ok(vec![0]));
}

/// A yielder that waits for its target; the target runs.
fn pending() -> (Machine, Task, Task) {
    let mut machine = Machine::new();
    let yielder = task(&mut machine, "yielder", 20);
    let target = machine.spawn(Spec::new("target", 20).active());
    machine.yield_now(target);
    assert!(machine.runs(yielder));
    yield_to(&mut machine, yielder, target.context);
    assert!(machine.runs(target));
    machine.advance(50);
    (machine, yielder, target)
}

#[test]
fn suspending_the_target_answers_the_yielder() {
    let (mut machine, yielder, target) = pending();
    machine.suspend(target);
    assert!(machine.runs(yielder));
    assert_eq!(result(&machine, yielder), Ok(vec![50]));
}

#[test]
fn deleting_the_target_answers_the_yielder() {
    for delete_thread in [false, true] {
        let (mut machine, yielder, target) = pending();
        machine.delete(if delete_thread {
            target.tcb
        } else {
            target.context
        });
        assert!(machine.runs(yielder));
        assert_eq!(result(&machine, yielder), Ok(vec![50]));
    }
}

#[test]
fn suspending_the_yielder_forgets_the_result() {
    let (mut machine, yielder, target) = pending();
    machine.suspend(yielder);
    machine.advance(50);
    assert!(machine.runs(target));
    machine.suspend(target);
    assert_eq!(machine.running(), "none");
    // When resumed, it continues after its call; the consumed time was not read.
    machine.resume(yielder);
    assert!(machine.runs(yielder));
    let answer = machine.invoke(target.context, Method::SchedContextConsumed, &[], &[]);
    assert_eq!(answer, Ok(vec![100]));
}

#[test]
fn deleting_the_yielder_frees_the_target() {
    let (mut machine, yielder, target) = pending();
    machine.delete(yielder.tcb);
    assert!(machine.runs(target));
    let other = machine.spawn(Spec::new("other", 30).active());
    yield_to(&mut machine, other, target.context);
    assert!(machine.runs(other));
    assert_eq!(result(&machine, other), Ok(vec![50]));
}

#[test]
fn a_second_yielder_completes_the_first() {
    let (mut machine, yielder, target) = pending();
    let second = machine.spawn(Spec::new("second", 30).active());
    machine.set_priority(target, 30);
    machine.yield_now(target);
    yield_to(&mut machine, second, target.context);
    // Committed time is reported once, to the first yielder.
    assert_eq!(result(&machine, yielder), Ok(vec![50]));
    assert!(machine.runs(target));
    machine.advance(7);
    machine.suspend(target);
    assert!(machine.runs(second));
    assert_eq!(result(&machine, second), Ok(vec![7]));
    assert_eq!(machine.state(yielder), State::Runnable);
}

#[test]
fn unbinding_the_target_answers_when_the_yielder_runs() {
    let (mut machine, yielder, target) = pending();
    make_passive(&mut machine, target);
    assert!(machine.runs(yielder));
    assert_eq!(result(&machine, yielder), Ok(vec![50]));
}
