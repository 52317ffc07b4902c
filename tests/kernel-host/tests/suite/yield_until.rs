//! `YieldUntilBudget`.

use abi::Syscall;
use abi::endpoint_flags::LIMIT;
use abi::fault::FaultLabel;
use host_machine::machine::Operands;
use host_machine::{Answer, Budget, Machine, Message, Spec, State, Task, answer};
use kernel::invoke::Error;

use crate::common::{passive_server, server, word};
use crate::thresholds::{LONGEST, set_threshold};

const BUDGET: Budget = Budget::new(200, 1000);

/// A running task with a budget, of which it has used `time`.
fn used(budget: Budget, time: u64) -> (Machine, Task) {
    let mut machine = Machine::new();
    let task = machine.spawn(Spec::new("task", 10).budget(budget));
    machine.rest();
    assert!(machine.runs(task));
    machine.advance(time);
    (machine, task)
}

fn result(machine: &Machine, task: Task) -> Answer {
    answer(machine.received(task))
}

#[test]
fn a_thread_with_enough_budget_continues_at_once() {
    for amount in [0, 1, 120] {
        let (mut machine, task) = used(BUDGET, 80);
        machine.yield_until_budget(task, amount);
        assert!(machine.runs(task));
        assert_eq!(result(&machine, task), Ok(vec![]));
        // The system call itself costs no budget.
        machine.advance(100);
        assert!(machine.runs(task));
        assert_eq!(machine.now(), 180);
    }
}

#[test]
fn an_amount_is_one_word() {
    let (mut machine, task) = used(BUDGET, 80);
    let message = Message::new(0, &[120, 1]);
    machine.syscall(
        task,
        Syscall::YieldUntilBudget,
        Operands::default(),
        &message,
    );
    assert_eq!(result(&machine, task), Ok(vec![]));
    assert!(machine.runs(task));
}

#[test]
fn the_longest_slice_there_can_be_is_had_at_once() {
    let (mut machine, task) = used(Budget::slice(LONGEST), 0);
    machine.yield_until_budget(task, LONGEST);
    assert_eq!(result(&machine, task), Ok(vec![]));
    machine.yield_until_budget(task, LONGEST + 1);
    assert!(result(&machine, task).is_err());
    assert!(machine.runs(task));
}

#[test]
fn a_thread_with_too_little_budget_waits_for_exactly_that_much() {
    let (mut machine, task) = used(BUDGET, 80);
    machine.yield_until_budget(task, 121);
    assert_eq!(machine.running(), "none");
    assert_eq!(machine.state(task), State::Runnable);
    assert_eq!(machine.refills(task.context), [(880, 200)]);
    machine.advance(799);
    assert_eq!(machine.running(), "none");
    machine.advance(1);
    assert!(machine.runs(task), "at 880");
    assert_eq!(result(&machine, task), Ok(vec![]));
    // It continues after its call, and has the requested amount without interruption.
    machine.advance(180);
    assert!(machine.runs(task));
    machine.advance(20);
    assert_eq!(machine.running(), "none");
}

#[test]
fn no_more_is_merged_than_it_takes() {
    let (mut machine, task) = used(BUDGET.sporadic(), 0);
    let bell = machine.notification();
    for _ in 0..4 {
        machine.advance(40);
        machine.wait(task, bell);
        machine.advance(100);
        machine.by_root(|machine, root| machine.signal(root, bell));
    }
    assert_eq!(
        machine.refills(task.context),
        [(560, 40), (1000, 40), (1140, 40), (1280, 40), (1420, 40)]
    );
    machine.yield_until_budget(task, 100);
    assert_eq!(
        machine.refills(task.context),
        [(1060, 120), (1280, 40), (1420, 40)]
    );
    machine.advance(500);
    assert!(machine.runs(task));
}

#[test]
fn an_amount_above_the_budget_is_refused_at_once() {
    for amount in [201, u64::MAX] {
        let (mut machine, task) = used(BUDGET, 80);
        machine.yield_until_budget(task, amount);
        assert!(machine.runs(task));
        let Err(Error::BudgetTooSmall { needed, budget }) = result(&machine, task) else {
            panic!("no error was reported");
        };
        assert!(needed == amount as usize && budget == 200);
        machine.advance(100);
        assert!(machine.runs(task), "it has lost nothing");
    }
}

#[test]
fn the_whole_budget_can_be_waited_for() {
    let (mut machine, task) = used(BUDGET, 1);
    for _ in 0..3 {
        machine.yield_until_budget(task, 200);
        assert_eq!(machine.running(), "none");
        machine.advance_until(|machine| machine.runs(task));
        assert_eq!(machine.refills(task.context)[0].1, 200);
        machine.advance(150);
        assert!(machine.runs(task));
    }
}

#[test]
fn a_slice_is_waited_for_in_turn() {
    let (mut machine, task) = used(Budget::slice(200), 0);
    let equal = machine.spawn(Spec::new("equal", 10).budget(Budget::slice(300)));
    machine.yield_now(if machine.runs(task) { task } else { equal });
    let equal_first = machine.runs(equal);
    if equal_first {
        machine.yield_now(equal);
    }
    assert!(machine.runs(task));
    machine.advance(150);
    machine.yield_until_budget(task, 50);
    assert!(machine.runs(task));
    machine.yield_until_budget(task, 51);
    assert!(machine.runs(equal));
    machine.advance(300);
    assert!(machine.runs(task));
    machine.advance(199);
    assert!(machine.runs(task), "its slice is a full one");
}

#[test]
fn alone_a_new_slice_begins_at_once() {
    let (mut machine, task) = used(Budget::slice(200), 150);
    machine.yield_until_budget(task, 200);
    assert!(machine.runs(task));
    assert_eq!(machine.refills(task.context)[0].1, 200);
}

#[test]
fn waiting_is_no_timeout() {
    let mut machine = Machine::new();
    let (faults, reply) = (machine.endpoint(), machine.reply());
    let handler = server(&mut machine, "handler", 30, faults, reply);
    let task = machine.spawn(Spec::new("task", 10).budget(BUDGET).timeout_handler(faults));
    machine.advance(100);
    machine.yield_until_budget(task, 150);
    assert_eq!(machine.running(), "none");
    machine.advance_until(|machine| machine.runs(task));
    assert_eq!(machine.state(handler), State::Receiving);
    // Using up the budget later is a timeout.
    machine.advance(200);
    assert!(machine.runs(handler));
    assert_eq!(
        machine.received(handler).label,
        FaultLabel::Timeout as usize
    );
}

#[test]
fn a_limit_bounds_what_can_be_waited_for() {
    let mut machine = Machine::new();
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    set_threshold(&mut machine, endpoint, 100, LIMIT).unwrap();
    let server = passive_server(&mut machine, "server", 20, endpoint, reply);
    let client = machine.spawn(Spec::new("client", 10).budget(BUDGET));
    machine.call(client, endpoint, &word(1));
    machine.advance(30);
    machine.yield_until_budget(server, 70);
    assert!(machine.runs(server));
    assert_eq!(result(&machine, server), Ok(vec![]));
    machine.yield_until_budget(server, 71);
    assert!(machine.runs(server));
    let too_small = Error::BudgetTooSmall {
        needed: 71,
        budget: 70,
    };
    assert_eq!(result(&machine, server), Err(too_small));
}

#[test]
fn a_waiting_thread_can_be_stopped_and_reconfigured() {
    let (mut machine, task) = used(BUDGET, 80);
    machine.yield_until_budget(task, 150);
    machine.suspend(task);
    machine.advance(2000);
    assert_eq!(machine.running(), "none");
    machine.resume(task);
    assert!(machine.runs(task), "the call is over");
    machine.advance(100);
    machine.yield_until_budget(task, 200);
    machine
        .configure(task.context, Budget::new(300, 600))
        .unwrap();
    machine.advance_until(|machine| machine.runs(task));
    machine.delete(task.context);
    assert_eq!(machine.running(), "none");
}
