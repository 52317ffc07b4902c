//! Calls and replies, where more is looked at than scenarios can see.

use abi::Rights;
use host_machine::{Budget, Machine, Message, Spec, State};

use crate::common::{caller, passive_server, server, word};

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
        let mut machine = Machine::new();
        let (endpoint, reply) = (machine.endpoint(), machine.reply());
        let server = passive_server(&mut machine, "server", 20, endpoint, reply);
        let client = machine.spawn(Spec::new("client", 10).active());
        let weak = machine.mint(endpoint, Rights::from_word(rights), 4);
        machine.call(client, weak, &word(1));
        assert_eq!(machine.state(client), state);
        assert_eq!(machine.received(server).badge, 4);
        let runs = if state == State::Calling {
            "server"
        } else {
            "none"
        };
        assert_eq!(machine.running(), runs);
    }
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
