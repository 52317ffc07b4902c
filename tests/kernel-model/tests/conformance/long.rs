//! Long histories that begin in the middle of a call chain with limits, or just after it.

use abi::Syscall;
use kernel_model::Model;
use kernel_model::state::State;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::system::{Step, System};

#[derive(Clone, Copy, Debug)]
enum Pick {
    /// A step of the running thread.
    Own(usize),
    Any(usize),
    This(Step),
}

/// How many histories have reached a state in which something can go wrong.
#[derive(Debug, Default)]
struct Reached {
    /// A call with a limit failed.
    failed: usize,
    /// Three calls with limits on one context.
    nested: usize,
    /// A caller waits for the return of its context.
    awaiting: usize,
    /// A limit is in force without any call.
    orphan: usize,
    /// A call chain with limits has lost its context.
    lost: usize,
    /// A sender waits for budget.
    deferred: usize,
    /// A thread with a limit has run out of budget, and waits for its timeout handler.
    timed_out: usize,
}

impl Reached {
    fn look(&mut self, model: &Model) {
        let failed = abi::ErrorCode::LimitReached as usize;
        let limited = |id: usize| model.limit(id).is_some();
        let any = |holds: &dyn Fn(&kernel_model::state::Thread) -> bool| {
            usize::from(model.threads.iter().any(holds))
        };
        let chain = |holds: &dyn Fn(&kernel_model::limits::Chain) -> bool| {
            usize::from(model.chains.iter().any(holds))
        };
        let limits = |chain: &kernel_model::limits::Chain| {
            chain.calls.iter().filter(|call| call.limit.is_some()).count()
        };
        self.failed |= any(&|thread| thread.label == failed && thread.badge == 0);
        self.nested |= chain(&|chain| chain.context.is_some() && limits(chain) >= 3);
        self.awaiting |= any(&|thread| matches!(thread.state, State::AwaitingReturn { .. }));
        self.orphan |= any(&|thread| {
            thread.context.is_some_and(|id| limited(id) && model.chain_of(id).is_none())
        });
        self.lost |= chain(&|chain| chain.context.is_none());
        self.deferred |= any(&|thread| thread.deferred.is_some());
        self.timed_out |= any(&|thread| {
            matches!(thread.fault, Some(kernel_model::faults::Fault::Timeout { .. }))
                && thread.context.is_some_and(limited)
        });
    }

    fn counts(&mut self) -> [&mut usize; 7] {
        let Self { failed, nested, awaiting, orphan, lost, deferred, timed_out } = self;
        [failed, nested, awaiting, orphan, lost, deferred, timed_out]
    }
}

/// Kernel and model agree, and the histories reach what is difficult.
#[test]
fn kernel_and_model_agree_with_limits() {
    use Syscall::Call;
    let some = vec![
        Step::Call(Call, 0, 0, 0),
        Step::Call(Call, 1, 0, 0),
        Step::Call(Call, 2, 0, 0),
        Step::Configure(0, 40),
        Step::Unbind(0),
        Step::Time(30),
        Step::Time(70),
    ];
    let step = || {
        prop_oneof![
            3 => any::<usize>().prop_map(Pick::Own),
            2 => any::<usize>().prop_map(Pick::Any),
            2 => prop::sample::select(some.clone()).prop_map(Pick::This),
        ]
    };
    let limits =
        prop::sample::select(vec![[150, 100, 50], [150, 100, 50], [0, 100, 50], [0, 0, 50]]);
    let histories = (limits, 0..4usize, prop::collection::vec(step(), 1..60));
    let (mut reached, mut total) = (Reached::default(), 0);
    let counts = std::cell::RefCell::new((&mut reached, &mut total));
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    let played = TestRunner::new(config).run(&histories, |(limits, start, history)| {
        let mut system = System::chain(limits);
        let wait_again = (0..3).rev().map(|index| Step::Call(Syscall::ReplyRecv, index, index, 0));
        let before: Vec<_> = match start {
            0 => Vec::new(),
            // All servers have replied; the client may have too little left for its next call.
            1 => wait_again.collect(),
            2 => wait_again.chain([Step::Time(70)]).collect(),
            // The budget ends before the limit.
            _ => vec![Step::Configure(0, 40)],
        };
        for step in before {
            system.perform(step);
        }
        let (mut now, mut path) = (Reached::default(), Vec::new());
        for pick in history {
            let step = match pick {
                Pick::Own(index) => system.steps[index % system.own_steps],
                Pick::Any(index) => system.steps[index % system.steps.len()],
                Pick::This(step) => step,
            };
            path.push(step);
            system.perform(step);
            let after = |difference| TestCaseError::fail(format!("{difference}\nafter {path:?}"));
            system.pair.follow().map_err(after)?;
            now.look(&system.pair.model);
        }
        let (reached, total) = &mut *counts.borrow_mut();
        **total += 1;
        for (sum, one) in reached.counts().into_iter().zip(now.counts()) {
            *sum += *one;
        }
        Ok(())
    });
    if let Err(difference) = played {
        panic!("{difference}");
    }
    println!("of {total} histories: {reached:?}");
    let fewest = reached.counts().into_iter().map(|count| *count).min();
    assert!(fewest.is_some_and(|count| count > 0), "not all: {reached:?}");
}
