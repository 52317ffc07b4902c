//! System calls that send and receive: `ReplyRecv`, `NBSendRecv`, `NBSendWait`.

use abi::{Method, Syscall, slots};
use host_machine::{CPtr, Machine, Message, Operands, Spec, State, Task};
use kernel::object::Progress;

use crate::common::{passive_server, sender, server, waiter, word};

/// An active thread, and a passive one that waits.
struct Scene {
    machine: Machine,
    endpoint: CPtr,
    reply: CPtr,
    passive: Task,
    active: Task,
}

impl Scene {
    fn new() -> Self {
        let mut machine = Machine::new();
        let (endpoint, reply) = (machine.endpoint(), machine.reply());
        let passive = passive_server(&mut machine, "passive", 20, endpoint, reply);
        let active = machine.spawn(Spec::new("active", 10).active());
        Self {
            machine,
            endpoint,
            reply,
            passive,
            active,
        }
    }
}

#[test]
fn the_first_phase_lends_time_for_good() {
    let mut scene = Scene::new();
    let machine = &mut scene.machine;
    let (own, reply) = (machine.endpoint(), machine.reply());
    machine.nb_send_recv(scene.active, scene.endpoint, &word(1), own, reply);
    assert_eq!(machine.running(), "passive");
    assert_eq!(machine.received(scene.passive).words, [1]);
    assert_eq!(machine.holder(scene.active.context), "passive");
    assert_eq!(machine.state(scene.active), State::Receiving);
    // And back the same way: ping-pong on one context.
    machine.nb_send_recv(scene.passive, own, &word(2), scene.endpoint, scene.reply);
    assert_eq!(machine.running(), "active");
    assert_eq!(machine.received(scene.active).words, [2]);
    assert_eq!(machine.holder(scene.active.context), "active");
}

#[test]
fn the_first_phase_donates_nothing_to_active_threads() {
    let mut machine = Machine::new();
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    let server = server(&mut machine, "server", 20, endpoint, reply);
    let client = machine.spawn(Spec::new("client", 10).active());
    let notification = machine.notification();
    machine.nb_send_wait(client, endpoint, &word(1), notification);
    assert_eq!(machine.running(), "server");
    assert_eq!(machine.holder(client.context), "client");
    assert_eq!(machine.state(client), State::Waiting);
    assert_eq!(machine.received(server).words, [1]);
}

#[test]
fn nb_send_wait_sends_to_the_reply_register() {
    let mut scene = Scene::new();
    let notification = scene.machine.notification();
    scene
        .machine
        .nb_send_wait(scene.active, scene.endpoint, &word(7), notification);
    assert_eq!(scene.machine.running(), "passive");
    assert_eq!(scene.machine.state(scene.active), State::Waiting);
    assert!(scene.machine.is_passive(scene.active));
    // The signal wakes it, but it has no scheduling context.
    scene.machine.signal(scene.passive, notification);
    assert_eq!(scene.machine.state(scene.active), State::Runnable);
    assert_eq!(scene.machine.running(), "passive");
}

#[test]
fn reply_recv_takes_any_capability_as_reply() {
    let mut scene = Scene::new();
    let machine = &mut scene.machine;
    let notification = machine.notification();
    let waiting = waiter(machine, "waiting", 30, notification);
    // The notification is signalled; the second phase then fails, as it is not a reply capability.
    machine.reply_recv(scene.active, scene.endpoint, notification, &word(1));
    assert_eq!(machine.running(), "waiting");
    assert_eq!(machine.state(waiting), State::Runnable);
    assert_eq!(machine.state(scene.active), State::Inactive);
}

/// A later operation begins at its beginning.
#[test]
fn failures_of_the_first_phase_are_skipped() {
    let mut machine = Machine::new();
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    let weak = machine.mint(endpoint, abi::Rights::READ, 0);
    let empty = machine.slot();
    for target in [usize::MAX, empty, slots::NULL, weak, slots::INIT_THREAD_TCB] {
        let task = machine.spawn(Spec::new("task", 20).active());
        if machine.runs(machine.root) {
            machine.rest();
        }
        // It is what is left of an operation that was preempted, and has failed since then.
        machine.kernel[task.thread].progress = Progress::Range { next: 1 };
        machine.nb_send_recv(task, target, &word(1), endpoint, reply);
        assert_eq!(machine.state(task), State::Receiving, "{target}");
        let progress = &machine.kernel[task.thread].progress;
        assert!(matches!(progress, Progress::None), "{target}");
        machine.suspend(task);
    }
}

#[test]
fn some_objects_refuse_the_first_phase() {
    let mut machine = Machine::new();
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    let victim = machine.spawn(Spec::new("victim", 10).active());
    let empty = machine.slot();
    for (target, method, words) in [
        (victim.tcb, Method::TcbSuspend, vec![]),
        (
            slots::INIT_THREAD_CNODE,
            Method::CNodeDelete,
            vec![victim.tcb, abi::WORD_BITS],
        ),
        (victim.context, Method::SchedContextUnbind, vec![]),
        (slots::DOMAIN, Method::DomainScheduleSetStart, vec![0]),
    ] {
        let task = machine.spawn(Spec::new("task", 20).active());
        if machine.runs(machine.root) {
            machine.rest();
        }
        let message = Message::new(method.number(), &words);
        machine.nb_send_recv(task, target, &message, endpoint, reply);
        assert_eq!(machine.state(task), State::Receiving);
        assert_eq!(machine.running(), "victim");
        machine.suspend(task);
    }
    // Other methods are performed.
    let task = machine.spawn(Spec::new("task", 20).active());
    let untyped = machine.untyped(12);
    let kind = abi::ObjectType::Endpoint.number();
    let message = Message::new(Method::UntypedRetype.number(), &[kind, 0, 0, 0, empty, 1])
        .with_caps(&[slots::INIT_THREAD_CNODE]);
    machine.nb_send_recv(task, untyped, &message, endpoint, reply);
    assert!(!machine.is_empty(empty));
    assert_eq!(machine.state(task), State::Receiving);
}

#[test]
fn a_waiting_plain_message_is_received_without_time() {
    let mut scene = Scene::new();
    let machine = &mut scene.machine;
    let queue = machine.endpoint();
    let reply = machine.reply();
    sender(machine, "sender", 5, queue, &word(9));
    machine.nb_send_recv(scene.active, scene.endpoint, &word(1), queue, reply);
    // It has the message, but has donated its context.
    assert_eq!(machine.state(scene.active), State::Runnable);
    assert!(machine.is_passive(scene.active));
    assert_eq!(machine.received(scene.active).words, [9]);
    assert_eq!(machine.running(), "passive");
}

#[test]
fn an_interrupted_first_phase_is_done_again() {
    let mut machine = Machine::new();
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    let memory = machine.untyped(12);
    let slot = machine.slots(2);
    machine
        .retype(memory, abi::ObjectType::X86Page4K, 0, slot, 1)
        .unwrap();
    machine.delete(slot);
    let task = machine.spawn(Spec::new("task", 20).active());
    machine.rest();
    let words = [abi::ObjectType::X86Page4K.number(), 0, 0, 0, slot, 1];
    let message =
        Message::new(Method::UntypedRetype.number(), &words).with_caps(&[slots::INIT_THREAD_CNODE]);
    machine.kernel.arch.ambush = Some((3, kernel::arch::Irq(0)));
    machine.nb_send_recv(task, memory, &message, endpoint, reply);
    assert_eq!(machine.running(), "root");
    assert_eq!(machine.state(task), State::Runnable);
    machine.rest();
    assert!(!machine.is_empty(slot));
    assert_eq!(machine.state(task), State::Receiving);
}

#[test]
fn a_reply_then_a_fault_in_the_second_phase() {
    let mut machine = Machine::new();
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    let server = server(&mut machine, "server", 20, endpoint, reply);
    let client = machine.spawn(Spec::new("client", 10).active());
    machine.call(client, endpoint, &word(1));
    let empty = machine.slot();
    let operands = Operands {
        cap: empty,
        reply,
        destination: 0,
    };
    machine.syscall(server, Syscall::ReplyRecv, operands, &word(2));
    // The reply was sent; the receive phase failed.
    assert_eq!(machine.received(client).words, [2]);
    assert_eq!(machine.running(), "client");
    assert_eq!(machine.state(server), State::Inactive);
}
