//! Common setup of many tests.

use abi::Method;
use host_machine::{CPtr, Machine, Message, Spec, State, Task};

/// Above any task of a test, below the root task.
const SETUP: u8 = 250;

/// Lets `task` execute its first steps at a priority above all others, then sets its own priority.
fn prepared(
    machine: &mut Machine,
    spec: Spec,
    priority: u8,
    steps: impl Fn(&mut Machine, Task),
) -> Task {
    let task = machine.spawn(spec);
    machine.set_priority(task, SETUP);
    if machine.runs(machine.root) {
        machine.rest();
    }
    steps(machine, task);
    machine.set_priority(task, priority);
    task
}

/// A server with a scheduling context of its own that waits at an endpoint.
pub fn server(
    machine: &mut Machine,
    name: &'static str,
    priority: u8,
    endpoint: CPtr,
    reply: CPtr,
) -> Task {
    let spec = Spec::new(name, priority).active();
    let task = prepared(machine, spec, priority, |machine, task| {
        machine.recv(task, endpoint, reply);
    });
    assert_eq!(machine.state(task), State::Receiving);
    task
}

/// A passive server that waits at an endpoint.
pub fn passive_server(
    machine: &mut Machine,
    name: &'static str,
    priority: u8,
    endpoint: CPtr,
    reply: CPtr,
) -> Task {
    let task = server(machine, name, priority, endpoint, reply);
    make_passive(machine, task);
    task
}

/// A thread with a scheduling context of its own that waits for a notification.
pub fn waiter(machine: &mut Machine, name: &'static str, priority: u8, notification: CPtr) -> Task {
    let spec = Spec::new(name, priority).active();
    let task = prepared(machine, spec, priority, |machine, task| {
        machine.wait(task, notification);
    });
    assert_eq!(machine.state(task), State::Waiting);
    task
}

/// A thread that has sent to an endpoint without a receiver.
pub fn sender(
    machine: &mut Machine,
    name: &'static str,
    priority: u8,
    endpoint: CPtr,
    message: &Message,
) -> Task {
    let spec = Spec::new(name, priority).active();
    let task = prepared(machine, spec, priority, |machine, task| {
        machine.send(task, endpoint, message);
    });
    assert_eq!(machine.state(task), State::Sending);
    task
}

/// A thread that calls an endpoint without a receiver.
pub fn caller(
    machine: &mut Machine,
    name: &'static str,
    priority: u8,
    endpoint: CPtr,
    message: &Message,
) -> Task {
    let spec = Spec::new(name, priority).active();
    let task = prepared(machine, spec, priority, |machine, task| {
        machine.call(task, endpoint, message);
    });
    assert_eq!(machine.state(task), State::Sending);
    task
}

/// Unbinds a task's own scheduling context.
pub fn make_passive(machine: &mut Machine, task: Task) {
    machine
        .invoke(
            task.context,
            Method::SchedContextUnbindObject,
            &[],
            &[task.tcb],
        )
        .unwrap();
    assert!(machine.is_passive(task));
}

/// A message of one word.
pub fn word(word: usize) -> Message {
    Message::new(0, &[word])
}
