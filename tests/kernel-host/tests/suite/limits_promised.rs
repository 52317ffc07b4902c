//! The guarantee of a limit, whatever servers do: they use no more of a client's budget than the
//! limit of its call, and when it is reached, or no server has the context any more, the client gets
//! the context back.

use abi::endpoint_flags::LIMIT;
use host_machine::{Budget, CPtr, Machine, Spec, State, Task};
use proptest::prelude::*;

use crate::common::{passive_server, word};
use crate::thresholds::set_threshold;

/// Limits of nested calls.
const LIMITS: [usize; 3] = [500, 300, 100];
const BUDGET: u64 = 2000;
/// Budget used in a test is not replenished before its end.
const PERIOD: u64 = 1_000_000;

/// An action of the running server, or an action on one of the servers.
#[derive(Clone, Copy, Debug)]
enum Step {
    Run(u64),
    Call,
    Answer,
    Yield,
    YieldUntil(u64),
    /// Receives with the reply object of one of the servers: blocking or not, at its own endpoint or
    /// another.
    Receive(bool, bool, usize),
    /// Receives with an unrelated reply object.
    ReceiveElsewhere,
    Divert(usize),
    Suspend(usize),
    Resume(usize),
    DeleteReply(usize),
    DeleteServer(usize),
    /// Another thread replies.
    Reply(usize),
    Disturb(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let server = || 0..LIMITS.len();
    prop_oneof![
        8 => prop_oneof![1..30u64, 30..300u64].prop_map(Step::Run),
        8 => Just(Step::Call),
        3 => Just(Step::Answer),
        1 => Just(Step::Yield),
        1 => (0..600u64).prop_map(Step::YieldUntil),
        2 => (any::<bool>(), any::<bool>(), server())
            .prop_map(|(blocking, own, reply)| Step::Receive(blocking, own, reply)),
        1 => Just(Step::ReceiveElsewhere),
        1 => server().prop_map(Step::Divert),
        1 => server().prop_map(Step::Suspend),
        2 => server().prop_map(Step::Resume),
        1 => server().prop_map(Step::DeleteReply),
        1 => server().prop_map(Step::DeleteServer),
        1 => server().prop_map(Step::Reply),
        1 => (1..500u64).prop_map(Step::Disturb),
    ]
}

struct TestSystem {
    machine: Machine,
    endpoints: Vec<CPtr>,
    replies: Vec<CPtr>,
    elsewhere: (CPtr, CPtr),
    servers: Vec<Task>,
    accomplice: Task,
    client: Task,
}

impl TestSystem {
    fn new() -> Self {
        let mut machine = Machine::new();
        let elsewhere = (machine.endpoint(), machine.reply());
        let endpoints: Vec<_> = LIMITS.iter().map(|_| machine.endpoint()).collect();
        let replies: Vec<_> = LIMITS.iter().map(|_| machine.reply()).collect();
        let mut servers = Vec::new();
        for (index, limit) in LIMITS.into_iter().enumerate() {
            let (endpoint, reply) = (endpoints[index], replies[index]);
            servers.push(passive_server(&mut machine, "server", 20, endpoint, reply));
            set_threshold(&mut machine, endpoint, limit, LIMIT).unwrap();
        }
        let accomplice = machine.spawn(Spec::new("accomplice", 30).active().suspended());
        let client = machine.spawn(Spec::new("client", 10).budget(Budget::new(BUDGET, PERIOD)));
        machine.call(client, endpoints[0], &word(1));
        Self {
            machine,
            endpoints,
            replies,
            elsewhere,
            servers,
            accomplice,
            client,
        }
    }

    fn step(&mut self, step: Step) {
        let machine = &mut self.machine;
        let alive = |machine: &Machine, task| machine.state(task) != State::Gone;
        let running = (0..LIMITS.len()).find(|index| machine.runs(self.servers[*index]));
        match (step, running) {
            (Step::Run(time), _) => machine.advance(time),
            (Step::Call, Some(index)) => {
                let next = self.endpoints[(index + 1) % LIMITS.len()];
                machine.call(self.servers[index], next, &word(2));
            }
            (Step::Answer, Some(index)) => {
                let (endpoint, reply) = (self.endpoints[index], self.replies[index]);
                machine.reply_recv(self.servers[index], endpoint, reply, &word(3));
            }
            (Step::Yield, Some(index)) => machine.yield_now(self.servers[index]),
            (Step::YieldUntil(amount), Some(index)) => {
                machine.yield_until_budget(self.servers[index], amount);
            }
            (Step::Receive(blocking, own, reply), Some(index)) => {
                let endpoint = if own {
                    self.endpoints[index]
                } else {
                    self.elsewhere.0
                };
                let reply = self.replies[reply];
                if blocking {
                    machine.recv(self.servers[index], endpoint, reply);
                } else {
                    machine.nb_recv(self.servers[index], endpoint, reply);
                }
            }
            (Step::ReceiveElsewhere, Some(index)) => {
                machine.recv(self.servers[index], self.elsewhere.0, self.elsewhere.1);
            }
            (Step::Divert(index), _) if alive(machine, self.servers[index]) => {
                machine.divert(self.servers[index]);
            }
            (Step::Suspend(index), _) if alive(machine, self.servers[index]) => {
                machine.suspend(self.servers[index]);
            }
            (Step::Resume(index), _) if alive(machine, self.servers[index]) => {
                machine.resume(self.servers[index]);
            }
            (Step::DeleteReply(index), _) if !machine.is_empty(self.replies[index]) => {
                machine.delete(self.replies[index]);
            }
            (Step::DeleteServer(index), _) if alive(machine, self.servers[index]) => {
                machine.delete(self.servers[index].tcb);
            }
            (Step::Reply(index), _) if !machine.is_empty(self.replies[index]) => {
                machine.resume(self.accomplice);
                machine.send(self.accomplice, self.replies[index], &word(4));
                machine.suspend(self.accomplice);
            }
            (Step::Disturb(time), _) => {
                machine.resume(self.accomplice);
                machine.advance(time);
                machine.suspend(self.accomplice);
            }
            _ => {}
        }
    }

    /// How much of the client's budget is used.
    fn lost(&self) -> u64 {
        let refills = self.machine.refills(self.client.context);
        let left = refills.iter().filter(|refill| refill.0 < PERIOD);
        BUDGET - left.map(|refill| refill.1).sum::<u64>()
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_limit_bounds_what_servers_use_of_a_call(steps in prop::collection::vec(step(), 1..60)) {
        let mut system = TestSystem::new();
        let limit = LIMITS[0] as u64;
        for step in steps {
            let calling = system.machine.state(system.client) == State::Calling;
            if !calling {
                break;
            }
            system.step(step);
            if system.machine.state(system.client) == State::Calling {
                prop_assert!(system.lost() <= limit);
                // Either there is budget below the limit left, or no thread runs: the context's
                // thread waits, or the context has no thread.
                prop_assert!(system.lost() < limit || system.machine.running() == "none");
            } else {
                prop_assert_eq!(system.machine.holder(system.client.context), "client");
            }
        }
    }
}
