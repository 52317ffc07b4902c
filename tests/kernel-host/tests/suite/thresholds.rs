//! Endpoints with a threshold.

use abi::endpoint_flags::{DONATION_REQUIRED, TELL_BUDGET};
use abi::registers::MR;
use abi::{ErrorCode, Method, Rights, WORD_BITS, slots};
use host_machine::{Answer, Budget, CPtr, Machine, Message, Spec, State, Task};
use kernel::arch::UserContext;
use kernel::invoke::Error;
use kernel::object::Fault;

use crate::common::{caller, passive_server, server, word};

/// What the kernel requires in addition to the threshold: twice its own worst-case execution time.
const KERNEL: u64 = 20;
/// The longest period, in microseconds, of a clock of 1 MHz.
pub const LONGEST: u64 = u64::MAX / 8 / 1_000_000 * 1_000_000;
/// The largest threshold.
const MAX: usize = (LONGEST - KERNEL) as usize;

/// Sets the threshold of `endpoint`.
pub fn set_threshold(
    machine: &mut Machine,
    endpoint: CPtr,
    threshold: usize,
    flags: usize,
) -> Answer {
    machine.in_root(
        Method::CNodeEndpointSetThreshold,
        endpoint,
        &[threshold, flags],
    )
}

/// The root task has finished the setup.
fn settle(machine: &mut Machine) {
    if machine.runs(machine.root) {
        machine.rest();
    }
}

/// A passive server at an endpoint with a threshold, and a client.
pub struct Scene {
    pub machine: Machine,
    pub endpoint: CPtr,
    reply: CPtr,
    pub server: Task,
    pub client: Task,
}

impl Scene {
    pub fn new(threshold: usize, flags: usize, budget: Budget) -> Self {
        let mut machine = Machine::new();
        let (endpoint, reply) = (machine.endpoint(), machine.reply());
        set_threshold(&mut machine, endpoint, threshold, flags).unwrap();
        let server = passive_server(&mut machine, "server", 20, endpoint, reply);
        let client = machine.spawn(Spec::new("client", 10).budget(budget));
        Self {
            machine,
            endpoint,
            reply,
            server,
            client,
        }
    }

    /// The client has used this much of its budget.
    pub fn used(mut self, time: u64) -> Self {
        assert!(self.machine.runs(self.client));
        self.machine.advance(time);
        self
    }

    pub fn call(&mut self) {
        self.machine.call(self.client, self.endpoint, &word(7));
    }

    fn answer(&mut self) {
        self.machine
            .reply_recv(self.server, self.endpoint, self.reply, &word(8));
    }

    pub fn assert_served(&self) {
        assert!(self.machine.runs(self.server), "{}", self.machine.running());
        assert_eq!(self.machine.received(self.server).words, [7]);
        assert_eq!(self.machine.holder(self.client.context), "server");
    }

    pub fn assert_refused(&self, error: ErrorCode, words: &[usize]) {
        assert!(self.machine.runs(self.client));
        let answer = self.machine.received(self.client);
        assert_eq!((answer.label, &answer.words[..]), (error as usize, words));
        assert_eq!(self.machine.state(self.server), State::Receiving);
    }
}

pub const BUDGET: Budget = Budget::new(200, 1000);

#[test]
fn a_caller_with_enough_budget_is_served_at_once() {
    // Exactly enough: 200 - 80 = 100 + 20.
    let mut scene = Scene::new(100, 0, BUDGET).used(80);
    scene.call();
    scene.assert_served();
    scene.answer();
    assert!(scene.machine.runs(scene.client));
    assert_eq!(scene.machine.received(scene.client).words, [8]);
}

#[test]
fn a_deferred_caller_is_served_when_it_has_enough_budget() {
    let mut scene = Scene::new(100, 0, BUDGET).used(81);
    scene.call();
    assert_eq!(scene.machine.running(), "none");
    assert_eq!(scene.machine.state(scene.client), State::Runnable);
    // 119 are left and one more is due at 1000. The remaining budget is delayed until 881, so that it ends
    // when the next replenishment is due, and both are one.
    assert_eq!(scene.machine.refills(scene.client.context), [(881, 200)]);
    scene.machine.advance(799);
    assert_eq!(scene.machine.running(), "none");
    scene.machine.advance(1);
    assert_eq!(scene.machine.now(), 881);
    scene.assert_served();
}

#[test]
fn only_as_much_as_it_takes_is_merged() {
    let mut scene = Scene::new(30, 0, BUDGET.sporadic());
    let bell = scene.machine.notification();
    for _ in 0..4 {
        scene.machine.advance(40);
        scene.machine.wait(scene.client, bell);
        scene.machine.advance(100);
        scene
            .machine
            .by_root(|machine, root| machine.signal(root, bell));
    }
    assert_eq!(
        scene.machine.refills(scene.client.context),
        [(560, 40), (1000, 40), (1140, 40), (1280, 40), (1420, 40)]
    );
    scene.call();
    assert_eq!(scene.machine.running(), "none");
    assert_eq!(
        scene.machine.refills(scene.client.context),
        [(960, 80), (1140, 40), (1280, 40), (1420, 40)]
    );
    scene.machine.advance(400);
    scene.assert_served();
}

#[test]
fn what_is_due_already_counts() {
    let mut scene = Scene::new(100, 0, BUDGET.sporadic());
    let (bell, hog) = (scene.machine.notification(), {
        let hog = scene.machine.spawn(Spec::new("hog", 15).active());
        scene.machine.suspend(hog);
        hog
    });
    for _ in 0..2 {
        scene.machine.advance(60);
        scene.machine.wait(scene.client, bell);
        scene.machine.advance(100);
        scene
            .machine
            .by_root(|machine, root| machine.signal(root, bell));
    }
    // While the client is preempted, its replenishments become due, each separately.
    scene.machine.resume(hog);
    scene.machine.advance(1000);
    assert_eq!(
        scene.machine.refills(scene.client.context),
        [(320, 80), (1000, 60), (1160, 60)]
    );
    scene.machine.suspend(hog);
    assert_eq!(scene.machine.now(), 1320);
    scene.call();
    scene.assert_served();
    assert_eq!(
        scene.machine.refills(scene.client.context),
        [(920, 140), (1160, 60)]
    );
}

#[test]
fn a_whole_budget_of_exactly_what_is_needed_is_enough() {
    let mut scene = Scene::new(180, 0, BUDGET).used(1);
    for _ in 0..5 {
        scene.call();
        assert_eq!(scene.machine.running(), "none");
        scene
            .machine
            .advance_until(|machine| machine.running() != "none");
        scene.assert_served();
        scene.machine.advance(30);
        scene.answer();
        assert!(scene.machine.runs(scene.client));
    }
}

#[test]
fn a_deferral_covers_the_way_into_the_kernel_once() {
    let mut scene = Scene::new(180, 0, BUDGET).used(1);
    scene.call();
    scene
        .machine
        .advance_until(|machine| machine.running() != "none");
    scene.assert_served();
    scene.answer();
    // The time allowed for a retry after a deferral does not apply to the next call.
    scene.machine.advance(1);
    scene.call();
    assert_eq!(scene.machine.running(), "none");
}

/// A client with exactly the budget that a call to the endpoint requires, which was deferred and then
/// served without a budget test.
fn served_without_guard() -> Scene {
    let mut scene = Scene::new(180, 0, BUDGET).used(1);
    scene.call();
    assert_eq!(scene.machine.running(), "none");
    set_threshold(&mut scene.machine, scene.endpoint, 0, 0).unwrap();
    scene
        .machine
        .advance_until(|machine| machine.running() != "none");
    scene.assert_served();
    scene.answer();
    scene.machine.advance(1);
    scene
}

#[test]
fn a_deferred_sender_that_was_not_checked_again_has_no_retry_credit_left() {
    let mut scene = served_without_guard();
    set_threshold(&mut scene.machine, scene.endpoint, 180, 0).unwrap();
    scene.call();
    assert_eq!(scene.machine.running(), "none");
}

#[test]
fn a_deferred_sender_that_does_something_else_has_no_retry_credit() {
    let mut scene = Scene::new(180, 0, BUDGET).used(1);
    scene.call();
    // It continues at another address.
    let registers = [0, 1, 0x2_0000];
    scene
        .machine
        .tcb(scene.client, Method::TcbWriteRegisters, &registers, &[])
        .unwrap();
    scene
        .machine
        .advance_until(|machine| machine.running() != "none");
    assert!(scene.machine.runs(scene.client));
    scene.machine.advance(1);
    scene.call();
    assert_eq!(scene.machine.running(), "none");
}

#[test]
fn a_budget_that_can_never_suffice_is_refused_at_once() {
    let mut scene = Scene::new(181, 0, BUDGET);
    scene.call();
    scene.assert_refused(ErrorCode::BudgetTooSmall, &[201, 200]);
}

#[test]
fn a_deferral_is_no_timeout() {
    let mut machine = Machine::new();
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    let (faults, fault_reply) = (machine.endpoint(), machine.reply());
    set_threshold(&mut machine, endpoint, 100, 0).unwrap();
    let handler = server(&mut machine, "handler", 30, faults, fault_reply);
    let server = passive_server(&mut machine, "server", 20, endpoint, reply);
    let spec = Spec::new("client", 10).budget(BUDGET);
    let client = machine.spawn(spec.timeout_handler(faults));
    machine.advance(150);
    machine.call(client, endpoint, &word(7));
    assert_eq!(machine.running(), "none");
    assert_eq!(machine.state(handler), State::Receiving);
    machine.advance_until(|machine| machine.runs(server));
    assert_eq!(machine.state(handler), State::Receiving);
}

#[test]
fn a_sender_that_does_not_donate_is_refused() {
    for (threshold, flags) in [(100, 0), (0, DONATION_REQUIRED)] {
        let mut scene = Scene::new(threshold, flags, BUDGET);
        scene.machine.send(scene.client, scene.endpoint, &word(7));
        assert!(scene.machine.runs(scene.client), "it does not wait");
        assert_eq!(scene.machine.state(scene.server), State::Receiving);
        scene
            .machine
            .nb_send(scene.client, scene.endpoint, &word(7));
        assert!(scene.machine.runs(scene.client));
        assert_eq!(scene.machine.state(scene.server), State::Receiving);
        scene.call();
        scene.assert_served();
    }
}

#[test]
fn without_receiver_a_plain_send_does_not_wait_either() {
    let mut machine = Machine::new();
    let endpoint = machine.endpoint();
    set_threshold(&mut machine, endpoint, 0, DONATION_REQUIRED).unwrap();
    let sender = machine.spawn(Spec::new("sender", 10).active());
    settle(&mut machine);
    machine.send(sender, endpoint, &word(1));
    assert!(machine.runs(sender));
}

#[test]
fn what_does_not_wait_is_dropped_if_funded_too_little() {
    for (used, arrives) in [(80, true), (81, false)] {
        let mut scene = Scene::new(100, 0, BUDGET).used(used);
        let (endpoint, own) = (scene.endpoint, scene.machine.endpoint());
        let reply = scene.machine.reply();
        scene
            .machine
            .nb_send_recv(scene.client, endpoint, &word(7), own, reply);
        assert_eq!(scene.machine.state(scene.client), State::Receiving);
        if arrives {
            scene.assert_served();
        } else {
            assert_eq!(scene.machine.running(), "none");
            assert_eq!(scene.machine.state(scene.server), State::Receiving);
        }
    }
}

#[test]
fn a_timeslice_is_waited_for_in_turn() {
    let mut scene = Scene::new(100, 0, Budget::slice(200));
    let equal = scene
        .machine
        .spawn(Spec::new("equal", 10).budget(Budget::slice(300)));
    assert!(scene.machine.runs(equal), "bound last, it comes first");
    scene.machine.advance(300);
    let mut scene = scene.used(150);
    scene.call();
    assert!(scene.machine.runs(equal));
    scene.machine.advance(299);
    assert!(scene.machine.runs(equal));
    scene.machine.advance(1);
    scene.assert_served();
    assert_eq!(scene.machine.now(), 750);
}

#[test]
fn an_active_server_asks_as_well() {
    let mut machine = Machine::new();
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    set_threshold(&mut machine, endpoint, 100, 0).unwrap();
    let server = server(&mut machine, "server", 20, endpoint, reply);
    let client = machine.spawn(Spec::new("client", 10).budget(BUDGET));
    machine.advance(150);
    machine.call(client, endpoint, &word(7));
    assert_eq!(machine.running(), "none");
    machine.advance_until(|machine| machine.runs(server));
    assert_eq!(machine.holder(client.context), "client");
}

#[test]
fn a_fault_waits_for_time_like_a_call() {
    let mut machine = Machine::new();
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    set_threshold(&mut machine, endpoint, 100, 0).unwrap();
    let handler = passive_server(&mut machine, "handler", 20, endpoint, reply);
    let spec = Spec::new("faulty", 10).budget(BUDGET);
    let faulty = machine.spawn(spec.fault_handler(endpoint));
    let fault = Fault::UserException { number: 1, code: 2 };
    machine.advance(150);
    machine.fault(faulty, fault);
    assert_eq!(machine.running(), "none");
    assert_eq!(machine.state(faulty), State::Runnable);
    machine.advance_until(|machine| machine.runs(faulty));
    // The instruction is executed again, and faults again.
    machine.fault(faulty, fault);
    assert!(machine.runs(handler));
}

/// The instruction does not raise a debug exception again, so the message is sent immediately, and its handler waits for
/// the budget.
#[test]
fn a_debug_exception_is_sent_before_its_time() {
    for budget in [BUDGET, Budget::slice(200)] {
        let mut machine = Machine::new();
        let (endpoint, reply) = (machine.endpoint(), machine.reply());
        set_threshold(&mut machine, endpoint, 100, 0).unwrap();
        let handler = passive_server(&mut machine, "handler", 20, endpoint, reply);
        let spec = Spec::new("faulty", 10).budget(budget);
        let faulty = machine.spawn(spec.fault_handler(endpoint));
        settle(&mut machine);
        machine.advance(150);
        machine.debug_exception(faulty, Fault::UserException { number: 1, code: 2 });
        assert_eq!(machine.state(faulty), State::Calling);
        machine.advance_until(|machine| machine.runs(handler));
        assert_eq!(
            machine.received(handler).label,
            abi::fault::FaultLabel::UserException as usize
        );
        machine.advance(99);
        assert!(machine.runs(handler), "it has what the threshold promises");
        machine.reply_recv(handler, endpoint, reply, &Message::new(0, &[]));
        assert_eq!(machine.state(faulty), State::Runnable);
    }
}

#[test]
fn a_fault_that_can_never_be_told_stops_its_thread() {
    let mut machine = Machine::new();
    let endpoint = machine.endpoint();
    set_threshold(&mut machine, endpoint, 181, 0).unwrap();
    let spec = Spec::new("faulty", 10).budget(BUDGET);
    let faulty = machine.spawn(spec.fault_handler(endpoint));
    settle(&mut machine);
    machine.fault(faulty, Fault::UserException { number: 1, code: 2 });
    assert_eq!(machine.state(faulty), State::Inactive);
}

#[test]
fn a_timeout_message_does_not_pass_for_it_lends_nothing() {
    let mut machine = Machine::new();
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    let handler = server(&mut machine, "handler", 20, endpoint, reply);
    set_threshold(&mut machine, endpoint, 0, DONATION_REQUIRED).unwrap();
    let spec = Spec::new("task", 10).budget(BUDGET);
    let task = machine.spawn(spec.timeout_handler(endpoint));
    settle(&mut machine);
    machine.advance(1000);
    assert_eq!(machine.state(handler), State::Receiving);
    assert!(machine.runs(task), "as without handler");
}

#[test]
fn queued_senders_stay() {
    let mut machine = Machine::new();
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    let early = caller(&mut machine, "early", 10, endpoint, &word(1));
    set_threshold(&mut machine, endpoint, 1_000_000, 0).unwrap();
    assert_eq!(machine.state(early), State::Sending);
    let server = machine.spawn(Spec::new("server", 20).active());
    settle(&mut machine);
    machine.recv(server, endpoint, reply);
    assert!(machine.runs(server));
    assert_eq!(machine.received(server).words, [1]);
    let late = machine.spawn(Spec::new("late", 30).active());
    machine.call(late, endpoint, &word(2));
    assert_eq!(
        machine.received(late).label,
        ErrorCode::BudgetTooSmall as usize
    );
}

#[test]
fn a_queued_sender_brings_the_rest_of_its_slice() {
    let mut machine = Machine::new();
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    let server = passive_server(&mut machine, "server", 20, endpoint, reply);
    let early = machine.spawn(Spec::new("early", 5).active());
    machine.call(early, endpoint, &word(1));
    let client = machine.spawn(Spec::new("client", 30).budget(Budget::slice(200)));
    machine.advance(50);
    machine.call(client, endpoint, &word(2));
    set_threshold(&mut machine, endpoint, 170, 0).unwrap();
    machine.reply_recv(server, endpoint, reply, &word(3));
    assert!(machine.runs(server));
    assert_eq!(machine.refills(client.context)[0].1, 150);
}

#[test]
fn a_threshold_can_be_taken_back() {
    let mut scene = Scene::new(1000, 0, BUDGET);
    scene.call();
    scene.assert_refused(ErrorCode::BudgetTooSmall, &[1020, 200]);
    set_threshold(&mut scene.machine, scene.endpoint, 0, 0).unwrap();
    // No threshold is left for fast paths to test.
    let kernel::cap::Cap::Endpoint(cap) = scene.machine.cap(scene.endpoint) else {
        panic!("it is an endpoint");
    };
    assert!(scene.machine.kernel[cap.object].threshold().is_none());
    scene.call();
    scene.assert_served();
}

#[test]
fn the_receiver_learns_what_was_lent() {
    // One message word and the word after it are in registers; five reach into the buffer.
    for length in [1, 5] {
        let mut scene = Scene::new(100, TELL_BUDGET, BUDGET).used(30);
        let message = Message::new(0, &vec![7; length]);
        let registers = &mut scene.machine.kernel[scene.server.thread].context;
        registers.set_result(MR[2], 99);
        scene.machine.call(scene.client, scene.endpoint, &message);
        assert!(scene.machine.runs(scene.server));
        assert_eq!(scene.machine.received(scene.server).words.len(), length);
        let behind = match MR.get(length) {
            Some(register) => scene.machine.register(scene.server, *register),
            None => scene.machine.buffer_mut(scene.server).unwrap().message[length],
        };
        assert_eq!(behind, 170);
        // Exactly one word is reported.
        let next = if length == 1 { 99 } else { 7 };
        assert_eq!(scene.machine.register(scene.server, MR[2]), next);
    }
}

#[test]
fn nothing_lent_is_told_as_zero() {
    let mut machine = Machine::new();
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    set_threshold(&mut machine, endpoint, 0, TELL_BUDGET).unwrap();
    let server = server(&mut machine, "server", 20, endpoint, reply);
    let client = machine.spawn(Spec::new("client", 10).active());
    settle(&mut machine);
    machine.call(client, endpoint, &word(7));
    assert!(machine.runs(server));
    assert_eq!(machine.register(server, MR[1]), 0);
}

#[test]
fn nothing_lent_by_a_queued_sender_is_reported_as_zero() {
    let mut machine = Machine::new();
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    set_threshold(&mut machine, endpoint, 0, TELL_BUDGET).unwrap();
    caller(&mut machine, "client", 10, endpoint, &word(7));
    let server = machine.spawn(Spec::new("server", 20).active());
    settle(&mut machine);
    machine.recv(server, endpoint, reply);
    assert!(machine.runs(server));
    assert_eq!(machine.received(server).words, [7]);
    assert_eq!(machine.register(server, MR[1]), 0);
}

#[test]
fn only_the_holder_of_the_original_sets_a_threshold() {
    let mut machine = Machine::new();
    let endpoint = machine.endpoint();
    let copy = machine.copy(endpoint);
    let badged = machine.mint(endpoint, Rights::ALL, 5);
    let weak = machine.mint(endpoint, Rights::from_word(1), 0);
    let notification = machine.notification();
    for other in [copy, badged, weak, notification] {
        let answer = set_threshold(&mut machine, other, 100, 0);
        assert_eq!(answer, Err(Error::IllegalOperation));
    }
    set_threshold(&mut machine, endpoint, 100, 0).unwrap();
}

#[test]
fn bad_thresholds_are_refused() {
    let mut machine = Machine::new();
    let endpoint = machine.endpoint();
    for (threshold, flags, error) in [
        (100, 8, Error::InvalidArgument(3)),
        (100, usize::MAX, Error::InvalidArgument(3)),
        (
            MAX + 1,
            0,
            Error::Range {
                minimum: 0,
                maximum: MAX,
            },
        ),
        (
            usize::MAX,
            0,
            Error::Range {
                minimum: 0,
                maximum: MAX,
            },
        ),
        (
            0,
            2,
            Error::Range {
                minimum: 1,
                maximum: MAX,
            },
        ),
    ] {
        let answer = set_threshold(&mut machine, endpoint, threshold, flags);
        assert_eq!(answer, Err(error), "{threshold} {flags}");
    }
    let short = machine.invoke(
        slots::INIT_THREAD_CNODE,
        Method::CNodeEndpointSetThreshold,
        &[endpoint, WORD_BITS, 100],
        &[],
    );
    assert_eq!(short, Err(Error::Truncated));
    set_threshold(&mut machine, endpoint, MAX, 7).unwrap();
}
