//! Timing guarantees of the extensions to the interface, whatever else happens.
//!
//! The budget of a server never runs out if its endpoint's threshold is at least the time it uses for
//! a request plus the smallest budget, for the retry of a deferred caller. What servers with limits
//! may do to the budget of a client is in `limits_promised`. A thread that has waited for an amount
//! of budget is not stopped before it has used that amount.

use abi::Method;
use abi::endpoint_flags::LIMIT;
use host_machine::{Budget, CPtr, Machine, Spec, State, Task};
use proptest::prelude::*;

use crate::common::{passive_server, server, word};
use crate::thresholds::set_threshold;

const CLIENTS: usize = 4;
/// The most that the kernel takes for the retry of a deferred caller.
const MIN_BUDGET: u64 = 20;

/// The next event, as far as the running thread has a choice.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// The running thread continues.
    Run(u64),
    /// A running client makes a call.
    Call,
    /// A client that was about to restart a system call does something else first.
    Divert(usize),
    /// A higher-priority thread runs for a while.
    Disturb(u64),
    /// A client's context is reconfigured.
    Configure(usize, Budget),
    /// A client is suspended.
    Suspend(usize),
    Resume(usize),
    Priority(usize, u8),
}

fn budget() -> impl Strategy<Value = Budget> {
    prop_oneof![
        3 => (20u64..400, 1u64..2000, 2usize..10, any::<bool>(), any::<bool>()).prop_map(
            |(budget, rest, refills, sporadic, idling)| {
                let budget = Budget::new(budget, budget + rest).refills(refills);
                Budget { sporadic, idling, ..budget }
            },
        ),
        1 => (40u64..400).prop_map(Budget::slice),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let client = || 0..CLIENTS;
    prop_oneof![
        8 => prop_oneof![1..30u64, 30..300u64].prop_map(Step::Run),
        8 => Just(Step::Call),
        2 => client().prop_map(Step::Divert),
        2 => (1..500u64).prop_map(Step::Disturb),
        1 => (client(), budget()).prop_map(|(client, budget)| Step::Configure(client, budget)),
        1 => client().prop_map(Step::Suspend),
        2 => client().prop_map(Step::Resume),
        1 => (client(), 1..19u8).prop_map(|(client, priority)| Step::Priority(client, priority)),
    ]
}

/// A passive server with requests of equal cost, its clients, and a handler that receives the
/// server's timeouts.
struct TestSystem {
    machine: Machine,
    endpoint: CPtr,
    reply: CPtr,
    server: Task,
    handler: Task,
    clients: Vec<Task>,
    disturber: Task,
    /// The work that the server still has to do for the current request.
    work: u64,
    /// The number of requests answered.
    answered: usize,
}

impl TestSystem {
    fn new(budgets: &[Budget], threshold: u64, flags: usize) -> Self {
        let mut machine = Machine::new();
        let (endpoint, reply) = (machine.endpoint(), machine.reply());
        let (timeouts, timeout_reply) = (machine.endpoint(), machine.reply());
        let handler = server(&mut machine, "handler", 40, timeouts, timeout_reply);
        let server = passive_server(&mut machine, "server", 20, endpoint, reply);
        machine
            .tcb(server, Method::TcbSetTimeoutEndpoint, &[], &[timeouts])
            .unwrap();
        set_threshold(&mut machine, endpoint, threshold as usize, flags).unwrap();
        let disturber = machine.spawn(Spec::new("disturber", 30).active().suspended());
        let clients = (budgets.iter().zip(10..))
            .map(|(budget, priority)| machine.spawn(Spec::new("client", priority).budget(*budget)))
            .collect();
        Self {
            machine,
            endpoint,
            reply,
            server,
            handler,
            clients,
            disturber,
            work: 0,
            answered: 0,
        }
    }

    /// `request` is the cost of a request.
    fn step(&mut self, step: Step, request: u64) {
        let machine = &mut self.machine;
        let client = self
            .clients
            .iter()
            .copied()
            .find(|task| machine.runs(*task));
        match step {
            Step::Configure(client, budget) => {
                machine
                    .configure(self.clients[client].context, budget)
                    .unwrap();
            }
            Step::Divert(client) => machine.divert(self.clients[client]),
            Step::Suspend(client) => machine.suspend(self.clients[client]),
            Step::Resume(client) => machine.resume(self.clients[client]),
            Step::Priority(client, priority) => {
                machine.set_priority(self.clients[client], priority);
            }
            Step::Disturb(time) => {
                machine.resume(self.disturber);
                machine.advance(time);
                machine.suspend(self.disturber);
            }
            Step::Call => match client {
                Some(client) => machine.call(client, self.endpoint, &word(1)),
                None => self.run(50, request),
            },
            Step::Run(time) => self.run(time, request),
        }
    }

    /// Time passes; the server works while it runs.
    fn run(&mut self, time: u64, request: u64) {
        for _ in 0..time {
            if self.machine.runs(self.server) {
                if self.work == 0 {
                    self.work = request;
                }
                self.machine.advance(1);
                self.work -= 1;
                if self.work == 0 && self.machine.runs(self.server) {
                    self.answer();
                }
            } else {
                self.machine.advance(1);
            }
        }
    }

    fn answer(&mut self) {
        self.machine
            .reply_recv(self.server, self.endpoint, self.reply, &word(2));
        self.answered += 1;
    }

    fn timed_out(&self) -> bool {
        self.machine.state(self.handler) != State::Receiving
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn behind_a_threshold_a_server_never_runs_out_of_time(
        budgets in prop::collection::vec(budget(), CLIENTS),
        request in 1..200u64,
        steps in prop::collection::vec(step(), 1..120),
    ) {
        let mut system = TestSystem::new(&budgets, request + MIN_BUDGET, 0);
        for step in steps {
            // Reducing the budget of a context while a server uses it is the responsibility of the
            // operator.
            let lent = matches!(step, Step::Configure(client, _)
                if system.machine.holder(system.clients[client].context) != "client");
            if !lent {
                system.step(step, request);
            }
            prop_assert!(!system.timed_out());
        }
    }
}

/// A deferred caller does something else for as long as possible before its retry and is still
/// accepted: the threshold covers that time.
#[test]
fn the_way_of_a_deferred_caller_is_covered() {
    for (threshold, covered) in [(120, true), (119, false)] {
        let mut system =
            TestSystem::new(&[Budget::new(threshold + 20, 1000); CLIENTS], threshold, 0);
        for client in 1..CLIENTS {
            system.step(Step::Suspend(client), 100);
        }
        system.step(Step::Run(50), 100);
        system.step(Step::Call, 100);
        system.step(Step::Divert(0), 100);
        let client = system.clients[0];
        system.machine.advance_until(|machine| machine.runs(client));
        system.step(Step::Run(20), 100);
        system.step(Step::Call, 100);
        system.step(Step::Run(200), 100);
        assert_eq!(system.timed_out(), !covered);
    }
}

/// Negative control: a threshold below the cost of a request does not guarantee anything.
#[test]
fn a_threshold_too_low_lets_a_server_run_out_of_time() {
    let mut system = TestSystem::new(&[Budget::new(121, 1000); CLIENTS], 100, 0);
    system.step(Step::Call, 122);
    for _ in 0..10 {
        system.step(Step::Run(100), 122);
    }
    assert!(system.timed_out());
}

/// A limit ends a request that a threshold without a limit would let continue.
#[test]
fn a_limit_ends_a_request_that_takes_too_long() {
    let mut system = TestSystem::new(&[Budget::new(400, 1000); CLIENTS], 100, LIMIT);
    system.step(Step::Call, 101);
    system.step(Step::Run(300), 101);
    assert!(system.timed_out());
    assert_eq!(system.answered, 0);
    let mut system = TestSystem::new(&[Budget::new(400, 1000); CLIENTS], 100, LIMIT);
    system.step(Step::Call, 99);
    system.step(Step::Run(300), 99);
    assert!(!system.timed_out());
    assert_eq!(system.answered, 1);
}

/// Intervals of work and of pause.
type Bout = (u64, u64);

fn bouts(longest: u64) -> impl Strategy<Value = Vec<Bout>> {
    prop::collection::vec((1..longest, 1..500u64), 0..10)
}

/// How much of the time that it `wants` a thread can use before it waits for a replenishment, after
/// some bouts and after requesting `asked`, while others run in between; `None` if it can never have
/// that amount.
fn stretch(budget: Budget, before: &[Bout], asked: u64, wants: u64, after: &[Bout]) -> Option<u64> {
    let mut machine = Machine::new();
    let disturber = machine.spawn(Spec::new("disturber", 30).active().suspended());
    let worker = machine.spawn(Spec::new("worker", 10).budget(budget));
    machine.rest();
    let runs = |machine: &Machine| machine.runs(worker);
    for (work, pause) in before {
        machine.advance(*work);
        machine.suspend(worker);
        machine.advance(*pause);
        machine.resume(worker);
        machine.advance_until(runs);
    }
    machine.yield_until_budget(worker, asked);
    if runs(&machine) && machine.received(worker).label != 0 {
        return None;
    }
    machine.advance_until(runs);
    let mut used = 0;
    for (work, pause) in after.iter().copied().chain([(wants, 0)]) {
        for _ in 0..work.min(wants - used) {
            if !runs(&machine) {
                return Some(used);
            }
            machine.advance(1);
            used += 1;
        }
        machine.resume(disturber);
        machine.advance(pause);
        machine.suspend(disturber);
    }
    Some(used)
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn time_in_one_piece_has_no_gap(
        budget in budget(),
        before in bouts(100),
        amount in 20..400u64,
        after in bouts(40),
    ) {
        // The remainder is for entering the kernel.
        let wants = amount - 20;
        let used = stretch(budget, &before, amount, wants, &after);
        prop_assert!(used.is_none_or(|used| used == wants), "{used:?} of {wants}");
    }
}

/// Negative control: a thread that requests less than it wants may have to wait before it is done.
#[test]
fn time_in_pieces_has_gaps() {
    let budget = Budget::new(200, 1000).refills(8);
    let before = [(60, 200), (60, 200), (50, 200)];
    assert_eq!(stretch(budget, &before, 150, 130, &[]), Some(130));
    assert!(stretch(budget, &before, 20, 130, &[]).is_some_and(|used| used < 130));
}
