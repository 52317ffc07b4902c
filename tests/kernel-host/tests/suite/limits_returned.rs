//! A context with a limit returns, whatever contexts its callers have got meanwhile: the server does not
//! keep it. A server that waits with a context of which it knows nothing would run on it for the next
//! caller, until the limit of another call ends.

use abi::endpoint_flags::LIMIT;
use abi::{ErrorCode, Method};
use host_machine::machine::Operands;
use host_machine::{Budget, CPtr, Machine, Message, Spec, State, Task};

use crate::common::{passive_server, server, word};
use crate::limits::Scene;
use crate::limits_kept::chain;
use crate::thresholds::set_threshold;

impl Scene {
    /// Gives a task a context of its own.
    fn give_time(&mut self, task: Task) {
        let context = self.machine.new_context(Budget::new(500, 10_000));
        self.machine.bind(context, task.tcb).unwrap();
    }

    fn assert_told(&self, caller: Task) {
        let told = self.machine.received(caller).label;
        assert_eq!(told, ErrorCode::LimitReached as usize);
    }
}

/// The middle server has got other time. What ends its call returns the context to the client, which
/// continues to wait for its answer.
#[test]
fn limited_time_returns_past_a_caller_with_other_time() {
    for ends_by_limit in [false, true] {
        let mut scene = chain(&[500, 100]);
        let (client, middle, last) = (scene.client, scene.servers[0], scene.servers[1]);
        scene.give_time(middle);
        if ends_by_limit {
            scene.machine.advance(100);
            scene.handle();
            scene.assert_told(middle);
        } else {
            scene.answer(1);
            assert_eq!(scene.machine.state(last), State::Receiving);
        }
        assert!(scene.machine.is_passive(last));
        assert_eq!(scene.machine.holder(client.context), "client");
        assert_eq!(scene.machine.state(client), State::Calling);
        assert!(scene.machine.runs(middle));
        scene.answer(0);
        assert!(scene.machine.runs(client));
        assert_eq!(scene.machine.received(client).words, [8]);
    }
}

/// The server would reply by YieldToTimeout to a caller with other time, which takes the server its context. It must not
/// be left in the ready queue without one.
#[test]
fn a_call_with_a_limit_is_not_answered_by_yield_to_timeout() {
    for by_call in [true, false] {
        let mut machine = Machine::new();
        let (endpoint, reply) = (machine.endpoint(), machine.reply());
        set_threshold(&mut machine, endpoint, 50, LIMIT).unwrap();
        let server = passive_server(&mut machine, "server", 10, endpoint, reply);
        let client = machine.spawn(Spec::new("client", 10).budget(Budget::new(500, 10_000)));
        machine.call(client, endpoint, &word(7));
        assert!(machine.runs(server));
        let other = machine.new_context(Budget::new(500, 10_000));
        machine.bind(other, client.tcb).unwrap();
        let instant = machine.now() + 1_000;
        if by_call {
            machine.yield_to_timeout(server, other, instant, Some(reply));
            let told = machine.received(server).label;
            assert_eq!(told, ErrorCode::IllegalOperation as usize);
            assert!(machine.runs(server));
        } else {
            let label = Method::SchedContextYieldToTimeout.number();
            let message = Message::new(label, &[instant as usize]).with_caps(&[reply]);
            let operands = Operands {
                cap: endpoint,
                reply,
                destination: other,
            };
            machine.syscall(server, abi::Syscall::NBSendRecv, operands, &message);
            assert_eq!(machine.state(server), State::Receiving);
        }
    }
}

/// Another client calls the last server, and is not served on time that belongs to the first.
#[test]
fn the_next_caller_of_the_server_brings_its_own_time() {
    let mut scene = chain(&[500, 100]);
    let (client, middle, last) = (scene.client, scene.servers[0], scene.servers[1]);
    scene.give_time(middle);
    scene.machine.advance(50);
    scene.answer(1);
    scene.machine.advance(400);
    let budget = Budget::new(1000, 10_000);
    let next = scene.machine.spawn(Spec::new("next", 25).budget(budget));
    scene.machine.call(next, scene.endpoints[1], &word(5));
    scene.machine.set_priority(last, 26);
    assert!(scene.machine.runs(last));
    assert_eq!(scene.machine.holder(next.context), scene.machine.name(last));
    scene.machine.advance(99);
    scene.answer(1);
    assert!(scene.machine.runs(next));
    assert_eq!(scene.machine.received(next).words, [8]);
    assert_eq!(scene.machine.state(client), State::Calling);
}

/// The limits of the calls further out stay in force.
#[test]
fn the_next_outer_limit_applies_to_time_that_returns_past_a_caller() {
    let mut scene = chain(&[500, 300, 100]);
    let (first, second) = (scene.servers[0], scene.servers[1]);
    scene.give_time(second);
    scene.answer(2);
    let context = scene.client.context;
    assert_eq!(scene.machine.holder(context), scene.machine.name(first));
    scene.answer(1);
    assert!(scene.machine.runs(first));
    assert_eq!(scene.machine.received(first).words, [8]);
    scene.machine.advance(499);
    assert!(scene.machine.runs(first));
    scene.machine.advance(1);
    scene.handle();
    scene.assert_limited(scene.client);
}

/// The first server has dropped out, so that the client will get no reply: its call fails when the
/// context comes back past the second.
#[test]
fn a_caller_that_waits_for_the_return_gets_it_past_another() {
    let mut scene = chain(&[500, 300, 100]);
    let (client, second) = (scene.client, scene.servers[1]);
    scene.machine.suspend(scene.servers[0]);
    scene.give_time(second);
    scene.answer(2);
    assert!(scene.machine.runs(second));
    assert_eq!(scene.machine.state(client), State::Runnable);
    scene.machine.suspend(second);
    scene.assert_limited(client);
    // The reply object that it waited with tracks no call any more.
    scene.machine.delete(scene.replies[1]);
    scene.assert_limited(client);
}

/// If no caller can take it, it returns to its owner, or to no thread.
#[test]
fn time_that_no_caller_takes_is_unbound() {
    for ends_by_limit in [false, true] {
        let mut scene = chain(&[500, 100]);
        let (client, middle, last) = (scene.client, scene.servers[0], scene.servers[1]);
        scene.give_time(middle);
        scene.give_time(client);
        if ends_by_limit {
            scene.machine.advance(100);
            scene.handle();
        } else {
            scene.answer(1);
        }
        assert!(scene.machine.is_passive(last));
        assert_eq!(scene.machine.holder(client.context), "none");
        assert!(scene.machine.runs(middle));
        scene.answer(0);
        assert!(scene.machine.runs(client));
        assert_eq!(scene.machine.received(client).words, [8]);
    }
}

/// Its client was stopped, and serves it now on the context that it had lent: that has a limit, which the
/// client gives up. It keeps the context, but what it has given up is due later.
#[test]
fn the_owner_keeps_the_context_after_its_yield_and_waits_for_it() {
    let mut scene = Scene::new(&[500]);
    let (client, first) = (scene.client, scene.servers[0]);
    let (endpoint, reply) = (scene.machine.endpoint(), scene.machine.reply());
    set_threshold(&mut scene.machine, endpoint, 100, LIMIT).unwrap();
    scene.call();
    scene.machine.suspend(client);
    scene.machine.set_priority(client, 25);
    scene.machine.resume(client);
    scene.machine.divert(client);
    // A notification lends it the time to receive.
    lend(&mut scene.machine, client, Budget::new(100, 1000));
    assert!(scene.machine.runs(client));
    scene.machine.recv(client, endpoint, reply);
    scene.machine.call(first, endpoint, &word(3));
    assert!(scene.machine.runs(client));
    assert_eq!(scene.machine.holder(client.context), "client");
    scene.machine.suspend(first);
    let less = Budget::new(100, 10_000);
    scene.machine.configure(client.context, less).unwrap();
    scene.machine.yield_now(client);
    assert_eq!(scene.machine.holder(client.context), "client");
    assert!(!scene.machine.runs(client));
    scene.machine.advance(9_999);
    assert!(!scene.machine.runs(client));
    scene.machine.advance(1);
    assert!(scene.machine.runs(client));
    // The limit is over.
    scene.machine.yield_until_budget(client, 100);
    assert_eq!(scene.machine.received(client).label, 0);
}

/// Binds a notification with a new context to a task, to which it lends the context when it can.
fn lend(machine: &mut Machine, task: Task, budget: Budget) -> (CPtr, CPtr) {
    let (notification, context) = (machine.notification(), machine.new_context(budget));
    machine
        .tcb(task, Method::TcbBindNotification, &[], &[notification])
        .unwrap();
    machine.bind(context, notification).unwrap();
    (notification, context)
}

/// A client that is stopped during its call leaves behind a context that a notification had lent to it.
/// The server gives it up like any other before it waits again.
#[test]
fn a_server_gives_up_what_a_notification_has_lent_to_its_caller() {
    for flags in [0, LIMIT] {
        let mut machine = Machine::new();
        let (endpoint, reply) = (machine.endpoint(), machine.reply());
        let (timeouts, handler_reply) = (machine.endpoint(), machine.reply());
        let handler = server(&mut machine, "handler", 30, timeouts, handler_reply);
        let server = passive_server(&mut machine, "server", 20, endpoint, reply);
        machine
            .tcb(server, Method::TcbSetTimeoutEndpoint, &[], &[timeouts])
            .unwrap();
        set_threshold(&mut machine, endpoint, 100, flags).unwrap();
        let client = machine.spawn(Spec::new("client", 10));
        let (_, lent) = lend(&mut machine, client, Budget::new(150, 10_000));
        assert!(machine.runs(client));
        machine.call(client, endpoint, &word(1));
        machine.advance(90);
        assert!(machine.runs(server));
        machine.suspend(client);
        machine.reply_recv(server, endpoint, reply, &word(2));
        assert!(machine.is_passive(server));
        assert_eq!(machine.holder(lent), "none");
        let budget = Budget::new(1000, 10_000);
        let next = machine.spawn(Spec::new("next", 10).budget(budget));
        machine.call(next, endpoint, &word(3));
        machine.advance(99);
        assert_eq!(machine.state(handler), State::Receiving);
        machine.reply_recv(server, endpoint, reply, &word(4));
        assert!(machine.runs(next));
        assert_eq!(machine.received(next).words, [4]);
    }
}

/// The operator has reduced the timeslice of the client to about what is left of the limit. The server
/// gives all of it up: the client continues in its next turn, with a whole slice.
#[test]
fn a_slice_that_is_given_up_with_the_limit_is_renewed() {
    for slice in [100, 101, 119, 120, 200] {
        let mut scene = Scene::new(&[100]);
        let context = scene.client.context;
        let configure = |scene: &mut Scene, slice| {
            let budget = Budget::slice(slice).badge(77);
            scene.machine.configure(context, budget).unwrap();
        };
        configure(&mut scene, 1000);
        scene.call();
        configure(&mut scene, slice);
        scene.machine.yield_now(scene.servers[0]);
        scene.machine.advance(1);
        scene.handle();
        scene.assert_limited(scene.client);
        let left = scene.machine.refills(context)[0].1;
        let expected = if slice < 120 { slice } else { slice - 100 };
        assert!(left + 1 >= expected, "{left} of {slice}");
    }
}

/// A limit is a value of the total consumed, which continues when the context is configured again.
#[test]
fn a_limit_survives_other_parameters_of_the_context() {
    let all = [
        Budget::new(1000, 10_000),
        Budget::new(600, 5_000).refills(4).sporadic(),
        Budget::slice(700),
        Budget::slice(500),
    ];
    for (before, after) in all
        .into_iter()
        .flat_map(|one| all.map(|other| (one, other)))
    {
        let mut scene = Scene::new(&[100]);
        let context = scene.client.context;
        let configure = |scene: &mut Scene, budget: Budget| {
            scene.machine.configure(context, budget.badge(77)).unwrap();
        };
        configure(&mut scene, before);
        scene.machine.advance(10);
        scene.call();
        scene.machine.advance(30);
        configure(&mut scene, after);
        scene.machine.advance(69);
        assert!(scene.machine.runs(scene.servers[0]));
        scene.machine.advance(1);
        scene.handle();
        scene.assert_limited(scene.client);
    }
}

/// A caller to which the operator has bound the lent context itself gets no other one for it.
#[test]
fn a_caller_that_is_bound_to_its_own_context_takes_it_back() {
    let mut scene = chain(&[500, 100]);
    let (client, middle, last) = (scene.client, scene.servers[0], scene.servers[1]);
    let unbind = Method::SchedContextUnbindObject;
    let context = client.context;
    scene
        .machine
        .invoke(context, unbind, &[], &[last.tcb])
        .unwrap();
    scene.machine.bind(context, middle.tcb).unwrap();
    let other = scene.machine.spawn(Spec::new("other", 25).active());
    scene.machine.send(other, scene.replies[1], &word(6));
    scene.machine.suspend(other);
    // The limit of the outer call applies to it again.
    assert!(scene.machine.runs(middle));
    assert_eq!(scene.machine.received(middle).words, [6]);
    scene.machine.advance(499);
    assert!(scene.machine.runs(middle));
    scene.machine.advance(1);
    scene.handle();
    scene.assert_limited(client);
}

/// Without a limit, the server keeps the context as in the ABI, behind a threshold, too.
#[test]
fn without_a_limit_a_caller_with_other_time_leaves_the_context_behind() {
    let mut scene = Scene::new(&[0, 0]);
    set_threshold(&mut scene.machine, scene.endpoints[1], 100, 0).unwrap();
    scene.call();
    scene.call_next(0);
    let (middle, last) = (scene.servers[0], scene.servers[1]);
    scene.give_time(middle);
    scene.answer(1);
    assert_eq!(scene.machine.state(last), State::Receiving);
    assert_eq!(
        scene.machine.holder(scene.client.context),
        scene.machine.name(last)
    );
}
