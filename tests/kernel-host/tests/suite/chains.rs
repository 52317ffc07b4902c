//! Donated budget is conserved along any call chain: only the innermost thread of the chain has a
//! scheduling context, that of the first caller, and the context always has its whole budget, used or
//! not.

use abi::Method;
use host_machine::{Budget, CPtr, Machine, Spec, State, Task};
use proptest::prelude::*;

use crate::common::{passive_server, word};

#[derive(Clone, Copy, Debug)]
enum Step {
    Work(u64),
    Call,
    Reply,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (1..300u64).prop_map(Step::Work),
        3 => Just(Step::Call),
        2 => Just(Step::Reply),
    ]
}

fn budget() -> impl Strategy<Value = Budget> {
    prop_oneof![
        (40u64..300).prop_map(Budget::slice),
        (40u64..200, 1u64..1000, 2usize..10, any::<bool>()).prop_map(
            |(budget, rest, refills, sporadic)| {
                let budget = Budget::new(budget, budget + rest).refills(refills);
                if sporadic { budget.sporadic() } else { budget }
            }
        ),
    ]
}

struct Chain {
    machine: Machine,
    budget: Budget,
    /// The client, followed by the servers in the order in which they are called.
    tasks: Vec<Task>,
    endpoints: Vec<CPtr>,
    replies: Vec<CPtr>,
}

impl Chain {
    fn new(budget: Budget, priorities: &[u8]) -> Self {
        let mut machine = Machine::new();
        let endpoints: Vec<_> = priorities.iter().map(|_| machine.endpoint()).collect();
        let replies: Vec<_> = priorities.iter().map(|_| machine.reply()).collect();
        let mut servers = Vec::new();
        for ((priority, endpoint), reply) in priorities.iter().zip(&endpoints).zip(&replies) {
            let server = passive_server(&mut machine, "server", *priority, *endpoint, *reply);
            servers.push(server);
        }
        machine.history = Some(Vec::new());
        let client = machine.spawn(Spec::new("client", 5).budget(budget));
        if machine.runs(machine.root) {
            machine.rest();
        }
        Self {
            machine,
            budget,
            tasks: [vec![client], servers].concat(),
            endpoints,
            replies,
        }
    }

    /// How many calls of the chain wait for their replies.
    fn depth(&self) -> usize {
        let calls = |task: &&Task| self.machine.state(**task) == State::Calling;
        self.tasks.iter().take_while(calls).count()
    }

    fn step(&mut self, step: Step) {
        let depth = self.depth();
        let actor = self.tasks[depth];
        match step {
            Step::Work(time) => self.machine.advance(time),
            // Less than any budget, so no execution is missed.
            _ if !self.machine.runs(actor) => self.machine.advance(17),
            Step::Call if depth < self.endpoints.len() => {
                self.machine.call(actor, self.endpoints[depth], &word(1));
            }
            Step::Reply if depth > 0 => {
                let (endpoint, reply) = (self.endpoints[depth - 1], self.replies[depth - 1]);
                self.machine.reply_recv(actor, endpoint, reply, &word(2));
            }
            Step::Call | Step::Reply => {}
        }
    }

    fn check(&self) -> Result<(), String> {
        let context = self.tasks[0].context;
        let depth = self.depth();
        for (number, task) in self.tasks.iter().enumerate() {
            if self.machine.is_passive(*task) != (number != depth) {
                return Err(format!("task {number} of a chain of {depth} calls"));
            }
        }
        let amounts = self.machine.refills(context);
        let sum: u64 = amounts.iter().map(|(_, amount)| amount).sum();
        if sum != self.budget.budget {
            return Err(format!(
                "{amounts:?} is not the budget of {:?}",
                self.budget
            ));
        }
        let owner = self.machine.context(context).address();
        let history = self.machine.history.as_deref().unwrap_or_default();
        match history.iter().find(|slice| slice.context != owner) {
            Some(slice) => Err(format!("another context is charged: {slice:?}")),
            None => Ok(()),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn donated_budget_is_conserved_along_any_chain(
        budget in budget(),
        priorities in prop::collection::vec(1..10u8, 1..6),
        steps in prop::collection::vec(step(), 1..150),
    ) {
        let mut chain = Chain::new(budget, &priorities);
        for step in steps {
            chain.step(step);
            chain.check().map_err(TestCaseError::fail)?;
        }
        for _ in 0..10_000 {
            if chain.depth() == 0 {
                break;
            }
            chain.step(Step::Reply);
        }
        prop_assert_eq!(chain.depth(), 0, "every call is answered");
        chain.check().map_err(TestCaseError::fail)?;
    }
}

#[test]
fn a_context_that_is_lost_on_the_way_is_noticed() {
    let mut chain = Chain::new(Budget::new(100, 400), &[3, 7]);
    chain.step(Step::Call);
    chain.step(Step::Call);
    assert_eq!((chain.depth(), chain.check()), (2, Ok(())));
    let context = chain.tasks[0].context;
    let answer = chain
        .machine
        .invoke(context, Method::SchedContextUnbind, &[], &[]);
    assert_eq!(answer, Ok(vec![]));
    assert!(chain.check().is_err());
}
