//! Idling contexts: their budget is used while their thread waits at an endpoint.

use abi::Method;
use abi::fault::{FaultLabel, timeout_flags};
use host_machine::{Budget, CPtr, Machine, Message, Spec, State, Task};

use crate::common::{passive_server, server, word};
use crate::thresholds::set_threshold;

const BUDGET: Budget = Budget::new(200, 1000);

/// A task that waits at an endpoint from time 30 on.
struct Scene {
    machine: Machine,
    endpoint: CPtr,
    task: Task,
}

impl Scene {
    fn new(budget: Budget, handler: impl FnOnce(&mut Machine) -> CPtr) -> Self {
        let mut machine = Machine::new();
        let (endpoint, reply) = (machine.endpoint(), machine.reply());
        let handler = handler(&mut machine);
        let spec = Spec::new("task", 10).budget(budget);
        let task = machine.spawn(spec.timeout_handler(handler));
        if machine.runs(machine.root) {
            machine.rest();
        }
        machine.advance(30);
        machine.recv(task, endpoint, reply);
        Self {
            machine,
            endpoint,
            task,
        }
    }

    fn send(&mut self) {
        let endpoint = self.endpoint;
        self.machine
            .by_root(|machine, root| machine.nb_send(root, endpoint, &word(7)));
    }

    fn refills(&self) -> Vec<(u64, u64)> {
        self.machine.refills(self.task.context)
    }
}

#[test]
fn waiting_uses_budget() {
    let mut scene = Scene::new(BUDGET.idling(), |_| 0);
    scene.machine.advance(100);
    scene.send();
    assert!(scene.machine.runs(scene.task));
    assert_eq!(scene.refills(), [(130, 70), (1000, 130)]);
    scene.machine.advance(69);
    assert!(scene.machine.runs(scene.task));
    scene.machine.advance(1);
    assert_eq!(scene.machine.running(), "none");
}

#[test]
fn without_the_flag_it_does_not() {
    let mut scene = Scene::new(BUDGET, |_| 0);
    scene.machine.advance(100);
    scene.send();
    assert_eq!(scene.refills(), [(130, 170), (1000, 30)]);
}

/// Each replenishment is examined when the wait ends, in one interrupts-disabled section.
#[test]
fn contexts_that_idle_have_few_replenishments() {
    for (budget, capacity) in [
        (BUDGET, 10),
        (BUDGET.idling(), 3),
        (BUDGET.idling().refills(2), 2),
    ] {
        let scene = Scene::new(budget, |_| 0);
        let context = scene.task.context;
        assert_eq!(scene.machine.refill_capacity(context), capacity);
    }
}

/// A passive server works for 100 on another client's context while a client with an idling context
/// waits, and then receives from that client. The returned tasks are the server and the waiting
/// client.
fn queued(threshold: usize) -> (Machine, Task, Task) {
    let mut machine = Machine::new();
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    let server = passive_server(&mut machine, "server", 20, endpoint, reply);
    let early = machine.spawn(Spec::new("early", 5).active());
    machine.call(early, endpoint, &word(1));
    assert!(machine.runs(server));
    let client = machine.spawn(Spec::new("client", 30).budget(BUDGET.idling()));
    set_threshold(&mut machine, endpoint, threshold, 0).unwrap();
    machine.call(client, endpoint, &word(2));
    assert_eq!(machine.state(client), State::Sending);
    machine.advance(100);
    machine.reply_recv(server, endpoint, reply, &word(3));
    assert_eq!(machine.received(server).words, [2]);
    assert_eq!(machine.holder(client.context), "server");
    (machine, server, client)
}

#[test]
fn waiting_to_send_uses_budget_as_well() {
    let (machine, server, client) = queued(0);
    assert!(machine.runs(server));
    assert_eq!(machine.refills(client.context)[0], (100, 100));
}

#[test]
fn waiting_for_a_signal_or_a_reply_does_not() {
    let mut machine = Machine::new();
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    let bell = machine.notification();
    let server = server(&mut machine, "server", 20, endpoint, reply);
    let task = machine.spawn(Spec::new("task", 10).budget(BUDGET.idling().sporadic()));
    if machine.runs(machine.root) {
        machine.rest();
    }
    machine.advance(10);
    machine.wait(task, bell);
    machine.advance(50);
    machine.by_root(|machine, root| machine.signal(root, bell));
    assert!(machine.runs(task));
    assert_eq!(machine.refills(task.context), [(60, 190), (1000, 10)]);
    machine.call(task, endpoint, &word(1));
    assert!(machine.runs(server));
    machine.advance(100);
    machine.reply_recv(server, endpoint, reply, &word(2));
    assert!(machine.runs(task));
    assert_eq!(machine.refills(task.context), [(160, 190), (1000, 10)]);
}

#[test]
fn a_thread_that_idled_its_budget_away_waits_for_a_replenishment() {
    let mut scene = Scene::new(BUDGET.idling(), |_| 0);
    scene.machine.advance(500);
    scene.send();
    assert_eq!(scene.machine.running(), "none");
    assert_eq!(scene.refills(), [(1000, 200)]);
    scene.machine.advance(470);
    assert!(scene.machine.runs(scene.task));
    assert_eq!(scene.machine.received(scene.task).words, [7]);
}

#[test]
fn a_handler_is_told_that_the_thread_was_blocked() {
    let mut timeouts = (0, 0, None);
    let mut scene = Scene::new(BUDGET.idling().badge(5), |machine| {
        let (endpoint, reply) = (machine.endpoint(), machine.reply());
        let handler = server(machine, "handler", 30, endpoint, reply);
        timeouts = (endpoint, reply, Some(handler));
        endpoint
    });
    let (_, reply, Some(handler)) = timeouts else {
        panic!("there is a handler");
    };
    scene.machine.advance(500);
    assert_eq!(
        scene.machine.state(handler),
        State::Receiving,
        "no timeout is reported while it waits"
    );
    scene.send();
    assert!(scene.machine.runs(handler));
    let told = scene.machine.received(handler);
    assert_eq!(told.label, FaultLabel::Timeout as usize);
    assert_eq!(told.words, [5, 200, timeout_flags::BLOCKED, 530]);
    // After the reply, it continues with the message that it has received.
    scene.machine.send(handler, reply, &Message::default());
    let bell = scene.machine.notification();
    scene.machine.wait(handler, bell);
    assert_eq!(scene.machine.running(), "none");
    scene.machine.advance(470);
    assert!(scene.machine.runs(scene.task));
    assert_eq!(scene.machine.received(scene.task).words, [7]);
    // A timeout during execution is reported as well, without the flag.
    scene.machine.advance(200);
    assert_eq!(scene.machine.state(scene.task), State::Sending);
}

#[test]
fn long_waits_take_few_steps() {
    let mut scene = Scene::new(BUDGET.idling(), |_| 0);
    // A million periods; every replenishment was used as soon as it was due.
    scene.machine.stall(1_000_000_000);
    scene.send();
    let now = scene.machine.now();
    let refills = scene.refills();
    assert_eq!(refills.iter().map(|refill| refill.1).sum::<u64>(), 200);
    assert!(
        refills[0].0 <= now + 1000 && refills[0].0 + 1000 > now,
        "{refills:?} at {now}"
    );
}

#[test]
fn consumed_tells_what_was_used_so_far() {
    let mut scene = Scene::new(BUDGET.idling(), |_| 0);
    let context = scene.task.context;
    let mut consumed = || {
        scene.machine.advance(40);
        let answer = scene
            .machine
            .invoke(context, Method::SchedContextConsumed, &[], &[]);
        answer.unwrap()[0]
    };
    assert_eq!(consumed(), 70);
    assert_eq!(consumed(), 40);
}

#[test]
fn what_changes_the_wait_ends_the_idling() {
    for how in 0..5 {
        let mut scene = Scene::new(BUDGET.idling(), |_| 0);
        scene.machine.advance(100);
        let (task, machine) = (scene.task, &mut scene.machine);
        match how {
            0 => machine.suspend(task),
            1 => {
                let unbind = Method::SchedContextUnbindObject;
                machine
                    .invoke(task.context, unbind, &[], &[task.tcb])
                    .unwrap();
            }
            2 => machine.delete(scene.endpoint),
            3 => machine.delete(task.tcb),
            _ => machine.configure(task.context, BUDGET).unwrap().clear(),
        }
        let before = scene.refills();
        if how < 4 {
            assert_eq!(before[0].1, 70, "{how}");
        }
        scene.machine.suspend_if_there(task);
        scene.machine.advance(100);
        assert_eq!(scene.refills(), before, "{how}");
    }
}

#[test]
fn a_server_gets_what_it_needs_of_a_context_that_idled() {
    let (mut machine, server, client) = queued(150);
    assert_eq!(machine.running(), "early", "the server waits");
    machine.advance_until(|machine| machine.runs(server));
    assert!(machine.refills(client.context)[0].1 >= 170);
}

/// A client donates an idling context, the server waits on it at another endpoint, and it is
/// returned. From then on it does not idle; when another client donates it again, the time in between
/// is not charged.
#[test]
fn time_that_goes_back_idles_no_longer() {
    for replied in [false, true] {
        let mut machine = Machine::new();
        let (first, first_reply) = (machine.endpoint(), machine.reply());
        let (second, second_reply) = (machine.endpoint(), machine.reply());
        let server = passive_server(&mut machine, "server", 20, first, first_reply);
        let budget = Budget::new(2000, 10000).idling();
        let client = machine.spawn(Spec::new("client", 30).budget(budget));
        let other = machine.spawn(Spec::new("other", 25).active());
        if machine.runs(machine.root) {
            machine.rest();
        }
        machine.call(client, first, &word(1));
        machine.suspend(other);
        assert!(machine.runs(server));
        machine.recv(server, second, second_reply);
        assert_eq!(machine.holder(client.context), "server");
        machine.advance(50);
        if replied {
            machine.by_root(|machine, root| machine.nb_send(root, first_reply, &word(2)));
        } else {
            machine.delete(first_reply);
        }
        assert_eq!(machine.holder(client.context), "client");
        assert_eq!(machine.refills(client.context)[0], (50, 1950));
        machine.suspend(client);
        machine.advance(300);
        let unbind = Method::SchedContextUnbindObject;
        for task in [client, other] {
            machine
                .invoke(task.context, unbind, &[], &[task.tcb])
                .unwrap();
        }
        machine.bind(client.context, other.tcb).unwrap();
        machine.resume(other);
        assert!(machine.runs(other));
        machine.call(other, second, &word(3));
        assert!(machine.runs(server));
        assert_eq!(machine.holder(client.context), "server");
        assert_eq!(machine.refills(client.context)[0].1, 1950);
    }
}
