//! How much time a scheduling context supplies, whatever threads use it, and that no thread runs on a
//! context without budget.
//!
//! With constant bandwidth, no window of one period supplies more than the budget. Replenishments of
//! a sporadic server come one period after the time at which they *could* have been used, so a server
//! that was preempted by higher-priority threads catches up: for it, no `n` periods from the start
//! supply more than `n` budgets.

use abi::{Method, endpoint_flags};
use host_machine::machine::Slice;
use host_machine::{Budget, CPtr, Machine, Message, Spec, State, Task};
use kernel::time::Ticks;
use proptest::prelude::*;

use crate::common::{passive_server, word};
use crate::thresholds::set_threshold;

#[derive(Clone, Copy, Debug)]
enum Step {
    Run(u64),
    Yield,
    YieldUntil(u64),
    Signal(usize),
    Wait(usize),
    Call,
    Reply,
    Suspend(usize),
    Resume(usize),
    Priority(usize, u8),
    Rebind(usize),
    YieldTo(usize),
    YieldToTimeout(usize, u64),
    Threshold(usize, usize),
    Criticality(usize, u8),
    Level(usize),
}

const TASKS: usize = 4;

fn step() -> impl Strategy<Value = Step> {
    let task = || 0..TASKS;
    prop_oneof![
        8 => prop_oneof![1..30u64, 30..600u64].prop_map(Step::Run),
        1 => Just(Step::Yield),
        1 => (1..200u64).prop_map(Step::YieldUntil),
        2 => (0..2usize).prop_map(Step::Signal),
        2 => (0..2usize).prop_map(Step::Wait),
        3 => Just(Step::Call),
        3 => Just(Step::Reply),
        1 => task().prop_map(Step::Suspend),
        2 => task().prop_map(Step::Resume),
        1 => (task(), 1..6u8).prop_map(|(task, priority)| Step::Priority(task, priority)),
        1 => task().prop_map(Step::Rebind),
        1 => task().prop_map(Step::YieldTo),
        1 => (task(), 0..300u64).prop_map(|(task, time)| Step::YieldToTimeout(task, time)),
        1 => (0..150usize, 0..=endpoint_flags::MASK)
            .prop_map(|(threshold, flags)| Step::Threshold(threshold, flags)),
        1 => (task(), 0..3u8).prop_map(|(task, level)| Step::Criticality(task, level)),
        1 => (0..3usize).prop_map(Step::Level),
    ]
}

fn budget() -> impl Strategy<Value = Budget> {
    (
        20u64..200,
        1u64..1000,
        2usize..10,
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(budget, rest, refills, sporadic, idling)| {
            let budget = Budget::new(budget, budget + rest).refills(refills);
            Budget {
                sporadic,
                idling,
                ..budget
            }
        })
}

struct TestSystem {
    machine: Machine,
    tasks: Vec<Task>,
    servers: [Task; 2],
    endpoint: CPtr,
    replies: [CPtr; 2],
    notifications: [CPtr; 2],
}

impl TestSystem {
    fn new(budgets: &[Budget]) -> Self {
        let mut machine = Machine::new();
        // The root task can run at every criticality level.
        machine.set_criticality(machine.root, 7);
        let endpoint = machine.endpoint();
        let replies = [(); 2].map(|()| machine.reply());
        let notifications = [(); 2].map(|()| machine.notification());
        let servers =
            replies.map(|reply| passive_server(&mut machine, "server", 3, endpoint, reply));
        machine.history = Some(Vec::new());
        let tasks = (budgets.iter().zip(1..))
            .map(|(budget, priority)| machine.spawn(Spec::new("task", priority).budget(*budget)))
            .collect();
        Self {
            machine,
            tasks,
            servers,
            endpoint,
            replies,
            notifications,
        }
    }

    fn step(&mut self, step: Step) {
        let machine = &mut self.machine;
        let server = self.servers.iter().position(|server| machine.runs(*server));
        let running = (self.tasks.iter().copied())
            .chain(self.servers)
            .find(|task| machine.runs(*task));
        match (step, running) {
            (Step::Run(ticks), _) => machine.advance(ticks),
            (Step::Suspend(task), _) => machine.suspend(self.tasks[task]),
            (Step::Resume(task), _) => machine.resume(self.tasks[task]),
            (Step::Priority(task, priority), _) => machine.set_priority(self.tasks[task], priority),
            (Step::Rebind(task), _) => {
                let task = self.tasks[task];
                let unbind = Method::SchedContextUnbindObject;
                let _ = machine.invoke(task.context, unbind, &[], &[task.tcb]);
                let _ = machine.bind(task.context, task.tcb);
            }
            (Step::Threshold(threshold, flags), _) => {
                // A limit without a threshold is refused, and nothing changes.
                let _ = set_threshold(machine, self.endpoint, threshold, flags);
            }
            (Step::Criticality(task, criticality), _) => {
                machine.set_criticality(self.tasks[task], criticality);
            }
            (Step::Level(level), _) => {
                machine.set_level(level).unwrap();
            }
            (_, None) => machine.advance(50),
            (Step::Yield, Some(task)) => machine.yield_now(task),
            (Step::YieldUntil(amount), Some(task)) => machine.yield_until_budget(task, amount),
            (Step::Signal(index), Some(task)) => machine.signal(task, self.notifications[index]),
            (Step::Wait(index), Some(task)) if server.is_none() => {
                machine.wait(task, self.notifications[index]);
            }
            (Step::Call, Some(task)) if server.is_none() => {
                machine.call(task, self.endpoint, &word(1));
            }
            (Step::YieldTo(target), Some(task)) if server.is_none() => {
                let message = Message::new(Method::SchedContextYieldTo.number(), &[]);
                machine.call(task, self.tasks[target].context, &message);
            }
            (Step::YieldToTimeout(target, time), Some(task)) if server.is_none() => {
                let instant = machine.now() + time;
                machine.yield_to_timeout(task, self.tasks[target].context, instant, None);
            }
            (_, Some(task)) => {
                if let Some(server) = server {
                    let reply = self.replies[server];
                    machine.reply_recv(task, self.endpoint, reply, &word(2));
                }
            }
        }
    }

    /// The running thread has a context with a head replenishment that is due and that covers the
    /// time consumed.
    fn check_funds(&self) -> Result<(), String> {
        let (kernel, now) = (&self.machine.kernel, self.machine.now());
        let Some(thread) = kernel.core.current else {
            return Ok(());
        };
        let running = self.machine.running();
        let Some(context) = kernel[thread].sched_context else {
            return Err(format!("{running} runs without time at {now}"));
        };
        let head = kernel[context].replenishments().next();
        let used = kernel.core.consumed.0 + now - kernel.core.now.0;
        let funded = head.is_some_and(|head| head.time.0 <= now && used <= head.amount.0);
        let context = format!("{used} is used of {head:?}");
        funded
            .then_some(())
            .ok_or_else(|| format!("{running} runs at {now}: {context}"))
    }

    /// No context supplied more than its budget allows.
    fn check(&self, budgets: &[Budget]) -> Result<(), TestCaseError> {
        let history = self.machine.history.as_deref().unwrap_or_default();
        for (task, budget) in self.tasks.iter().zip(budgets) {
            let context = self.machine.context(task.context).address();
            let slices: Vec<&Slice> = (history.iter())
                .filter(|slice| slice.context == context)
                .collect();
            // The supply of a window is largest when the window begins with a slice.
            let starts = slices.iter().map(|slice| slice.start.0);
            for start in starts.filter(|_| !budget.sporadic) {
                let supply = supply(&slices, start, start + budget.period);
                prop_assert!(
                    supply <= budget.budget,
                    "{budget:?} got {supply} in the period from {start}: {slices:?}"
                );
            }
            for end in (budget.period..=self.machine.now()).step_by(budget.period as usize) {
                let periods = end / budget.period;
                let supply = supply(&slices, 0, end);
                prop_assert!(
                    supply <= budget.budget * periods,
                    "{budget:?} got {supply} until {end}: {slices:?}"
                );
            }
        }
        Ok(())
    }
}

/// The time that a context supplied between two instants.
fn supply(slices: &[&Slice], start: u64, end: u64) -> u64 {
    let within = |slice: &&Slice| {
        let from = slice.start.0.max(start);
        slice.end.0.min(end).saturating_sub(from)
    };
    slices.iter().map(within).sum()
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_window_supplies_more_than_the_budget(
        budgets in prop::collection::vec(budget(), TASKS),
        steps in prop::collection::vec(step(), 1..200),
    ) {
        let mut system = TestSystem::new(&budgets);
        for step in steps {
            system.step(step);
            system.check_funds().map_err(TestCaseError::fail)?;
        }
        system.check(&budgets)?;
    }

    /// The highest-priority thread gets its budget in every period, except for a remainder, less than
    /// the smallest budget, that a timer interrupt for another thread may cut off.
    #[test]
    fn the_highest_priority_thread_gets_its_budget(
        own in budget(),
        others in prop::collection::vec(budget(), TASKS - 1),
        periods in 1..20u64,
    ) {
        let mut machine = Machine::new();
        machine.history = Some(Vec::new());
        let task = machine.spawn(Spec::new("high", 100).budget(own));
        for budget in others {
            machine.spawn(Spec::new("other", 10).budget(budget));
        }
        machine.rest();
        machine.advance(own.period * periods);
        prop_assert_eq!(machine.state(task), State::Runnable);
        let context = machine.context(task.context).address();
        let history = machine.history.take().unwrap_or_default();
        let slices: Vec<&Slice> = (history.iter())
            .filter(|slice| slice.context == context)
            .collect();
        let supply = supply(&slices, 0, machine.now());
        let due = own.budget * periods;
        prop_assert!(supply <= due && supply + 20 * periods > due, "{supply} of {due}");
    }
}

/// Two negative controls: systems with one running task, in which `spoil` changes the kernel every 30
/// µs.
fn spoiled(spoil: impl Fn(&mut TestSystem)) -> TestSystem {
    let mut system = TestSystem::new(&BUDGETS);
    for _ in 0..20 {
        system.step(Step::Run(30));
        spoil(&mut system);
    }
    system
}

const BUDGETS: [Budget; TASKS] = [Budget::new(100, 500); TASKS];

#[test]
fn a_kernel_that_forgets_to_charge_is_caught() {
    let system = spoiled(|system| system.machine.kernel.core.now = Ticks(system.machine.now()));
    assert!(system.check(&BUDGETS).is_err());
}

#[test]
fn a_kernel_that_runs_a_thread_before_its_time_is_caught() {
    let system = spoiled(|_| ());
    assert_eq!(system.check_funds(), Ok(()));
    let thread = system.machine.kernel.core.current.expect("a thread runs");
    let context = system.machine.kernel[thread]
        .sched_context
        .expect("context");
    system.machine.kernel[context].charge(Ticks(100), Ticks(20));
    assert!(system.check_funds().is_err());
}
