//! Calls and replies: call chains, and donation of scheduling contexts.

use abi::{Method, Rights};
use host_machine::{Budget, CPtr, Machine, Message, Spec, State, Task};

use crate::common::{caller, make_passive, passive_server, server, word};

/// A passive server and a client with a scheduling context.
struct Scene {
    machine: Machine,
    endpoint: CPtr,
    reply: CPtr,
    server: Task,
    client: Task,
}

impl Scene {
    fn new() -> Self {
        let mut machine = Machine::new();
        let (endpoint, reply) = (machine.endpoint(), machine.reply());
        let server = passive_server(&mut machine, "server", 20, endpoint, reply);
        let client = machine.spawn(Spec::new("client", 10).active());
        Self {
            machine,
            endpoint,
            reply,
            server,
            client,
        }
    }

    fn call(&mut self) {
        self.machine.call(self.client, self.endpoint, &word(1));
    }
}

/// Nested calls: each server calls the next; the last one runs on the first caller's context.
struct Chain {
    machine: Machine,
    endpoints: Vec<CPtr>,
    replies: Vec<CPtr>,
    servers: Vec<Task>,
    client: Task,
}

impl Chain {
    fn new(length: usize) -> Self {
        const NAMES: [&str; 4] = ["first", "second", "third", "fourth"];
        let mut machine = Machine::new();
        let endpoints: Vec<CPtr> = (0..length).map(|_| machine.endpoint()).collect();
        let replies: Vec<CPtr> = (0..length).map(|_| machine.reply()).collect();
        let servers: Vec<Task> = (0..length)
            .map(|index| {
                let (endpoint, reply) = (endpoints[index], replies[index]);
                passive_server(&mut machine, NAMES[index], 20, endpoint, reply)
            })
            .collect();
        let client = machine.spawn(Spec::new("client", 10).active());
        machine.call(client, endpoints[0], &word(0));
        for index in 1..length {
            machine.call(servers[index - 1], endpoints[index], &word(index));
        }
        assert!(machine.runs(servers[length - 1]));
        assert_eq!(machine.holder(client.context), NAMES[length - 1]);
        Self {
            machine,
            endpoints,
            replies,
            servers,
            client,
        }
    }

    /// A server replies and waits for the next message.
    fn reply(&mut self, index: usize) {
        let (endpoint, reply) = (self.endpoints[index], self.replies[index]);
        self.machine
            .reply_recv(self.servers[index], endpoint, reply, &word(100 + index));
    }

    /// A server waits without a reply object, as its own was deleted.
    fn wait(&mut self, index: usize) {
        let (server, endpoint) = (self.servers[index], self.endpoints[index]);
        self.machine.wait(server, endpoint);
        assert_eq!(self.machine.state(server), State::Receiving);
    }
}

#[test]
fn a_passive_server_runs_on_its_callers_time() {
    let mut scene = Scene::new();
    scene.call();
    let machine = &mut scene.machine;
    assert_eq!(machine.running(), "server");
    assert_eq!(machine.state(scene.client), State::Calling);
    assert_eq!(machine.holder(scene.client.context), "server");
    assert!(machine.is_passive(scene.client));

    machine.reply_recv(scene.server, scene.endpoint, scene.reply, &word(2));
    assert_eq!(machine.running(), "client");
    assert_eq!(machine.received(scene.client).words, [2]);
    assert_eq!(machine.holder(scene.client.context), "client");
    assert_eq!(machine.state(scene.server), State::Receiving);
    // The same reply object can be used again.
    scene.call();
    assert_eq!(scene.machine.running(), "server");
}

#[test]
fn an_active_server_runs_on_its_own_time() {
    let mut machine = Machine::new();
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    let server = server(&mut machine, "server", 20, endpoint, reply);
    let client = machine.spawn(Spec::new("client", 10).active());
    machine.call(client, endpoint, &word(1));
    assert_eq!(machine.running(), "server");
    assert_eq!(machine.holder(client.context), "client");
    machine.send(server, reply, &word(2));
    assert_eq!(machine.state(client), State::Runnable);
    assert_eq!(machine.running(), "server");
    machine.recv(server, endpoint, reply);
    assert_eq!(machine.running(), "client");
    assert_eq!(machine.received(client).words, [2]);
}

#[test]
fn priority_does_not_travel_with_time() {
    let mut machine = Machine::new();
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    let low = passive_server(&mut machine, "low", 5, endpoint, reply);
    let client = machine.spawn(Spec::new("client", 30).active());
    let middle = machine.spawn(Spec::new("middle", 10).active());
    machine.call(client, endpoint, &word(1));
    assert_eq!(machine.running(), "middle");
    assert_eq!(machine.holder(client.context), "low");
    assert_eq!(machine.state(low), State::Runnable);
    machine.suspend(middle);
    assert_eq!(machine.running(), "low");
    machine.reply_recv(low, endpoint, reply, &word(2));
    assert_eq!(machine.running(), "client");
}

#[test]
fn a_queued_call_lends_its_time_when_it_is_received() {
    let mut machine = Machine::new();
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    let other = machine.endpoint();
    let other_reply = machine.reply();
    let server = passive_server(&mut machine, "server", 20, other, other_reply);
    let client = machine.spawn(Spec::new("client", 10).active());
    machine.call(client, other, &word(1));
    // While the server works for the client, another caller queues at a second endpoint.
    let next = caller(&mut machine, "next", 5, endpoint, &word(2));
    assert_eq!(machine.running(), "server");
    machine.nb_send_recv(server, other_reply, &word(3), endpoint, reply);
    // The client has its context back, and the server has that of the next caller.
    assert_eq!(machine.holder(client.context), "client");
    assert_eq!(machine.holder(next.context), "server");
    assert_eq!(machine.running(), "server");
    assert_eq!(machine.received(server).words, [2]);
    assert_eq!(machine.state(next), State::Calling);
}

#[test]
fn calls_need_the_right_to_be_replied_to() {
    for (rights, state) in [
        (1, State::Inactive),
        (5, State::Calling),
        (9, State::Calling),
    ] {
        let mut scene = Scene::new();
        let weak = scene
            .machine
            .mint(scene.endpoint, Rights::from_word(rights), 4);
        scene.machine.call(scene.client, weak, &word(1));
        assert_eq!(scene.machine.state(scene.client), state);
        assert_eq!(scene.machine.received(scene.server).badge, 4);
        let runs = if state == State::Calling {
            "server"
        } else {
            "none"
        };
        assert_eq!(scene.machine.running(), runs);
    }
}

#[test]
fn any_holder_of_the_capability_may_reply() {
    let mut scene = Scene::new();
    scene.call();
    let deputy = scene.machine.spawn(Spec::new("deputy", 30).active());
    scene.machine.send(deputy, scene.reply, &word(9));
    scene.machine.suspend(deputy);
    assert_eq!(scene.machine.running(), "client");
    assert_eq!(scene.machine.received(scene.client).words, [9]);
    assert!(scene.machine.is_passive(scene.server));
    assert_eq!(scene.machine.state(scene.server), State::Runnable);
}

#[test]
fn a_reply_without_a_caller_succeeds() {
    let mut machine = Machine::new();
    let reply = machine.reply();
    let task = machine.spawn(Spec::new("task", 10).active());
    machine.rest();
    machine.send(task, reply, &word(1));
    machine.nb_send(task, reply, &word(1));
    machine.call(task, reply, &Message::new(7, &[1, 2]));
    let received = machine.received(task);
    assert_eq!((received.label, received.words.len()), (0, 0));
    assert_eq!(machine.running(), "task");
}

#[test]
fn one_reply_per_call() {
    let mut machine = Machine::new();
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    let server = server(&mut machine, "server", 20, endpoint, reply);
    let client = machine.spawn(Spec::new("client", 10).active());
    machine.call(client, endpoint, &word(1));
    machine.send(server, reply, &word(2));
    machine.send(server, reply, &word(3));
    machine.wait(server, endpoint);
    assert_eq!(machine.received(client).words, [2]);
}

#[test]
fn nested_calls_return_in_order() {
    let mut chain = Chain::new(3);
    for index in (0..3).rev() {
        chain.reply(index);
        let caller = if index == 0 {
            chain.client
        } else {
            chain.servers[index - 1]
        };
        assert!(chain.machine.runs(caller));
        assert_eq!(chain.machine.received(caller).words, [100 + index]);
    }
    assert_eq!(chain.machine.holder(chain.client.context), "client");
}

#[test]
fn a_reply_in_the_middle_cuts_the_chain() {
    let mut chain = Chain::new(3);
    let (machine, servers) = (&mut chain.machine, &chain.servers);
    // The last server replies on behalf of the second: the first gets the message, but no context.
    machine.send(servers[2], chain.replies[1], &word(55));
    assert_eq!(machine.state(servers[0]), State::Runnable);
    assert!(machine.is_passive(servers[0]));
    assert_eq!(machine.received(servers[0]).words, [55]);
    assert_eq!(machine.running(), "third");
    // Above the cut, the chain is unchanged.
    chain.reply(2);
    assert_eq!(chain.machine.running(), "second");
    assert_eq!(chain.machine.holder(chain.client.context), "second");
    // The chain ends there: the second server has no caller any more.
    chain.reply(1);
    assert_eq!(chain.machine.holder(chain.client.context), "second");
    assert_eq!(chain.machine.state(chain.client), State::Calling);
    // The first server's reply does not return the context either.
    let (first, reply) = (chain.servers[0], chain.replies[0]);
    chain.machine.bind(first.context, first.tcb).unwrap();
    chain.machine.send(first, reply, &word(1));
    assert_eq!(chain.machine.state(chain.client), State::Runnable);
    assert!(chain.machine.is_passive(chain.client));
}

#[test]
fn deleting_the_top_reply_returns_the_time() {
    let mut chain = Chain::new(2);
    chain.machine.delete(chain.replies[1]);
    let machine = &mut chain.machine;
    assert_eq!(machine.holder(chain.client.context), "first");
    assert_eq!(machine.state(chain.servers[0]), State::Inactive);
    assert!(machine.is_passive(chain.servers[1]));
    assert_eq!(machine.running(), "none");
    // When resumed, it calls again, and there is no receiver.
    machine.resume(chain.servers[0]);
    assert_eq!(machine.state(chain.servers[0]), State::Sending);
}

#[test]
fn deleting_a_reply_in_the_middle_cuts_the_chain() {
    let mut chain = Chain::new(3);
    chain.machine.delete(chain.replies[1]);
    assert_eq!(chain.machine.state(chain.servers[0]), State::Inactive);
    assert_eq!(chain.machine.running(), "third");
    chain.reply(2);
    assert_eq!(chain.machine.running(), "second");
    chain.wait(1);
    assert_eq!(chain.machine.holder(chain.client.context), "second");
}

#[test]
fn using_a_reply_object_again_gives_up_the_caller() {
    let mut scene = Scene::new();
    scene.call();
    let other = scene.machine.endpoint();
    scene.machine.recv(scene.server, other, scene.reply);
    assert_eq!(scene.machine.state(scene.client), State::Inactive);
    assert!(scene.machine.is_passive(scene.client));
    assert_eq!(scene.machine.holder(scene.client.context), "server");
    assert_eq!(scene.machine.state(scene.server), State::Receiving);
}

#[test]
fn suspending_a_caller_leaves_its_time_with_the_server() {
    let mut scene = Scene::new();
    scene.call();
    scene.machine.suspend(scene.client);
    assert_eq!(scene.machine.running(), "server");
    assert_eq!(scene.machine.holder(scene.client.context), "server");
    scene
        .machine
        .reply_recv(scene.server, scene.endpoint, scene.reply, &word(2));
    assert_eq!(scene.machine.holder(scene.client.context), "server");
    // When resumed with a context, the client repeats its call, which is received.
    let context = scene.machine.new_context(Budget::slice(1000));
    scene.machine.bind(context, scene.client.tcb).unwrap();
    scene.machine.resume(scene.client);
    assert_eq!(scene.machine.running(), "server");
    assert_eq!(scene.machine.state(scene.client), State::Calling);
    assert_eq!(scene.machine.holder(context), "client");
}

#[test]
fn deleting_the_context_ends_the_stack_but_not_the_calls() {
    let mut chain = Chain::new(2);
    chain.machine.delete(chain.client.context);
    let machine = &mut chain.machine;
    assert_eq!(machine.running(), "none");
    assert_eq!(machine.state(chain.servers[1]), State::Runnable);
    assert_eq!(machine.state(chain.servers[0]), State::Calling);
    // After binding another context, the reply still arrives, without donation.
    let last = chain.servers[1];
    machine.bind(last.context, last.tcb).unwrap();
    machine.send(last, chain.replies[1], &word(3));
    assert_eq!(machine.received(chain.servers[0]).words, [3]);
    assert!(machine.is_passive(chain.servers[0]));
    assert_eq!(machine.running(), "second");
}

#[test]
fn unbinding_a_context_from_everything_detaches_it_from_the_stack() {
    let mut scene = Scene::new();
    scene.call();
    let context = scene.client.context;
    scene
        .machine
        .invoke(context, Method::SchedContextUnbind, &[], &[])
        .unwrap();
    assert_eq!(scene.machine.running(), "none");
    scene.machine.bind(context, scene.server.tcb).unwrap();
    scene
        .machine
        .reply_recv(scene.server, scene.endpoint, scene.reply, &word(1));
    assert!(scene.machine.is_passive(scene.client));
    assert_eq!(scene.machine.state(scene.client), State::Runnable);
    assert_eq!(scene.machine.holder(context), "server");
}

#[test]
fn a_context_taken_from_the_server_alone_still_goes_back() {
    let mut scene = Scene::new();
    scene.call();
    let context = scene.client.context;
    let server = [scene.server.tcb];
    scene
        .machine
        .invoke(context, Method::SchedContextUnbindObject, &[], &server)
        .unwrap();
    assert_eq!(scene.machine.running(), "none");
    assert_eq!(scene.machine.holder(context), "none");
    let deputy = scene.machine.spawn(Spec::new("deputy", 30).active());
    scene.machine.send(deputy, scene.reply, &word(1));
    scene.machine.suspend(deputy);
    assert_eq!(scene.machine.running(), "client");
    assert_eq!(scene.machine.holder(context), "client");
}

#[test]
fn a_dead_server_leaves_the_time_to_the_reply_object() {
    let mut scene = Scene::new();
    scene.call();
    scene.machine.delete(scene.server.tcb);
    assert_eq!(scene.machine.running(), "none");
    assert_eq!(scene.machine.holder(scene.client.context), "none");
    assert_eq!(scene.machine.state(scene.client), State::Calling);
    scene.machine.delete(scene.reply);
    assert_eq!(scene.machine.holder(scene.client.context), "client");
    assert_eq!(scene.machine.state(scene.client), State::Inactive);
    scene.machine.resume(scene.client);
    assert_eq!(scene.machine.state(scene.client), State::Sending);
}

#[test]
fn time_stays_with_the_server_if_the_caller_got_other_time() {
    let mut scene = Scene::new();
    scene.call();
    let other = scene.machine.new_context(Budget::slice(500));
    scene.machine.bind(other, scene.client.tcb).unwrap();
    scene
        .machine
        .reply_recv(scene.server, scene.endpoint, scene.reply, &word(1));
    assert_eq!(scene.machine.running(), "client");
    assert_eq!(scene.machine.holder(other), "client");
    assert_eq!(scene.machine.holder(scene.client.context), "server");
}

#[test]
fn time_comes_back_from_wherever_it_is() {
    let mut scene = Scene::new();
    scene.call();
    // The server passes the context on without expecting it back.
    let (endpoint, reply) = (scene.machine.endpoint(), scene.machine.reply());
    let worker = passive_server(&mut scene.machine, "worker", 20, endpoint, reply);
    let idle = scene.machine.endpoint();
    let spare = scene.machine.reply();
    scene
        .machine
        .nb_send_recv(scene.server, endpoint, &word(4), idle, spare);
    assert_eq!(scene.machine.running(), "worker");
    assert_eq!(scene.machine.holder(scene.client.context), "worker");
    scene.machine.send(worker, scene.reply, &word(5));
    assert_eq!(scene.machine.running(), "client");
    assert_eq!(scene.machine.received(scene.client).words, [5]);
    assert!(scene.machine.is_passive(worker));
}

#[test]
fn a_call_without_time_lends_none() {
    let mut machine = Machine::new();
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    let client = caller(&mut machine, "client", 10, endpoint, &word(1));
    make_passive(&mut machine, client);
    let receiver = machine.spawn(Spec::new("receiver", 20).active());
    machine.recv(receiver, endpoint, reply);
    assert_eq!(machine.state(client), State::Calling);
    machine.reply_recv(receiver, endpoint, reply, &word(2));
    assert_eq!(machine.running(), "none");
    assert_eq!(machine.state(client), State::Runnable);
    assert_eq!(machine.received(client).words, [2]);
}

#[test]
fn a_reply_to_a_caller_without_budget_makes_it_wait() {
    let mut machine = Machine::new();
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    let server = passive_server(&mut machine, "server", 20, endpoint, reply);
    let spec = Spec::new("client", 10).budget(Budget::new(100, 1000).refills(2));
    let client = machine.spawn(spec);
    machine.advance(20);
    machine.call(client, endpoint, &word(1));
    let start = machine.now();
    // The server uses up the client's budget and has to wait for a replenishment.
    machine.advance(90);
    assert_eq!(machine.running(), "none");
    assert_eq!(machine.state(server), State::Runnable);
    // Another thread replies meanwhile.
    let deputy = machine.spawn(Spec::new("deputy", 5).active());
    machine.send(deputy, reply, &word(2));
    assert_eq!(machine.holder(client.context), "client");
    assert_eq!(machine.state(client), State::Runnable);
    assert_eq!(machine.running(), "deputy");
    machine.advance_until(|machine| machine.runs(client));
    assert!((800..=1000).contains(&(machine.now() - start)));
}
