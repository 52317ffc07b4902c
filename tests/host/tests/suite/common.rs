//! What many tests begin with.

use abi::Method;
use host_tests::{CPtr, Machine, Message, Spec, State, Task};

/// More urgent than any task of a test, less than the root task.
const SETUP: u8 = 250;

/// Lets `task` make its first steps at a priority above all others, then gives it its own.
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

/// A server with time of its own that waits at an endpoint.
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

/// A server without time that waits at an endpoint.
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

/// A thread with time of its own that waits for a notification.
pub fn waiter(machine: &mut Machine, name: &'static str, priority: u8, notification: CPtr) -> Task {
    let spec = Spec::new(name, priority).active();
    let task = prepared(machine, spec, priority, |machine, task| {
        machine.wait(task, notification);
    });
    assert_eq!(machine.state(task), State::Waiting);
    task
}

/// A thread that has sent to an endpoint where nobody receives.
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

/// A thread that calls an endpoint where nobody receives.
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

/// Takes its own scheduling context from a task.
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
