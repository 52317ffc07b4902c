//! Scheduling contexts: configuration, binding, consumed time.

use abi::{Method, ObjectType, sched_context_flags::SPORADIC};
use host_machine::{Answer, Budget, CPtr, Machine, Spec, State};
use kernel::invoke::Error;

use crate::common::{make_passive, server};

/// The shortest and the longest configurable time in microseconds, at a clock frequency of 1 MHz.
const SHORTEST: usize = 20;
const LONGEST: usize = u64::MAX as usize / 1_000_000 / 8 * 1_000_000;

fn configure(machine: &mut Machine, words: &[usize], caps: &[CPtr]) -> Answer {
    let control = machine.boot_info.sched_control.start;
    machine.invoke(control, Method::SchedControlConfigureFlags, words, caps)
}

const fn range(minimum: usize, maximum: usize) -> Answer {
    Err(Error::Range { minimum, maximum })
}

#[test]
fn parameters_are_checked_in_order() {
    let mut machine = Machine::new();
    let context = machine.create(ObjectType::SchedContext, 8);
    let other = machine.endpoint();
    let everything = usize::MAX;
    let times = range(SHORTEST, LONGEST);
    for (budget, period, refills, cap, expected) in [
        (everything, everything, everything, other, times.clone()),
        (LONGEST + 1, 0, everything, other, times.clone()),
        (SHORTEST - 1, LONGEST, everything, other, times.clone()),
        (SHORTEST, SHORTEST - 1, everything, other, times.clone()),
        (SHORTEST, LONGEST + 1, everything, other, times),
        (101, 100, everything, other, range(SHORTEST, 100)),
        (
            100,
            100,
            everything,
            other,
            Err(Error::InvalidCapability(1)),
        ),
        // 256 bytes hold ten replenishments, of which two are always there.
        (100, 100, 9, context, range(0, 8)),
        (100, 1000, 9, context, range(0, 8)),
        (100, 1000, 8, context, Ok(vec![])),
        (SHORTEST, SHORTEST, 0, context, Ok(vec![])),
        (LONGEST, LONGEST, 0, context, Ok(vec![])),
        (SHORTEST, LONGEST, 8, context, Ok(vec![])),
    ] {
        let words = [budget, period, refills, 0, 0];
        let answer = configure(&mut machine, &words, &[cap]);
        assert_eq!(answer, expected, "{words:?}");
    }
    let words = [100, 1000, 0, 0, 0];
    assert_eq!(
        configure(&mut machine, &words[..4], &[context]),
        Err(Error::Truncated)
    );
    assert_eq!(configure(&mut machine, &words, &[]), Err(Error::Truncated));
    let smallest = machine.create(ObjectType::SchedContext, 7);
    let words = [100, 1000, 1, 0, 0];
    assert_eq!(configure(&mut machine, &words, &[smallest]), range(0, 0));
    // Unknown flags are ignored.
    let words = [100, 1000, 0, 0, !SPORADIC];
    assert_eq!(configure(&mut machine, &words, &[smallest]), Ok(vec![]));
    let control = machine.boot_info.sched_control.start;
    let answer = machine.invoke(control, Method::SchedContextBind, &words, &[smallest]);
    assert_eq!(answer, Err(Error::IllegalOperation));
}

#[test]
fn a_fresh_context_has_its_whole_budget() {
    let mut machine = Machine::new();
    let context = machine.new_context(Budget::new(100, 1000));
    assert_eq!(machine.refills(context), [(0, 100)]);
    let slice = machine.new_context(Budget::slice(100));
    assert_eq!(machine.refills(slice), [(0, 100), (0, 0)]);
    // Reconfigured with fewer replenishments, and with more.
    for count in [2, 10] {
        let budget = Budget::new(200, 1000).refills(count);
        machine.configure(context, budget).unwrap();
        assert_eq!(machine.refills(context), [(0, 200)]);
    }
}

#[test]
fn a_context_in_use_keeps_what_is_left() {
    for (budget, expected) in [
        // Smaller: the available budget is cut.
        (Budget::new(40, 500), vec![(30, 40)]),
        // Larger: the difference is replenished one new period later.
        (Budget::new(200, 500), vec![(30, 70), (530, 130)]),
    ] {
        let mut machine = Machine::new();
        let task = machine.spawn(Spec::new("task", 10).budget(Budget::new(100, 1000)));
        machine.rest();
        machine.advance(30);
        machine.configure(task.context, budget).unwrap();
        assert_eq!(machine.refills(task.context), expected);
        assert!(machine.runs(task));
    }
}

#[test]
fn reconfiguring_does_not_shorten_a_wait() {
    let mut machine = Machine::new();
    let task = machine.spawn(Spec::new("task", 10).budget(Budget::new(100, 1000)));
    machine.rest();
    machine.advance(150);
    assert_eq!(machine.running(), "none");
    assert_eq!(machine.refills(task.context), [(1000, 100)]);
    machine
        .configure(task.context, Budget::new(50, 100))
        .unwrap();
    assert_eq!(machine.refills(task.context), [(1000, 50)]);
    assert_eq!(machine.running(), "none");
    // A timeslice is available immediately.
    machine.configure(task.context, Budget::slice(50)).unwrap();
    assert!(machine.runs(task));
    assert_eq!(machine.refills(task.context), [(150, 50), (150, 0)]);
}

#[test]
fn a_thread_may_configure_its_own_context() {
    let mut machine = Machine::new();
    let task = machine.spawn(Spec::new("task", 10).budget(Budget::new(100, 1000)));
    machine.rest();
    machine.advance(30);
    let control = machine.boot_info.sched_control.start;
    let words = [60, 600, 2, 0, 0];
    let method = Method::SchedControlConfigureFlags;
    let answer = machine.invoke_as(task, control, method, &words, &[task.context]);
    assert_eq!(answer, Ok(vec![]));
    assert!(machine.runs(task));
    assert_eq!(machine.refills(task.context), [(30, 60)]);
    machine.advance(60);
    assert_eq!(machine.running(), "none");
    machine.advance_until(|machine| machine.runs(task));
    assert_eq!(machine.now(), 630);
}

#[test]
fn binding_is_one_to_one() {
    let mut machine = Machine::new();
    let first = machine.spawn(Spec::new("first", 10).active());
    let second = machine.spawn(Spec::new("second", 10));
    let free = machine.new_context(Budget::slice(100));
    let illegal = Err(Error::IllegalOperation);
    assert_eq!(machine.bind(first.context, second.tcb), illegal);
    assert_eq!(machine.bind(free, first.tcb), illegal);
    let endpoint = machine.endpoint();
    let empty = machine.slot();
    for other in [endpoint, empty, free] {
        assert_eq!(machine.bind(free, other), Err(Error::InvalidCapability(1)));
        let unbind = machine.invoke(free, Method::SchedContextUnbindObject, &[], &[other]);
        assert_eq!(unbind, Err(Error::InvalidCapability(1)));
    }
    for method in [Method::SchedContextBind, Method::SchedContextUnbindObject] {
        assert_eq!(
            machine.invoke(free, method, &[], &[]),
            Err(Error::Truncated)
        );
    }
    let unbind = machine.invoke(free, Method::SchedContextUnbindObject, &[], &[first.tcb]);
    assert_eq!(unbind, illegal);
    assert_eq!(machine.bind(free, second.tcb), Ok(vec![]));
    assert_eq!(machine.holder(free), "second");
    assert_eq!(machine.invoke(free, Method::TcbResume, &[], &[]), illegal);
}

#[test]
fn a_thread_keeps_its_own_time() {
    let mut machine = Machine::new();
    let task = machine.spawn(Spec::new("task", 10).active());
    machine.rest();
    let illegal = Err(Error::IllegalOperation);
    let unbind = Method::SchedContextUnbind;
    assert_eq!(
        machine.invoke_as(task, task.context, unbind, &[], &[]),
        illegal
    );
    let unbind = Method::SchedContextUnbindObject;
    let answer = machine.invoke_as(task, task.context, unbind, &[], &[task.tcb]);
    assert_eq!(answer, illegal);
    assert!(machine.runs(task));
}

#[test]
fn a_blocked_thread_gets_only_time_that_can_be_used() {
    let mut machine = Machine::new();
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    let waster = machine.spawn(Spec::new("waster", 10).budget(Budget::new(100, 1000)));
    machine.rest();
    machine.advance(100);
    make_passive(&mut machine, waster);
    machine.suspend(waster);
    let server = server(&mut machine, "server", 10, endpoint, reply);
    make_passive(&mut machine, server);
    let unconfigured = machine.create(ObjectType::SchedContext, 8);
    for context in [waster.context, unconfigured] {
        assert_eq!(
            machine.bind(context, server.tcb),
            Err(Error::IllegalOperation)
        );
    }
    // A thread that is not blocked gets the context, and waits.
    machine.bind(waster.context, waster.tcb).unwrap();
    machine.resume(waster);
    assert_eq!(machine.running(), "none");
    assert_eq!(machine.state(waster), State::Runnable);
    machine.advance_until(|machine| machine.runs(waster));
    assert_eq!(machine.now(), 1000);
}

#[test]
fn consumed_time_is_told_once() {
    let mut machine = Machine::new();
    let task = machine.spawn(Spec::new("task", 10).budget(Budget::new(100, 1000)));
    machine.rest();
    let consumed = |machine: &mut Machine| {
        machine.invoke(task.context, Method::SchedContextConsumed, &[], &[])
    };
    machine.advance(60);
    assert_eq!(consumed(&mut machine), Ok(vec![60]));
    assert_eq!(consumed(&mut machine), Ok(vec![0]));
    // 40 in this period, 100 in each of the next nine, and some in the last.
    machine.advance(9990);
    assert_eq!(consumed(&mut machine), Ok(vec![40 + 900 + 50]));
    // The execution of the running thread since its selection is not charged yet.
    machine.advance(10);
    let answer = machine.invoke_as(task, task.context, Method::SchedContextConsumed, &[], &[]);
    assert_eq!(answer, Ok(vec![0]));
}

#[test]
fn a_deleted_context_can_be_made_anew() {
    let mut machine = Machine::new();
    let task = machine.spawn(Spec::new("task", 10).active());
    machine.rest();
    machine.delete(task.context);
    assert_eq!(machine.running(), "none");
    machine.create_in(ObjectType::SchedContext, 8, task.context);
    machine.configure(task.context, Budget::slice(100)).unwrap();
    machine.bind(task.context, task.tcb).unwrap();
    assert!(machine.runs(task));
}
