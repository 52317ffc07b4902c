//! Limits: how much of a caller's budget a server may use.

use abi::endpoint_flags::{LIMIT, TELL_BUDGET};
use abi::fault::FaultLabel;
use abi::registers::MR;
use abi::{ErrorCode, Method};
use host_machine::{Budget, CPtr, Machine, Spec, State, Task};
use kernel::object::Fault;

use crate::common::{passive_server, server, word};
use crate::thresholds::set_threshold;

const NAMES: [&str; 4] = ["first", "second", "third", "fourth"];

/// Servers with limits that call each other in order, a handler of their timeouts, and a client.
pub struct Scene {
    pub machine: Machine,
    pub endpoints: Vec<CPtr>,
    pub replies: Vec<CPtr>,
    pub servers: Vec<Task>,
    pub handler: Task,
    handler_endpoint: CPtr,
    handler_reply: CPtr,
    pub client: Task,
}

impl Scene {
    /// `limits` has the limit of each server; zero for an endpoint without one.
    pub fn new(limits: &[usize]) -> Self {
        let mut machine = Machine::new();
        let (timeouts, handler_reply) = (machine.endpoint(), machine.reply());
        let handler = server(&mut machine, "handler", 30, timeouts, handler_reply);
        let endpoints: Vec<_> = limits.iter().map(|_| machine.endpoint()).collect();
        let replies: Vec<_> = limits.iter().map(|_| machine.reply()).collect();
        let mut servers = Vec::new();
        for (index, limit) in limits.iter().enumerate() {
            let (endpoint, reply) = (endpoints[index], replies[index]);
            let server = passive_server(&mut machine, NAMES[index], 20, endpoint, reply);
            machine
                .tcb(server, Method::TcbSetTimeoutEndpoint, &[], &[timeouts])
                .unwrap();
            if *limit > 0 {
                set_threshold(&mut machine, endpoint, *limit, LIMIT).unwrap();
            }
            servers.push(server);
        }
        let budget = Budget::new(1000, 10_000).badge(77);
        let client = machine.spawn(Spec::new("client", 10).budget(budget));
        assert!(machine.runs(client));
        Self {
            machine,
            endpoints,
            replies,
            servers,
            handler,
            handler_endpoint: timeouts,
            handler_reply,
            client,
        }
    }

    /// The client calls the first server.
    pub fn call(&mut self) {
        self.machine.call(self.client, self.endpoints[0], &word(1));
        assert!(self.machine.runs(self.servers[0]));
    }

    /// A server calls the next one.
    pub fn call_next(&mut self, index: usize) {
        let endpoint = self.endpoints[index + 1];
        self.machine
            .call(self.servers[index], endpoint, &word(index + 2));
    }

    pub fn answer(&mut self, index: usize) {
        let (endpoint, reply) = (self.endpoints[index], self.replies[index]);
        self.machine
            .reply_recv(self.servers[index], endpoint, reply, &word(8));
    }

    /// The handler has received that a limit of the client's context was reached, and waits again.
    pub fn handle(&mut self) {
        assert!(self.machine.runs(self.handler));
        let told = self.machine.received(self.handler);
        assert_eq!(told.label, FaultLabel::Timeout as usize);
        assert_eq!(told.words[0], 77);
        let (endpoint, reply) = (self.handler_endpoint, self.handler_reply);
        self.machine.recv(self.handler, endpoint, reply);
    }

    /// A call returned because a limit was reached.
    pub fn assert_limited(&self, caller: Task) {
        assert!(self.machine.runs(caller), "{}", self.machine.running());
        let answer = self.machine.received(caller);
        assert_eq!(answer.label, ErrorCode::LimitReached as usize);
        assert_eq!(
            self.machine.holder(self.client.context),
            self.machine.name(caller)
        );
    }

    pub fn now(&self) -> u64 {
        self.machine.now()
    }
}

#[test]
fn a_server_that_takes_too_long_loses_the_time() {
    let mut scene = Scene::new(&[100]);
    scene.machine.advance(50);
    scene.call();
    scene.machine.advance(99);
    assert!(scene.machine.runs(scene.servers[0]));
    scene.machine.advance(1);
    scene.handle();
    scene.assert_limited(scene.client);
    assert_eq!(scene.now(), 150);
    assert!(scene.machine.is_passive(scene.servers[0]));
}

#[test]
fn a_server_in_time_is_not_disturbed() {
    let mut scene = Scene::new(&[100]);
    for _ in 0..3 {
        scene.call();
        scene.machine.advance(99);
        scene.answer(0);
        assert!(scene.machine.runs(scene.client));
        assert_eq!(scene.machine.received(scene.client).words, [8]);
        // The limit ends with the reply.
        scene.machine.advance(150);
        assert!(scene.machine.runs(scene.client));
    }
}

#[test]
fn without_handler_the_server_just_stays_behind() {
    let mut scene = Scene::new(&[100]);
    let server = scene.servers[0];
    scene
        .machine
        .tcb(server, Method::TcbSetTimeoutEndpoint, &[], &[0])
        .unwrap();
    scene.call();
    scene.machine.advance(100);
    scene.assert_limited(scene.client);
    assert_eq!(scene.machine.state(server), State::Runnable);
    assert!(scene.machine.is_passive(server));
}

#[test]
fn time_used_by_others_is_not_counted() {
    let mut scene = Scene::new(&[100]);
    scene.call();
    scene.machine.advance(60);
    let hog = scene.machine.spawn(Spec::new("hog", 25).active());
    scene.machine.advance(500);
    assert!(scene.machine.runs(hog));
    scene.machine.suspend(hog);
    scene.machine.advance(39);
    assert!(scene.machine.runs(scene.servers[0]));
    scene.machine.advance(1);
    scene.handle();
    scene.assert_limited(scene.client);
}

#[test]
fn a_limit_reached_between_two_system_calls_is_found_by_the_second() {
    let mut scene = Scene::new(&[100]);
    scene.call();
    scene.machine.stall_before_call(100);
    scene.answer(0);
    scene.handle();
    scene.assert_limited(scene.client);
}

#[test]
fn limits_nest_and_the_inner_one_ends_first() {
    let mut scene = Scene::new(&[500, 300, 100]);
    scene.call();
    scene.machine.advance(10);
    scene.call_next(0);
    scene.machine.advance(10);
    scene.call_next(1);
    assert!(scene.machine.runs(scene.servers[2]));
    scene.machine.advance(100);
    scene.handle();
    scene.assert_limited(scene.servers[1]);
    // 10 + 100 of the second server's 300 are used.
    scene.machine.advance(189);
    assert!(scene.machine.runs(scene.servers[1]));
    scene.machine.advance(1);
    scene.handle();
    scene.assert_limited(scene.servers[0]);
    // 10 + 300 of the first server's 500 are used.
    scene.machine.advance(189);
    assert!(scene.machine.runs(scene.servers[0]));
    scene.machine.advance(1);
    scene.handle();
    scene.assert_limited(scene.client);
    assert_eq!(scene.now(), 500);
}

#[test]
fn an_outer_limit_stays_in_force_through_inner_calls() {
    let mut scene = Scene::new(&[300, 100]);
    scene.call();
    for _ in 0..2 {
        scene.machine.advance(50);
        scene.call_next(0);
        scene.machine.advance(60);
        scene.answer(1);
        assert!(scene.machine.runs(scene.servers[0]));
    }
    scene.machine.advance(79);
    assert!(scene.machine.runs(scene.servers[0]));
    scene.machine.advance(1);
    scene.handle();
    scene.assert_limited(scene.client);
}

#[test]
fn an_inner_limit_must_fit_into_what_is_left_of_the_outer() {
    let mut scene = Scene::new(&[300, 200]);
    scene.call();
    scene.machine.advance(80);
    scene.call_next(0);
    assert!(
        scene.machine.runs(scene.servers[1]),
        "220 are left, and needed"
    );
    scene.answer(1);
    scene.machine.advance(1);
    scene.call_next(0);
    assert!(scene.machine.runs(scene.servers[0]));
    let answer = scene.machine.received(scene.servers[0]);
    assert_eq!(answer.label, ErrorCode::BudgetTooSmall as usize);
    assert_eq!(answer.words, [220, 219]);
}

#[test]
fn limited_time_is_lent_only_within_limits() {
    let mut scene = Scene::new(&[300, 0]);
    scene.call();
    scene.call_next(0);
    assert!(scene.machine.runs(scene.servers[0]));
    let answer = scene.machine.received(scene.servers[0]);
    assert_eq!(answer.label, ErrorCode::IllegalOperation as usize);
    assert_eq!(scene.machine.state(scene.servers[1]), State::Receiving);

    // A threshold without the flag is not a limit.
    let mut scene = Scene::new(&[300, 0]);
    set_threshold(&mut scene.machine, scene.endpoints[1], 10, 0).unwrap();
    scene.call();
    scene.call_next(0);
    assert!(scene.machine.runs(scene.servers[0]));
    let answer = scene.machine.received(scene.servers[0]);
    assert_eq!(answer.label, ErrorCode::IllegalOperation as usize);
}

#[test]
fn limited_time_is_not_lent_by_messages_without_answer() {
    let mut scene = Scene::new(&[300, 0]);
    let (target, own) = (scene.endpoints[1], scene.machine.endpoint());
    let reply = scene.machine.reply();
    scene.call();
    let server = scene.servers[0];
    scene
        .machine
        .nb_send_recv(server, target, &word(2), own, reply);
    assert_eq!(scene.machine.state(server), State::Receiving);
    assert_eq!(scene.machine.state(scene.servers[1]), State::Receiving);

    let mut scene = Scene::new(&[300, 0]);
    let (target, own) = (scene.endpoints[1], scene.machine.notification());
    scene.call();
    let server = scene.servers[0];
    scene.machine.nb_send_wait(server, target, &word(2), own);
    assert_eq!(scene.machine.state(server), State::Waiting);
    assert_eq!(scene.machine.state(scene.servers[1]), State::Receiving);
}

#[test]
fn a_limited_server_still_answers_asks_and_signals() {
    let mut scene = Scene::new(&[300]);
    let bell = scene.machine.notification();
    let endpoint = scene.machine.endpoint();
    scene.call();
    let server = scene.servers[0];
    scene.machine.signal(server, bell);
    scene.machine.nb_send(server, endpoint, &word(1));
    scene.machine.nb_wait(server, bell);
    assert!(scene.machine.runs(server));
    let context = scene.client.context;
    let consumed = scene
        .machine
        .invoke_as(server, context, Method::SchedContextConsumed, &[], &[]);
    assert!(consumed.is_ok());
    scene.answer(0);
    assert!(scene.machine.runs(scene.client));
}

#[test]
fn a_fault_of_a_limited_server_does_not_lend_the_time() {
    let mut scene = Scene::new(&[300]);
    let (faults, reply) = (scene.machine.endpoint(), scene.machine.reply());
    let handler = passive_server(&mut scene.machine, "passive", 40, faults, reply);
    let server = scene.servers[0];
    scene
        .machine
        .tcb(server, Method::TcbSetSpace, &[0, 0], &[faults, 2, 3])
        .unwrap();
    scene.call();
    scene
        .machine
        .fault(server, Fault::UserException { number: 1, code: 2 });
    assert!(scene.machine.is_passive(handler));
    assert_eq!(scene.machine.holder(scene.client.context), "first");
}

#[test]
fn the_budget_may_end_before_the_limit() {
    let mut scene = Scene::new(&[500]);
    scene.machine.advance(400);
    scene.call();
    let context = scene.client.context;
    let refills = scene.machine.refills(context);
    assert_eq!(refills[0], (400, 600));
    // The client's budget is reduced meanwhile.
    scene
        .machine
        .configure(context, Budget::new(200, 10_000).badge(77))
        .unwrap();
    scene.machine.advance(200);
    assert!(scene.machine.runs(scene.handler));
    assert_eq!(scene.machine.state(scene.client), State::Calling);
}

#[test]
fn a_caller_that_waited_for_the_server_is_limited_as_well() {
    let mut machine = Machine::new();
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    set_threshold(&mut machine, endpoint, 100, LIMIT | TELL_BUDGET).unwrap();
    let budget = Budget::new(1000, 10_000);
    let server = passive_server(&mut machine, "server", 20, endpoint, reply);
    let early = machine.spawn(Spec::new("early", 11).budget(budget));
    machine.call(early, endpoint, &word(1));
    assert!(machine.runs(server));
    // During that call, another client calls, which runs because of its higher priority.
    let late = machine.spawn(Spec::new("late", 25).budget(budget));
    machine.call(late, endpoint, &word(2));
    assert_eq!(machine.state(late), State::Sending);
    machine.reply_recv(server, endpoint, reply, &word(8));
    assert!(machine.runs(server));
    assert_eq!(machine.received(server).words, [2]);
    assert_eq!(machine.register(server, MR[1]), 100);
    machine.advance(100);
    assert!(machine.runs(late));
    assert_eq!(
        machine.received(late).label,
        ErrorCode::LimitReached as usize
    );
}

#[test]
fn a_thread_that_faulted_into_a_limit_faults_again() {
    let mut machine = Machine::new();
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    set_threshold(&mut machine, endpoint, 100, LIMIT).unwrap();
    let handler = passive_server(&mut machine, "handler", 20, endpoint, reply);
    let spec = Spec::new("faulty", 10).budget(Budget::new(1000, 10_000));
    let faulty = machine.spawn(spec.fault_handler(endpoint));
    machine.fault(faulty, Fault::UserException { number: 1, code: 2 });
    assert!(machine.runs(handler));
    machine.advance(100);
    assert!(machine.runs(faulty));
    assert_eq!(machine.holder(faulty.context), "faulty");
}

#[test]
fn deleting_the_parts_of_a_limited_call_is_harmless() {
    for victim in 0..6 {
        let mut scene = Scene::new(&[500, 100]);
        scene.call();
        scene.call_next(0);
        let cap = [
            scene.endpoints[1],
            scene.replies[1],
            scene.replies[0],
            scene.servers[1].tcb,
            scene.servers[0].tcb,
            scene.client.context,
        ][victim];
        scene.machine.delete(cap);
        scene.machine.advance(30_000);
    }
}
