//! Timeout faults: reporting to a handler that a budget is used up.

use abi::fault::FaultLabel;
use abi::registers::PC;
use abi::{ErrorCode, Method, ObjectType, Rights};
use host_machine::{Budget, CPtr, Machine, Message, Received, Spec, State, Task};
use kernel::arch::UserContext;

use crate::common::{passive_server, server, word};

const BUDGET: Budget = Budget::new(100, 1000).refills(2).badge(55);

/// A handler that waits, and a task with timeouts that are sent to it with badge 6.
struct Scene {
    machine: Machine,
    endpoint: CPtr,
    reply: CPtr,
    handler: Task,
    task: Task,
}

impl Scene {
    fn new() -> Self {
        Self::with_budget(BUDGET)
    }

    fn with_budget(budget: Budget) -> Self {
        let mut machine = Machine::new();
        let (endpoint, reply) = (machine.endpoint(), machine.reply());
        let handler = server(&mut machine, "handler", 5, endpoint, reply);
        let cap = machine.mint(endpoint, Rights::from_word(9), 6);
        let spec = Spec::new("task", 10).budget(budget).timeout_handler(cap);
        let task = machine.spawn(spec);
        Self {
            machine,
            endpoint,
            reply,
            handler,
            task,
        }
    }

    fn assert_timeout(&self, consumed: usize) {
        assert_eq!(
            self.machine.received(self.handler),
            timeout(consumed),
            "what the handler got"
        );
    }

    fn reply(&mut self, label: usize, words: &[usize]) {
        let message = Message::new(label, words);
        self.machine
            .reply_recv(self.handler, self.endpoint, self.reply, &message);
    }
}

/// The timeout message: badges of endpoint and context, and microseconds.
fn timeout(consumed: usize) -> Received {
    Received {
        badge: 6,
        label: FaultLabel::Timeout as usize,
        words: vec![55, consumed],
        ..Received::default()
    }
}

#[test]
fn the_end_of_a_budget_is_told() {
    let mut scene = Scene::new();
    assert!(scene.machine.runs(scene.task));
    scene.machine.advance(99);
    assert!(scene.machine.runs(scene.task));
    scene.machine.advance(1);
    assert_eq!(scene.machine.running(), "handler");
    scene.assert_timeout(100);
    assert_eq!(scene.machine.state(scene.task), State::Calling);
    assert_eq!(scene.machine.holder(scene.task.context), "task");
    // The report resets the count.
    let context = scene.task.context;
    let consumed = scene
        .machine
        .invoke(context, Method::SchedContextConsumed, &[], &[]);
    assert_eq!(consumed, Ok(vec![0]));
}

#[test]
fn after_the_reply_it_waits_for_its_budget() {
    let mut scene = Scene::new();
    let pc = scene.machine.kernel[scene.task.thread].context.next_pc();
    scene.machine.advance(100);
    scene.reply(0, &[]);
    assert_eq!(scene.machine.running(), "none");
    assert_eq!(scene.machine.state(scene.task), State::Runnable);
    scene
        .machine
        .advance_until(|machine| machine.runs(scene.task));
    assert_eq!(scene.machine.now(), 1000);
    let context = &scene.machine.kernel[scene.task.thread].context;
    assert_eq!(context.next_pc(), pc);
    scene.machine.advance(100);
    scene.assert_timeout(100);
}

#[test]
fn the_handler_may_stop_or_redirect_it() {
    let mut scene = Scene::new();
    scene.machine.advance(100);
    scene.reply(1, &[0x4000]);
    assert_eq!(scene.machine.state(scene.task), State::Inactive);
    assert_eq!(scene.machine.register(scene.task, PC), 0x4000);

    let mut scene = Scene::new();
    scene.machine.advance(100);
    scene.reply(0, &[0x4000, 0x7000]);
    scene
        .machine
        .advance_until(|machine| machine.runs(scene.task));
    let context = &scene.machine.kernel[scene.task.thread].context;
    assert_eq!(
        (context.next_pc(), context.get(abi::registers::SP)),
        (0x4000, 0x7000)
    );
}

#[test]
fn an_early_end_is_told_too() {
    let mut scene = Scene::new();
    let notification = scene.machine.notification();
    scene.machine.advance(85);
    scene.machine.signal(scene.task, notification);
    assert_eq!(scene.machine.running(), "handler");
    scene.assert_timeout(85);
    // The signal was not sent yet; that happens after the reply, once there is budget.
    scene.machine.nb_wait(scene.handler, notification);
    scene.reply(0, &[]);
    scene
        .machine
        .advance_until(|machine| machine.runs(scene.task));
    scene.machine.nb_wait(scene.task, notification);
    assert_eq!(scene.machine.now(), 985);
}

#[test]
fn time_slices_and_yields_do_not_time_out() {
    let mut scene = Scene::with_budget(Budget::slice(100));
    scene.machine.advance(1000);
    assert!(scene.machine.runs(scene.task));
    assert_eq!(scene.machine.state(scene.handler), State::Receiving);

    let mut scene = Scene::new();
    scene.machine.advance(50);
    scene.machine.yield_now(scene.task);
    assert_eq!(scene.machine.running(), "none");
    assert_eq!(scene.machine.state(scene.handler), State::Receiving);
}

#[test]
fn a_timeout_waits_for_its_handler() {
    let mut scene = Scene::new();
    let never = scene.machine.notification();
    scene.machine.suspend(scene.handler);
    scene.machine.advance(100);
    assert_eq!(scene.machine.state(scene.task), State::Sending);
    scene.machine.advance(2000);
    assert_eq!(scene.machine.running(), "none");
    let late = scene.machine.spawn(Spec::new("late", 5).active());
    scene.machine.recv(late, scene.endpoint, scene.reply);
    assert_eq!(scene.machine.received(late), timeout(100));
    // Two periods have passed, so the task runs immediately after the reply.
    scene.machine.send(late, scene.reply, &Message::default());
    assert!(scene.machine.runs(scene.task));
    scene.machine.wait(scene.task, never);
    assert_eq!(scene.machine.running(), "late");
}

#[test]
fn a_timeout_that_waits_lends_nothing() {
    let mut machine = Machine::new();
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    let (other, other_reply) = (machine.endpoint(), machine.reply());
    let server = passive_server(&mut machine, "server", 20, other, other_reply);
    let spec = Spec::new("task", 10)
        .budget(BUDGET)
        .timeout_handler(endpoint);
    let task = machine.spawn(spec);
    machine.advance(100);
    assert_eq!(machine.state(task), State::Sending);
    // The server receives the message after it has returned its client's context.
    let client = machine.spawn(Spec::new("client", 10).active());
    machine.call(client, other, &word(1));
    assert_eq!(machine.running(), "server");
    machine.nb_send_recv(server, other_reply, &word(2), endpoint, reply);
    let label = machine.received(server).label;
    assert_eq!(label, FaultLabel::Timeout as usize);
    assert_eq!(machine.state(task), State::Calling);
    assert_eq!(machine.holder(task.context), "task");
    assert!(machine.is_passive(server));
    assert_eq!(machine.running(), "client");
}

/// A passive server with a timeout handler, called by a client with a small budget.
struct Shared {
    scene: Scene,
    server: Task,
    request: CPtr,
    server_reply: CPtr,
}

impl Shared {
    fn new() -> Self {
        let mut scene = Scene::new();
        let machine = &mut scene.machine;
        let (request, server_reply) = (machine.endpoint(), machine.reply());
        let server = passive_server(machine, "server", 20, request, server_reply);
        let cap = machine.mint(scene.endpoint, Rights::from_word(9), 6);
        machine
            .tcb(server, Method::TcbSetTimeoutEndpoint, &[], &[cap])
            .unwrap();
        // The client itself has no timeout handler.
        let empty = machine.slot();
        machine
            .tcb(scene.task, Method::TcbSetTimeoutEndpoint, &[], &[empty])
            .unwrap();
        Self {
            scene,
            server,
            request,
            server_reply,
        }
    }
}

#[test]
fn a_server_times_out_on_its_clients_time() {
    let mut shared = Shared::new();
    let (task, request) = (shared.scene.task, shared.request);
    shared.scene.machine.call(task, request, &word(1));
    shared.scene.machine.advance(100);
    shared.scene.assert_timeout(100);
    let machine = &mut shared.scene.machine;
    assert_eq!(machine.state(shared.server), State::Calling);
    assert_eq!(machine.holder(task.context), "server");
    // The handler replies to the client on behalf of the server, which returns the context; then it
    // resets the server, which is passive again.
    let handler = shared.scene.handler;
    machine.send(handler, shared.server_reply, &Message::new(77, &[]));
    assert_eq!(machine.holder(task.context), "task");
    assert_eq!(machine.received(task).label, 77);
    shared.scene.reply(0, &[0x4000]);
    let machine = &mut shared.scene.machine;
    assert_eq!(machine.state(shared.server), State::Runnable);
    assert!(machine.is_passive(shared.server));
    assert_eq!(machine.running(), "none");
    machine.advance_until(|machine| machine.runs(task));
    assert_eq!(machine.now(), 1000);
}

#[test]
fn a_return_without_budget_times_the_caller_out() {
    let mut scene = Scene::new();
    let machine = &mut scene.machine;
    let (request, server_reply) = (machine.endpoint(), machine.reply());
    let server = passive_server(machine, "server", 20, request, server_reply);
    machine.call(scene.task, request, &word(1));
    // The server has no handler, so it waits for a replenishment; another thread replies.
    machine.advance(100);
    assert_eq!(machine.state(server), State::Runnable);
    assert_eq!(machine.running(), "none");
    let deputy = machine.spawn(Spec::new("deputy", 1).active());
    machine.send(deputy, server_reply, &word(2));
    assert_eq!(machine.state(scene.task), State::Calling);
    assert_eq!(machine.running(), "handler");
    scene.assert_timeout(100);
    // Its call is complete, and is not made again after the timeout.
    scene.reply(0, &[]);
    let task = scene.task;
    let machine = &mut scene.machine;
    machine.advance_until(|machine| machine.runs(task));
    assert_eq!(machine.now(), 1000);
    assert_eq!(machine.received(task).words, [2]);
}

#[test]
fn nested_servers_time_out_one_after_the_other() {
    let mut shared = Shared::new();
    let scene = &mut shared.scene;
    let machine = &mut scene.machine;
    let (inner_request, inner_reply) = (machine.endpoint(), machine.reply());
    let inner = passive_server(machine, "inner", 30, inner_request, inner_reply);
    let cap = machine.mint(scene.endpoint, Rights::from_word(9), 6);
    machine
        .tcb(inner, Method::TcbSetTimeoutEndpoint, &[], &[cap])
        .unwrap();
    machine.call(scene.task, shared.request, &word(1));
    machine.call(shared.server, inner_request, &word(2));
    machine.advance(100);
    assert_eq!(machine.received(scene.handler), timeout(100));
    // The handler replies to the outer server on behalf of the inner one: the outer server gets the
    // context back, without budget, so it times out itself.
    let (handler, second_reply) = (scene.handler, machine.reply());
    machine.nb_send_recv(handler, inner_reply, &word(3), scene.endpoint, second_reply);
    assert_eq!(machine.received(handler), timeout(0));
    assert_eq!(machine.state(shared.server), State::Calling);
    assert_eq!(machine.holder(scene.task.context), "server");
    assert_eq!(machine.received(shared.server).words, [3]);
}

#[test]
fn suspending_forgets_a_timeout() {
    let mut scene = Scene::new();
    scene.machine.advance(100);
    scene.machine.suspend(scene.task);
    scene.machine.resume(scene.task);
    assert_eq!(scene.machine.state(scene.task), State::Runnable);
    scene.reply(0, &[]);
    assert_eq!(scene.machine.running(), "none");
    scene
        .machine
        .advance_until(|machine| machine.runs(scene.task));
    assert_eq!(scene.machine.now(), 1000);
}

#[test]
fn a_long_operation_times_out_too() {
    let mut scene = Scene::new();
    let machine = &mut scene.machine;
    let memory = machine.untyped(14);
    let slot = machine.slot();
    machine
        .retype(memory, abi::ObjectType::Untyped, 14, slot, 1)
        .unwrap();
    machine.delete(slot);
    machine.kernel.arch.time_per_look = kernel::time::Ticks(5);
    let words = [abi::ObjectType::Untyped.number(), 14, 0, 0, slot, 1];
    let message = Message::new(Method::UntypedRetype.number(), &words)
        .with_caps(&[abi::slots::INIT_THREAD_CNODE]);
    machine.call(scene.task, memory, &message);
    machine.kernel.arch.time_per_look = kernel::time::Ticks(0);
    assert_eq!(machine.running(), "handler");
    assert_eq!(
        machine.received(scene.handler).label,
        FaultLabel::Timeout as usize
    );
    assert!(machine.is_empty(slot));
    // It continues where it was preempted, after the reply and a replenishment.
    scene.reply(0, &[]);
    scene
        .machine
        .advance_until(|machine| machine.runs(scene.task));
    assert!(!scene.machine.is_empty(slot));
    assert_eq!(scene.machine.received(scene.task).label, 0);
}

/// What was made before the timeout is not made again, unless the handler has written registers.
#[test]
fn a_long_operation_keeps_its_progress_over_a_timeout() {
    const COUNT: usize = 40;
    for (words, label) in [
        (&[][..], 0),
        (&[0x4000][..], ErrorCode::DeleteFirst as usize),
    ] {
        let mut scene = Scene::new();
        let machine = &mut scene.machine;
        let (memory, slot) = (machine.untyped(12), machine.slots(COUNT));
        let retype = [ObjectType::Endpoint.number(), 0, 0, 0, slot, COUNT];
        let retype = Message::new(Method::UntypedRetype.number(), &retype)
            .with_caps(&[abi::slots::INIT_THREAD_CNODE]);
        machine.kernel.arch.time_per_look = kernel::time::Ticks(5);
        machine.call(scene.task, memory, &retype);
        machine.kernel.arch.time_per_look = kernel::time::Ticks(0);
        assert_eq!(machine.running(), "handler");
        assert!(!machine.is_empty(slot) && machine.is_empty(slot + COUNT - 1));
        scene.reply(0, words);
        let machine = &mut scene.machine;
        machine.advance_until(|machine| machine.runs(scene.task));
        if !words.is_empty() {
            machine.call(scene.task, memory, &retype);
        }
        assert_eq!(machine.received(scene.task).label, label);
        assert_eq!(machine.is_empty(slot + COUNT - 1), label != 0);
    }
}
