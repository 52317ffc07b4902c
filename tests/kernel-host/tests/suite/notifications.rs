//! Notifications: signals, waiting, bound threads, lending.

use abi::{Method, Rights};
use host_machine::{Budget, CPtr, Machine, Message, Spec, State, Task};
use kernel::invoke::Error;

use crate::common::{caller, make_passive, sender, server, waiter, word};

/// A task that signals, and a notification with two badged capabilities.
struct Scene {
    machine: Machine,
    notification: CPtr,
    badged: [CPtr; 2],
    task: Task,
}

impl Scene {
    fn new() -> Self {
        let mut machine = Machine::new();
        let notification = machine.notification();
        let badged = [1, 4].map(|badge| machine.mint(notification, Rights::WRITE, badge));
        let task = machine.spawn(Spec::new("task", 10).active());
        machine.rest();
        Self {
            machine,
            notification,
            badged,
            task,
        }
    }
}

#[test]
fn signals_are_remembered_once_each() {
    let mut scene = Scene::new();
    let (machine, task) = (&mut scene.machine, scene.task);
    for badged in [0, 1, 1, 0].map(|index: usize| scene.badged[index]) {
        machine.signal(task, badged);
    }
    machine.wait(task, scene.notification);
    assert_eq!(machine.running(), "task");
    assert_eq!(machine.badge(task), 5);
    machine.nb_wait(task, scene.notification);
    assert_eq!(machine.badge(task), 0);
    // An unbadged signal counts as well.
    machine.signal(task, scene.notification);
    machine.wait(task, scene.notification);
    assert_eq!((machine.running(), machine.badge(task)), ("task".into(), 0));
}

#[test]
fn a_signal_wakes_the_highest_priority_waiter() {
    let mut scene = Scene::new();
    let waiters = [20, 30, 20, 30]
        .map(|priority| waiter(&mut scene.machine, "waiter", priority, scene.notification));
    for expected in [1, 3, 0, 2] {
        scene.machine.set_priority(scene.task, 40);
        scene.machine.signal(scene.task, scene.badged[1]);
        let woken: Vec<_> = (waiters.iter())
            .filter(|waiter| scene.machine.state(**waiter) == State::Runnable)
            .collect();
        assert_eq!(woken, [&waiters[expected]]);
        assert_eq!(scene.machine.badge(waiters[expected]), 4);
        scene.machine.suspend(waiters[expected]);
    }
    // No thread waits: the next signal is kept.
    scene.machine.signal(scene.task, scene.badged[0]);
    scene.machine.nb_wait(scene.task, scene.notification);
    assert_eq!(scene.machine.badge(scene.task), 1);
}

#[test]
fn signalling_and_waiting_need_rights() {
    let mut scene = Scene::new();
    let (machine, task) = (&mut scene.machine, scene.task);
    let mute = machine.mint(scene.notification, Rights::READ, 0);
    machine.signal(task, mute);
    machine.call(task, mute, &Message::default());
    assert_eq!(
        host_machine::answer(machine.received(task)),
        Err(Error::InvalidCapability(0))
    );
    machine.nb_wait(task, mute);
    assert_eq!(machine.badge(task), 0);
    machine.call(task, scene.badged[0], &Message::new(3, &[1, 2]));
    assert_eq!(machine.received(task).label, 0);
    // The capability allows signalling but not waiting.
    machine.nb_wait(task, scene.badged[0]);
    assert_eq!(machine.state(task), State::Inactive);
}

#[test]
fn deleting_a_notification_wakes_its_waiters() {
    let mut scene = Scene::new();
    let waiter = waiter(&mut scene.machine, "waiter", 5, scene.notification);
    scene.machine.revoke(scene.notification);
    assert_eq!(scene.machine.state(waiter), State::Waiting);
    scene.machine.delete(scene.notification);
    assert_eq!(scene.machine.state(waiter), State::Runnable);
    scene.machine.suspend(scene.task);
    // It tries to wait again, but there is no notification: a fault without a handler.
    assert_eq!(scene.machine.state(waiter), State::Inactive);
}

/// A server at an endpoint, with a bound notification that `task` signals.
fn bound(scene: &mut Scene) -> (Task, CPtr, CPtr) {
    let (endpoint, reply) = (scene.machine.endpoint(), scene.machine.reply());
    let server = server(&mut scene.machine, "server", 20, endpoint, reply);
    scene
        .machine
        .tcb(
            server,
            Method::TcbBindNotification,
            &[],
            &[scene.notification],
        )
        .unwrap();
    (server, endpoint, reply)
}

#[test]
fn a_bound_notification_wakes_a_receiver() {
    let mut scene = Scene::new();
    let (server, endpoint, reply) = bound(&mut scene);
    scene.machine.signal(scene.task, scene.badged[1]);
    assert_eq!(scene.machine.running(), "server");
    assert_eq!(scene.machine.badge(server), 4);
    scene.machine.recv(server, endpoint, reply);
    assert_eq!(scene.machine.state(server), State::Receiving);
    // The reply object was released and is used again.
    scene.machine.call(scene.task, endpoint, &word(1));
    assert_eq!(scene.machine.state(scene.task), State::Calling);
}

#[test]
fn a_bound_signal_comes_before_messages() {
    let mut scene = Scene::new();
    let (server, endpoint, reply) = bound(&mut scene);
    scene.machine.send(scene.task, endpoint, &word(1));
    sender(&mut scene.machine, "sender", 5, endpoint, &word(2));
    scene.machine.signal(server, scene.badged[0]);
    scene.machine.nb_recv(server, endpoint, reply);
    assert_eq!(scene.machine.badge(server), 1);
    scene.machine.recv(server, endpoint, reply);
    assert_eq!(scene.machine.received(server).words, [2]);
}

#[test]
fn a_bound_notification_does_not_disturb_other_states() {
    let mut scene = Scene::new();
    let (server, _, _) = bound(&mut scene);
    let elsewhere = scene.machine.endpoint();
    scene.machine.send(scene.task, elsewhere, &word(1));
    assert_eq!(scene.machine.state(scene.task), State::Sending);
    scene.machine.suspend(server);
    let signaller = scene.machine.spawn(Spec::new("signaller", 30).active());
    scene.machine.signal(signaller, scene.badged[0]);
    assert_eq!(scene.machine.state(server), State::Inactive);
    // The signal was kept.
    scene.machine.suspend(signaller);
    scene.machine.resume(server);
    assert_eq!(scene.machine.running(), "server");
    assert_eq!(scene.machine.badge(server), 1);
}

#[test]
fn only_its_thread_may_wait_for_a_bound_notification() {
    let mut scene = Scene::new();
    let (server, _, _) = bound(&mut scene);
    scene.machine.nb_wait(scene.task, scene.notification);
    assert_eq!(scene.machine.state(scene.task), State::Inactive);
    let signaller = scene.machine.spawn(Spec::new("signaller", 5).active());
    scene.machine.signal(signaller, scene.badged[0]);
    scene.machine.wait(server, scene.notification);
    assert_eq!(scene.machine.state(server), State::Waiting);
}

#[test]
fn binding_to_threads_is_one_to_one() {
    let mut scene = Scene::new();
    let other = scene.machine.notification();
    let (machine, task) = (&mut scene.machine, scene.task);
    let bind = |machine: &mut Machine, task, notification| {
        machine.tcb(task, Method::TcbBindNotification, &[], &[notification])
    };
    let illegal = Err(Error::IllegalOperation);
    let mute = machine.mint(other, Rights::WRITE, 0);
    assert_eq!(
        machine.tcb(task, Method::TcbUnbindNotification, &[], &[]),
        illegal
    );
    assert_eq!(bind(machine, task, mute), illegal);
    assert_eq!(bind(machine, task, task.tcb), illegal);
    assert_eq!(
        machine.tcb(task, Method::TcbBindNotification, &[], &[]),
        Err(Error::Truncated)
    );
    assert_eq!(bind(machine, task, scene.notification), Ok(vec![]));
    assert_eq!(bind(machine, task, other), illegal);
    let second = machine.spawn(Spec::new("second", 5).active());
    assert_eq!(bind(machine, second, scene.notification), illegal);
    assert_eq!(
        machine.tcb(task, Method::TcbUnbindNotification, &[], &[]),
        Ok(vec![])
    );
    assert_eq!(bind(machine, second, scene.notification), Ok(vec![]));
    // A thread waits for it, so it cannot be bound.
    waiter(machine, "waiter", 5, other);
    assert_eq!(bind(machine, task, other), illegal);
    // Deletion of a thread unbinds its notification.
    machine.delete(second.tcb);
    assert_eq!(bind(machine, task, scene.notification), Ok(vec![]));
    machine.revoke(scene.notification);
    machine.delete(scene.notification);
    assert_eq!(
        machine.tcb(task, Method::TcbUnbindNotification, &[], &[]),
        illegal
    );
}

/// A passive waiter, and a context that is bound to the notification.
fn lending(scene: &mut Scene) -> (Task, CPtr) {
    let waiter = waiter(&mut scene.machine, "waiter", 20, scene.notification);
    make_passive(&mut scene.machine, waiter);
    let context = scene.machine.new_context(Budget::slice(1000));
    scene.machine.bind(context, scene.notification).unwrap();
    (waiter, context)
}

#[test]
fn a_notification_lends_its_time() {
    let mut scene = Scene::new();
    let (waiter, context) = lending(&mut scene);
    scene.machine.signal(scene.task, scene.badged[0]);
    assert_eq!(scene.machine.running(), "waiter");
    assert_eq!(scene.machine.holder(context), "waiter");
    // The same context is not lent twice.
    let second = {
        let second = scene.machine.spawn(Spec::new("second", 25).active());
        scene.machine.wait(second, scene.notification);
        make_passive(&mut scene.machine, second);
        second
    };
    scene.machine.signal(waiter, scene.badged[0]);
    assert_eq!(scene.machine.state(second), State::Runnable);
    assert!(scene.machine.is_passive(second));
    // It is returned when the borrower waits.
    scene.machine.wait(waiter, scene.notification);
    assert_eq!(scene.machine.holder(context), "none");
    assert!(scene.machine.is_passive(waiter));
    assert_eq!(scene.machine.running(), "task");
}

#[test]
fn polling_does_not_return_lent_time() {
    let mut scene = Scene::new();
    let (waiter, context) = lending(&mut scene);
    scene.machine.signal(scene.task, scene.badged[0]);
    scene.machine.nb_wait(waiter, scene.notification);
    assert_eq!(scene.machine.holder(context), "waiter");
    assert_eq!(scene.machine.running(), "waiter");
}

#[test]
fn a_thread_loses_time_that_its_notification_has_too() {
    let mut scene = Scene::new();
    let server = scene.machine.spawn(Spec::new("server", 20).active());
    scene
        .machine
        .bind(server.context, scene.notification)
        .unwrap();
    assert_eq!(scene.machine.running(), "server");
    scene.machine.wait(server, scene.notification);
    assert!(scene.machine.is_passive(server));
    scene.machine.signal(scene.task, scene.badged[0]);
    assert_eq!(scene.machine.running(), "server");
    assert_eq!(scene.machine.holder(server.context), "server");
}

#[test]
fn a_receiver_returns_the_time_of_its_bound_notification() {
    let mut scene = Scene::new();
    let (server, endpoint, reply) = bound(&mut scene);
    scene
        .machine
        .bind(server.context, scene.notification)
        .unwrap();
    scene.machine.signal(scene.task, scene.badged[0]);
    assert_eq!(scene.machine.running(), "server");
    scene.machine.recv(server, endpoint, reply);
    assert_eq!(scene.machine.holder(server.context), "none");
    // A call donates the caller's context.
    scene.machine.call(scene.task, endpoint, &word(1));
    assert_eq!(scene.machine.running(), "server");
    assert_eq!(scene.machine.holder(scene.task.context), "server");
    scene.machine.reply_recv(server, endpoint, reply, &word(2));
    // A signal lends the notification's context.
    scene.machine.signal(scene.task, scene.badged[1]);
    assert_eq!(scene.machine.running(), "server");
    assert_eq!(scene.machine.holder(server.context), "server");
}

#[test]
fn looking_for_messages_returns_no_time() {
    let mut scene = Scene::new();
    let (server, endpoint, reply) = bound(&mut scene);
    scene
        .machine
        .bind(server.context, scene.notification)
        .unwrap();
    scene.machine.signal(scene.task, scene.badged[0]);
    scene.machine.nb_recv(server, endpoint, reply);
    assert_eq!(scene.machine.badge(server), 0);
    assert_eq!(scene.machine.holder(server.context), "server");
    assert_eq!(scene.machine.running(), "server");
}

#[test]
fn time_is_returned_even_if_a_sender_waits() {
    let mut scene = Scene::new();
    let (server, endpoint, reply) = bound(&mut scene);
    scene
        .machine
        .bind(server.context, scene.notification)
        .unwrap();
    scene.machine.signal(scene.task, scene.badged[0]);
    let client = caller(&mut scene.machine, "client", 5, endpoint, &word(1));
    scene.machine.recv(server, endpoint, reply);
    assert_eq!(scene.machine.holder(server.context), "none");
    assert_eq!(scene.machine.holder(client.context), "server");
    assert_eq!(scene.machine.running(), "server");
    // A plain message leaves the receiver without a context.
    scene.machine.reply_recv(server, endpoint, reply, &word(2));
    scene.machine.signal(scene.task, scene.badged[0]);
    sender(&mut scene.machine, "sender", 5, endpoint, &word(3));
    scene.machine.recv(server, endpoint, reply);
    assert_eq!(scene.machine.received(server).words, [3]);
    assert!(scene.machine.is_passive(server));
    assert_eq!(scene.machine.state(server), State::Runnable);
}

#[test]
fn a_passive_thread_that_finds_a_signal_borrows_time() {
    let mut scene = Scene::new();
    let (machine, task) = (&mut scene.machine, scene.task);
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    let server = server(machine, "server", 20, endpoint, reply);
    make_passive(machine, server);
    let context = machine.new_context(Budget::slice(1000));
    machine.bind(context, scene.notification).unwrap();
    machine.call(task, endpoint, &word(1));
    machine.signal(server, scene.badged[0]);
    // Its reply returns the caller's context, and it receives the signal.
    machine.nb_send_wait(server, reply, &word(2), scene.notification);
    assert_eq!(machine.holder(task.context), "task");
    assert_eq!(machine.holder(context), "server");
    assert_eq!(machine.badge(server), 1);
    assert_eq!(machine.running(), "server");
}

#[test]
fn borrowed_time_without_budget_makes_the_borrower_wait() {
    let mut scene = Scene::new();
    let (machine, task) = (&mut scene.machine, scene.task);
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    let server = server(machine, "server", 20, endpoint, reply);
    make_passive(machine, server);
    // The budget that the notification can lend is used up before.
    let spec = Spec::new("waster", 30).budget(Budget::new(100, 1000).refills(2));
    let waster = machine.spawn(spec);
    machine.bind(waster.context, scene.notification).unwrap();
    machine.advance(100);
    assert_eq!(machine.running(), "task");
    make_passive(machine, waster);
    machine.suspend(waster);
    machine.call(task, endpoint, &word(1));
    machine.signal(server, scene.badged[0]);
    machine.nb_send_wait(server, reply, &word(2), scene.notification);
    assert_eq!(machine.holder(waster.context), "server");
    assert_eq!(machine.running(), "task");
    let start = machine.now();
    machine.advance_until(|machine| machine.runs(server));
    assert!((800..=1000).contains(&(machine.now() - start)));
    assert_eq!(machine.badge(server), 1);
}

#[test]
fn binding_to_contexts_is_one_to_one() {
    let mut scene = Scene::new();
    let (machine, notification) = (&mut scene.machine, scene.notification);
    let contexts = [(); 2].map(|()| machine.new_context(Budget::slice(1000)));
    let other = machine.notification();
    let unbind = |machine: &mut Machine, context, object| {
        machine.invoke(context, Method::SchedContextUnbindObject, &[], &[object])
    };
    let illegal = Err(Error::IllegalOperation);
    assert_eq!(unbind(machine, contexts[0], notification), illegal);
    assert_eq!(machine.bind(contexts[0], notification), Ok(vec![]));
    assert_eq!(machine.bind(contexts[0], other), illegal);
    assert_eq!(machine.bind(contexts[1], notification), illegal);
    assert_eq!(unbind(machine, contexts[1], notification), illegal);
    assert_eq!(unbind(machine, contexts[0], notification), Ok(vec![]));
    assert_eq!(machine.bind(contexts[1], notification), Ok(vec![]));
    machine.revoke(notification);
    machine.delete(notification);
    assert_eq!(machine.bind(contexts[1], other), Ok(vec![]));
    machine.delete(contexts[1]);
    assert_eq!(machine.bind(contexts[0], other), Ok(vec![]));
}
