//! Servers that call one another, for clients of two cores: what the nested guard of the crate `dispatcher` makes of nested
//! calls, preemption, ends of budgets, and faults.

use crate::support::lending::{
    ABORTED, DRAINED, ENOUGH, FAULTED, HIGHEST, LOST, add, add_preempting, client, run,
    wait_behind_a_preempted_lender,
};
use crate::support::{BELOW, Outcome, PRIORITY, Test, arch, ms};
use crate::{check, check_eq};
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use dispatcher::guard::{Caller, NestedGuard, Nesting, NotServed, Watchdog, Words};
use schedulers::{Client, Nested};
use userlib::cap::SchedParameters;
use userlib::time::Load;
use userlib::{Microseconds, Thread, syscall};

tests![
    if abi::config::SMP;
    a_nested_call_is_answered,
    a_request_drains_no_more_than_the_bound,
    nested_servers_leave_a_lender_that_is_preempted,
    they_stay_with_one_that_does_not_tell,
    an_orphan_that_would_wait_is_refused,
    a_faulted_server_begins_anew,
    a_lender_that_is_gone_costs_no_other_one,
];

/// Servers, of which each may call the later ones.
const SERVERS: usize = 3;
/// Clients of a core.
const TASKS: usize = 4;

type Shared = NestedGuard<2, SERVERS, TASKS>;

/// Services that have begun, and nested calls that were refused.
static BEGUN: [AtomicUsize; SERVERS] = [const { AtomicUsize::new(0) }; SERVERS];
static REFUSED: AtomicUsize = AtomicUsize::new(0);
/// Requests with an answer.
static ANSWERED: AtomicUsize = AtomicUsize::new(0);

/// The second word of a request that makes no nested call.
const NONE: usize = 100;
/// A time to work after which the server faults.
const FATAL: usize = 1000;
/// The third word of an answer: whether the nested call was answered or refused.
const BY_BOTH: usize = 1;
const BY_ONE: usize = 2;

/// A request says how long its server works, which other one that calls then, and how long that works, in milliseconds. The
/// answer are the numbers of both.
fn serve(load: Load, number: usize, nesting: &Nesting, [own, next, inner]: Words) -> Words {
    BEGUN[number].fetch_add(1, Relaxed);
    if own == FATAL {
        // SAFETY: it only faults.
        unsafe { arch::undefined() };
    }
    load.work_in_turns(ms(own as u64));
    if next == NONE {
        return [number, 0, 0];
    }
    match nesting.call(next, [inner, NONE, 0]) {
        Ok([answered, ..]) => [number, answered, BY_BOTH],
        Err(_) => {
            REFUSED.fetch_add(1, Relaxed);
            [number, 0, BY_ONE]
        }
    }
}

fn guard(test: &mut Test) -> Outcome<(Shared, Load)> {
    let load = Load::calibrate(&test.clock);
    let watchdog = Watchdog {
        priority: HIGHEST,
        period: ms(20),
    };
    let queues = Nested::new([&[1, 2], &[2], &[]]).expect("they call later ones");
    let guard = NestedGuard::new(test, queues, watchdog, move |number, nesting, request| {
        serve(load, number, nesting, request)
    })?;
    Ok((guard, load))
}

/// Adds a client that calls once, and gets an answer.
fn caller(
    test: &mut Test,
    guard: &mut Shared,
    client: Client,
    priority: u8,
    (server, request): (usize, Words),
) -> Outcome<Thread> {
    add(test, guard, client, priority, ENOUGH, move |caller| {
        let answer = caller.call_server(server, request);
        check_eq!(answer.map(|words| words[0]), Ok(server));
        ANSWERED.fetch_add(1, Relaxed);
    })
}

fn await_answers(test: &mut Test, count: usize) -> Outcome {
    let has_come = test.comes_true(|| ANSWERED.load(Relaxed) == count)?;
    check!(has_come, "no answer");
    Ok(())
}

fn a_nested_call_is_answered(test: &mut Test) -> Outcome {
    let (mut guard, _) = guard(test)?;
    let one = add(test, &mut guard, client(1, 0), PRIORITY, ENOUGH, |caller| {
        check_eq!(caller.call_server(0, [1, 2, 1]), Ok([0, 2, BY_BOTH]));
        check_eq!(caller.call_server(1, [1, NONE, 0]), Ok([1, 0, 0]));
        // Only later servers are called.
        check_eq!(caller.call_server(1, [1, 0, 1]), Ok([1, 0, BY_ONE]));
        check_eq!(caller.call_server(1, [1, 7, 1]), Ok([1, 0, BY_ONE]));
        check_eq!(
            caller.call_server(SERVERS, [1, NONE, 0]),
            Err(NotServed::NoServer)
        );
        ANSWERED.store(1, Relaxed);
    })?;
    run(test, guard)?;
    one.start()?;
    await_answers(test, 1)
}

/// What all servers together do for a request, and what passing on and changes of the lender add on a debug kernel.
const SERVICE: Microseconds = ms(4);
const LONGEST: usize = 4_400;
/// (1 + 2 K) L for two cores.
const BOUND: usize = 5 * LONGEST;

/// The requests of a high-priority client drain no more, although seven others call without pause, by several servers.
fn a_request_drains_no_more_than_the_bound(test: &mut Test) -> Outcome {
    const REQUESTS: usize = 6;
    const BUDGET: Microseconds = ms(30);
    static DONE: AtomicUsize = AtomicUsize::new(0);
    let (mut guard, _) = guard(test)?;
    let mut threads = [None; 2 * TASKS];
    for (index, thread) in threads.iter_mut().enumerate() {
        let client = client(index % 2, (index / 2) as u16);
        let requests = [
            (0, [2, 2, 2]),
            (2, [4, NONE, 0]),
            (1, [1, 2, 3]),
            (0, [3, 1, 1]),
        ];
        let work = move |caller: Caller| {
            for turn in index.. {
                if index == 0 {
                    if turn == REQUESTS {
                        return;
                    }
                    caller.end();
                    // It is there again when most of the period has passed.
                    syscall::yield_until_budget(BUDGET).expect("it is its budget");
                    DONE.fetch_add(1, Relaxed);
                }
                let (server, request) = requests[turn % requests.len()];
                let answer = caller.call_server(server, request);
                check_eq!(answer.map(|words| words[0]), Ok(server));
            }
        };
        let (priority, time) = match index {
            0 => (PRIORITY + 9, SchedParameters::new(BUDGET, ms(61))),
            _ => (PRIORITY - index as u8, ENOUGH),
        };
        *thread = Some(add(test, &mut guard, client, priority, time, work)?);
    }
    run(test, guard)?;
    for thread in threads.into_iter().flatten() {
        thread.start()?;
    }
    check!(
        test.comes_true(|| DONE.load(Relaxed) == REQUESTS)?,
        "too slow"
    );
    check_eq!((ABORTED.load(Relaxed), REFUSED.load(Relaxed)), (0, 0));
    let drained = DRAINED.load(Relaxed);
    check!(drained > SERVICE.0 as usize, "{drained} us are too few");
    check!(drained <= BOUND, "{drained} us are more than {BOUND}");
    Ok(())
}

/// How long a client waits for a server, on which another one works for a request that is preempted.
fn wait(test: &mut Test, tells: bool) -> Outcome<Microseconds> {
    let guard = guard(test)?;
    let first = |caller: &Caller| check_eq!(caller.call_server(0, [1, 2, 10]), Ok([0, 2, BY_BOTH]));
    let second = |caller: &Caller| check_eq!(caller.call_server(2, [1, NONE, 0]), Ok([2, 0, 0]));
    let waited = wait_behind_a_preempted_lender(test, guard, tells, first, second)?;
    check_eq!(BEGUN[0].load(Relaxed), 1);
    Ok(waited)
}

/// The nested service goes on with the time of the client that waits for it, and so does the service around it.
fn nested_servers_leave_a_lender_that_is_preempted(test: &mut Test) -> Outcome {
    let waited = wait(test, true)?;
    // For less than 20 ms, at half the speed: in virtual time two busy cores share one host thread.
    check!(waited < ms(50), "{waited}");
    Ok(())
}

/// A negative control.
fn they_stay_with_one_that_does_not_tell(test: &mut Test) -> Outcome {
    let waited = wait(test, false)?;
    check!(waited > ms(80), "{waited}");
    Ok(())
}

/// A request in service lends to an earlier one, for whose server it waits, until its client's budget ends. Its server goes on
/// without the nested call, on the time of another client of its core, which gets its answer before the earlier request.
fn an_orphan_that_would_wait_is_refused(test: &mut Test) -> Outcome {
    let (mut guard, load) = guard(test)?;
    let earlier = caller(test, &mut guard, client(0, 0), BELOW, (2, [60, NONE, 0]))?;
    let little = SchedParameters::new(ms(10), ms(1000));
    let short = add(test, &mut guard, client(1, 0), PRIORITY, little, |caller| {
        let answer = caller.call_server(0, [1, 2, 1]);
        check_eq!(answer, Err(NotServed::Aborted));
    })?;
    let other = caller(test, &mut guard, client(1, 1), BELOW, (1, [1, NONE, 0]))?;
    let preempting = add_preempting(test, &mut guard, client(0, 1), load, true)?;
    run(test, guard)?;
    for thread in [earlier, short, preempting, other] {
        thread.start()?;
        test.sleep(ms(3))?;
    }
    await_answers(test, 1)?;
    check_eq!((ABORTED.load(Relaxed), REFUSED.load(Relaxed)), (1, 1));
    let begun = [0, 1, 2].map(|server: usize| BEGUN[server].load(Relaxed));
    check_eq!(begun, [1, 1, 1]);
    await_answers(test, 2)
}

/// After a fault in a nested service, the outer one goes on without; later calls are served.
fn a_faulted_server_begins_anew(test: &mut Test) -> Outcome {
    let (mut guard, _) = guard(test)?;
    let fatal = add(test, &mut guard, client(1, 0), PRIORITY, ENOUGH, |caller| {
        check_eq!(caller.call_server(0, [1, 2, FATAL]), Ok([0, 0, BY_ONE]));
        check_eq!(caller.call_server(0, [1, 2, 1]), Ok([0, 2, BY_BOTH]));
        let answer = caller.call_server(2, [FATAL, NONE, 0]);
        check_eq!(answer, Err(NotServed::Faulted));
        check_eq!(caller.call_server(0, [1, 2, 1]), Ok([0, 2, BY_BOTH]));
        ANSWERED.fetch_add(1, Relaxed);
    })?;
    let other = caller(test, &mut guard, client(0, 0), BELOW, (1, [1, 2, 1]))?;
    run(test, guard)?;
    fatal.start()?;
    other.start()?;
    await_answers(test, 2)?;
    check_eq!((FAULTED.load(Relaxed), LOST.load(Relaxed)), (2, 0));
    Ok(())
}

/// The context is unbound while a nested service runs on it.
fn a_lender_that_is_gone_costs_no_other_one(test: &mut Test) -> Outcome {
    let (mut guard, _) = guard(test)?;
    let victim = caller(test, &mut guard, client(1, 0), PRIORITY, (0, [1, 2, 20]))?;
    let other = caller(test, &mut guard, client(0, 0), BELOW, (2, [1, NONE, 0]))?;
    run(test, guard)?;
    victim.start()?;
    test.sleep(ms(5))?;
    check_eq!((BEGUN[0].load(Relaxed), BEGUN[2].load(Relaxed)), (1, 1));
    victim.sched_context.unbind()?;
    other.start()?;
    await_answers(test, 1)?;
    check_eq!((LOST.load(Relaxed), BEGUN[2].load(Relaxed)), (1, 2));
    Ok(())
}
