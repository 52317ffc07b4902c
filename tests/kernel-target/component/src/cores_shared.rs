//! A server that clusters of one core share: what the guard of the crate `dispatcher` makes of calls, replies, ends of budgets,
//! and preemption.

use crate::support::lending::{
    ABORTED, DRAINED, ENOUGH, FAULTED, HIGHEST, LOST, ORDER, ORPHAN, PREEMPTED, SERVED, TASKS, add,
    client, run, wait_behind_a_preempted_lender,
};
use crate::support::{BELOW, Outcome, PRIORITY, Test, arch, ms, spin, us};
use crate::{check, check_eq};
use core::array;
use core::cmp::Reverse;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use dispatcher::guard::{Caller, Guard, NotServed, Watchdog};
use schedulers::{Client, Discipline, McIpc, OneQueue, SharedServer};
use userlib::cap::SchedParameters;
use userlib::time::Load;
use userlib::{Microseconds, Thread, syscall};

tests![
    if abi::config::SMP;
    a_request_drains_no_more_than_the_bound,
    in_order_of_arrival_it_drains_more,
    with_four_clusters_it_drains_no_more_than_the_bound,
    with_four_clusters_it_drains_more_in_order_of_arrival,
    a_request_is_aborted_in_service_and_finished_by_others,
    a_cluster_of_an_aborted_request_waits,
    in_order_of_arrival_it_does_not,
    the_server_leaves_a_lender_that_is_preempted,
    it_stays_with_one_that_does_not_tell,
    a_lender_whose_budget_has_ended_unnoticed_is_aborted,
    the_next_lender_does_not_pay_for_it,
    nor_if_the_first_has_its_badge,
    a_client_without_a_context_costs_no_other_one,
    a_client_that_calls_without_its_context_costs_no_other_one,
    an_unbound_lender_is_noticed_without_another_message,
    a_client_that_binds_its_context_elsewhere_costs_no_other_one,
    a_deleted_client_costs_no_other_one,
    a_faulted_server_begins_anew,
    a_client_cannot_receive_messages_of_others,
];

type ByProtocol = McIpc<Reverse<u8>, 2, 1, TASKS>;
type ByArrival = OneQueue<Reverse<u8>, 2, TASKS>;
type Shared<Q> = Guard<Q, 2, 1, TASKS>;

/// The requests that the server has begun.
static BEGUN: AtomicUsize = AtomicUsize::new(0);

/// A request on which the server faults.
const FATAL: usize = 1000;

/// A guard of two clusters whose server takes this time for each request.
fn guard<Q>(test: &mut Test, queues: Q, service: Microseconds) -> Outcome<(Shared<Q>, Load)>
where
    Q: SharedServer<Priority = Reverse<u8>>,
{
    guard_of(test, queues, service)
}

/// The same for any number of clusters.
fn guard_of<Q, const CLUSTERS: usize>(
    test: &mut Test,
    queues: Q,
    service: Microseconds,
) -> Outcome<(Guard<Q, CLUSTERS, 1, TASKS>, Load)>
where
    Q: SharedServer<Priority = Reverse<u8>>,
{
    let load = Load::calibrate(&test.clock);
    let watchdog = Watchdog {
        priority: HIGHEST,
        period: ms(20),
    };
    let guard = Guard::new(test, queues, watchdog, move |request| {
        BEGUN.fetch_add(1, Relaxed);
        load.work_in_turns(service);
        if request[0] == FATAL {
            // SAFETY: it only faults.
            unsafe { arch::undefined() };
        }
        request.map(|word| word + 1)
    })?;
    Ok((guard, load))
}

/// The most that a request of a high-priority client drains while others call without pause: eight of two clusters, or eighteen
/// of four.
fn worst<Q, const CLUSTERS: usize>(
    test: &mut Test,
    queues: Q,
    service: Microseconds,
) -> Outcome<usize>
where
    Q: SharedServer<Priority = Reverse<u8>> + Send + 'static,
{
    const REQUESTS: usize = 9;
    static DONE: AtomicUsize = AtomicUsize::new(0);
    let (mut guard, _) = guard_of::<_, CLUSTERS>(test, queues, service)?;
    let mut threads = [None; 4 * TASKS];
    let threads = &mut threads[..CLUSTERS * TASKS - 1];
    for (index, thread) in threads.iter_mut().enumerate() {
        let client = client(index % CLUSTERS, (index / CLUSTERS) as u16);
        let work = move |caller: Caller| {
            let mut failed = 0;
            while index != 0 || DONE.load(Relaxed) < REQUESTS {
                if index == 0 {
                    caller.end();
                    // It is there again when most of the period has passed.
                    syscall::yield_until_budget(BUDGET).expect("it is its budget");
                    DONE.fetch_add(1, Relaxed);
                }
                failed += usize::from(caller.call([index, failed, 0]) != Ok([index + 1, 1, 1]));
                check_eq!(failed, 0);
            }
        };
        let (priority, time) = match index {
            0 => (PRIORITY + 9, SchedParameters::new(BUDGET, ms(47))),
            _ => (PRIORITY - index as u8, ENOUGH),
        };
        *thread = Some(add(test, &mut guard, client, priority, time, work)?);
    }
    run(test, guard)?;
    for thread in threads.iter().flatten() {
        thread.start()?;
    }
    check!(
        test.comes_true(|| DONE.load(Relaxed) == REQUESTS)?,
        "too slow"
    );
    check_eq!(ABORTED.load(Relaxed), 0);
    Ok(DRAINED.load(Relaxed))
}

const SERVICE: Microseconds = ms(2);
/// What passing on and changes of the lender add to a service on a debug kernel.
const OVERHEAD: Microseconds = us(200);
/// (1 + 2 C K) L for clusters of one core.
const fn bound(clusters: usize, service: Microseconds) -> usize {
    (1 + 2 * clusters) * (service.0 + OVERHEAD.0) as usize
}
const BUDGET: Microseconds = ms(25);

fn a_request_drains_no_more_than_the_bound(test: &mut Test) -> Outcome {
    keeps_bound::<2>(test, SERVICE)
}

fn keeps_bound<const CLUSTERS: usize>(test: &mut Test, service: Microseconds) -> Outcome {
    let queues = McIpc::<Reverse<u8>, CLUSTERS, 1, TASKS>::new();
    let drained = worst::<_, CLUSTERS>(test, queues, service)?;
    let bound = bound(CLUSTERS, service);
    // It waits at least for the request in service and its own.
    check!(drained > service.0 as usize, "{drained} us are too few");
    check!(drained <= bound, "{drained} us are more than {bound}");
    Ok(())
}

/// A negative control of the bound.
fn in_order_of_arrival_it_drains_more(test: &mut Test) -> Outcome {
    exceeds_bound::<2>(test, SERVICE)
}

fn exceeds_bound<const CLUSTERS: usize>(test: &mut Test, service: Microseconds) -> Outcome {
    let queues = OneQueue::<Reverse<u8>, CLUSTERS, TASKS>::new(Discipline::Fifo);
    let drained = worst::<_, CLUSTERS>(test, queues, service)?;
    check!(drained > bound(CLUSTERS, service), "{drained} us");
    Ok(())
}

/// The service is shorter, so that the same budget suffices in order of arrival.
const SHORT: Microseconds = ms(1);

/// It needs four cores.
fn with_four_clusters_it_drains_no_more_than_the_bound(test: &mut Test) -> Outcome {
    match test.has_four_cores() {
        true => keeps_bound::<4>(test, SHORT),
        false => Ok(()),
    }
}

/// A negative control, which needs them, too.
fn with_four_clusters_it_drains_more_in_order_of_arrival(test: &mut Test) -> Outcome {
    match test.has_four_cores() {
        true => exceeds_bound::<4>(test, SHORT),
        false => Ok(()),
    }
}

fn a_request_is_aborted_in_service_and_finished_by_others(test: &mut Test) -> Outcome {
    static FAILED: AtomicUsize = AtomicUsize::new(0);
    let (mut guard, _) = guard(test, ByProtocol::new(), ms(8))?;
    let little = SchedParameters::new(ms(2), ms(100));
    let short = add(
        test,
        &mut guard,
        client(1, 0),
        PRIORITY + 1,
        little,
        |caller| {
            check_eq!(caller.call([1, 0, 0]), Err(NotServed::Aborted));
            FAILED.store(1, Relaxed);
        },
    )?;
    let other = add(test, &mut guard, client(0, 0), BELOW, ENOUGH, |caller| {
        check_eq!(caller.call([2, 0, 0]), Ok([3, 1, 1]));
        ANSWERED.store(1, Relaxed);
    })?;
    run(test, guard)?;
    short.start()?;
    test.sleep(ms(20))?;
    // Without another client, no thread pays for the rest.
    check_eq!((ABORTED.load(Relaxed), SERVED.load(Relaxed)), (1, 0));
    check_eq!(BEGUN.load(Relaxed), 1);
    other.start()?;
    await_answers(test, 1)?;
    check_eq!(ORDER[0].load(Relaxed), ORPHAN);
    check_eq!((SERVED.load(Relaxed), BEGUN.load(Relaxed)), (2, 2));
    // What was left of the first request, and its own.
    let drained = DRAINED.load(Relaxed);
    check!((12_000..18_000).contains(&drained), "{drained} us");
    check!(test.comes_true(|| FAILED.load(Relaxed) == 1)?, "no error");
    check_eq!(ABORTED.load(Relaxed), 1);
    Ok(())
}

/// The clusters in order of service: after an aborted request of the first one's, a client of each calls, that of the first
/// one first.
fn order<Q>(test: &mut Test, queues: Q) -> Outcome<[usize; 3]>
where
    Q: SharedServer<Priority = Reverse<u8>> + Send + 'static,
{
    let (mut guard, _) = guard(test, queues, ms(30))?;
    let little = SchedParameters::new(ms(2), ms(1000));
    let mut call = |cluster, task, priority, time| {
        add(
            test,
            &mut guard,
            client(cluster, task),
            priority,
            time,
            |caller| {
                let _answer = caller.call([0; 3]);
            },
        )
    };
    let short = call(0, 0, PRIORITY + 1, little)?;
    let same = call(0, 1, BELOW, ENOUGH)?;
    let other = call(1, 0, PRIORITY, ENOUGH)?;
    run(test, guard)?;
    for thread in [short, same, other] {
        thread.start()?;
        test.sleep(ms(6))?;
    }
    check_eq!((ABORTED.load(Relaxed), SERVED.load(Relaxed)), (1, 0));
    check!(test.comes_true(|| SERVED.load(Relaxed) == 3)?, "too slow");
    Ok(array::from_fn(|place| ORDER[place].load(Relaxed)))
}

/// Back-pressure.
fn a_cluster_of_an_aborted_request_waits(test: &mut Test) -> Outcome {
    check_eq!(order(test, ByProtocol::new())?, [ORPHAN, 1, 0]);
    Ok(())
}

/// A negative control.
fn in_order_of_arrival_it_does_not(test: &mut Test) -> Outcome {
    let queues = ByArrival::new(Discipline::Fifo);
    check_eq!(order(test, queues)?, [ORPHAN, 0, 1]);
    Ok(())
}

/// How long a client waits, whose predecessor in the other cluster is preempted in the middle of its request of 10 ms.
fn wait(test: &mut Test, tells: bool) -> Outcome<Microseconds> {
    let guard = guard(test, ByProtocol::new(), ms(10))?;
    let first = |caller: &Caller| check_eq!(caller.call([1, 0, 0]), Ok([2, 1, 1]));
    let second = |caller: &Caller| check_eq!(caller.call([2, 0, 0]), Ok([3, 1, 1]));
    wait_behind_a_preempted_lender(test, guard, tells, first, second)
}

/// Bandwidth inheritance: it goes on with the time of the one that waits.
fn the_server_leaves_a_lender_that_is_preempted(test: &mut Test) -> Outcome {
    let waited = wait(test, true)?;
    // For less than 20 ms, at half the speed: in virtual time two busy cores share one host thread.
    check!(waited < ms(50), "{waited}");
    Ok(())
}

/// A negative control.
fn it_stays_with_one_that_does_not_tell(test: &mut Test) -> Outcome {
    let waited = wait(test, false)?;
    check!(waited > PREEMPTED, "{waited}");
    Ok(())
}

/// A client that calls once; the number of its calls that were answered, and that failed, are counted.
fn caller<Q>(
    test: &mut Test,
    guard: &mut Shared<Q>,
    client: Client,
    priority: u8,
    time: SchedParameters,
) -> Outcome<Thread>
where
    Q: SharedServer<Priority = Reverse<u8>>,
{
    add(test, guard, client, priority, time, |caller| {
        let counter = match caller.call([1, 0, 0]) {
            Ok(_) => &ANSWERED,
            Err(_) => &UNSERVED,
        };
        counter.fetch_add(1, Relaxed);
    })
}

static ANSWERED: AtomicUsize = AtomicUsize::new(0);
static UNSERVED: AtomicUsize = AtomicUsize::new(0);

fn await_answers(test: &mut Test, count: usize) -> Outcome {
    let has_come = test.comes_true(|| ANSWERED.load(Relaxed) == count)?;
    check!(has_come, "no answer");
    Ok(())
}

/// The guard has to take the lender's context back, because a client of higher priority computes, when the server's timeout
/// message is queued behind that client's: the budget has ended, so neither thread can get the context back as it waits.
/// Another client calls before or after that.
fn end_of_a_budget_unnoticed(test: &mut Test, other_waits: bool, badge: Option<usize>) -> Outcome {
    let (mut guard, load) = guard(test, ByProtocol::new(), ms(60))?;
    let little = SchedParameters::new(ms(10), ms(1000));
    let short = caller(test, &mut guard, client(1, 0), PRIORITY, little)?;
    let preempting = add(
        test,
        &mut guard,
        client(1, 1),
        PRIORITY + 5,
        ENOUGH,
        |caller| caller.begin(),
    )?;
    let other = caller(test, &mut guard, client(0, 0), BELOW, ENOUGH)?;
    if let Some(badge) = badge {
        let time = little.idling().with_badge(badge);
        test.control_of(1).configure(short.sched_context, &time)?;
    }
    run(test, guard)?;
    short.start()?;
    test.sleep(ms(2))?;
    check_eq!(BEGUN.load(Relaxed), 1);
    if other_waits {
        other.start()?;
        test.sleep(ms(2))?;
    }
    // Meanwhile the guard does not run: the client's message comes, and then the end of the budget.
    test.tcb.set_priority(test.tcb, HIGHEST + 1)?;
    preempting.start()?;
    load.work_in_turns(ms(40));
    check_eq!(ABORTED.load(Relaxed), 0);
    test.tcb.set_priority(test.tcb, PRIORITY)?;
    if !other_waits {
        other.start()?;
    }
    await_answers(test, 1)?;
    check_eq!((ABORTED.load(Relaxed), LOST.load(Relaxed)), (1, 0));
    check_eq!(ORDER[0].load(Relaxed), ORPHAN);
    Ok(())
}

fn a_lender_whose_budget_has_ended_unnoticed_is_aborted(test: &mut Test) -> Outcome {
    end_of_a_budget_unnoticed(test, false, None)
}

/// The timeout message comes when the server has the context of another client already, whose budget has not ended.
fn the_next_lender_does_not_pay_for_it(test: &mut Test) -> Outcome {
    end_of_a_budget_unnoticed(test, true, None)
}

/// The badge of the client (0, 0), which an owner of a context that may configure it can give it.
const OTHERS_BADGE: usize = 1;

/// The first lender has given its context the badge of the next.
fn nor_if_the_first_has_its_badge(test: &mut Test) -> Outcome {
    end_of_a_budget_unnoticed(test, true, Some(OTHERS_BADGE))
}

/// The context is unbound while the server runs on it.
fn a_client_without_a_context_costs_no_other_one(test: &mut Test) -> Outcome {
    let (mut guard, _) = guard(test, ByProtocol::new(), ms(20))?;
    let victim = caller(test, &mut guard, client(1, 0), PRIORITY, ENOUGH)?;
    let other = caller(test, &mut guard, client(0, 0), BELOW, ENOUGH)?;
    run(test, guard)?;
    victim.start()?;
    test.sleep(ms(5))?;
    check_eq!((BEGUN.load(Relaxed), SERVED.load(Relaxed)), (1, 0));
    victim.sched_context.unbind()?;
    other.start()?;
    await_answers(test, 1)?;
    check_eq!((LOST.load(Relaxed), BEGUN.load(Relaxed)), (1, 2));
    check_eq!(ORDER[0].load(Relaxed), ORPHAN);
    Ok(())
}

/// The context is gone before the call, which the thread makes on another one, while the server is free.
fn a_client_that_calls_without_its_context_costs_no_other_one(test: &mut Test) -> Outcome {
    let (mut guard, _) = guard(test, ByProtocol::new(), ms(20))?;
    let victim = caller(test, &mut guard, client(0, 0), PRIORITY, ENOUGH)?;
    let other = caller(test, &mut guard, client(1, 0), BELOW, ENOUGH)?;
    let spare = test.timed(PRIORITY, ENOUGH, || {})?;
    run(test, guard)?;
    spare.sched_context.unbind()?;
    test.delete(victim.sched_context)?;
    spare.sched_context.bind(victim.tcb)?;
    victim.start()?;
    test.sleep(ms(5))?;
    check_eq!((LOST.load(Relaxed), BEGUN.load(Relaxed)), (1, 0));
    other.start()?;
    await_answers(test, 1)?;
    Ok(())
}

/// What a client does with its context while the server runs on it, and another client waits already: no message of a
/// client comes any more.
fn take_from_the_server(
    test: &mut Test,
    take: impl FnOnce(&mut Test, Thread) -> Outcome,
) -> Outcome {
    let (mut guard, _) = guard(test, ByProtocol::new(), ms(20))?;
    let victim = caller(test, &mut guard, client(1, 0), PRIORITY, ENOUGH)?;
    let other = caller(test, &mut guard, client(0, 0), BELOW, ENOUGH)?;
    run(test, guard)?;
    for thread in [victim, other] {
        thread.start()?;
        test.sleep(ms(2))?;
    }
    check_eq!((BEGUN.load(Relaxed), SERVED.load(Relaxed)), (1, 0));
    take(test, victim)?;
    await_answers(test, 1)?;
    check_eq!(LOST.load(Relaxed), 1);
    check_eq!(ORDER[0].load(Relaxed), ORPHAN);
    Ok(())
}

fn an_unbound_lender_is_noticed_without_another_message(test: &mut Test) -> Outcome {
    take_from_the_server(test, |_, victim| Ok(victim.sched_context.unbind()?))
}

fn a_client_that_binds_its_context_elsewhere_costs_no_other_one(test: &mut Test) -> Outcome {
    take_from_the_server(test, |test, victim| {
        let thief = test.timed(BELOW, ENOUGH, || spin())?;
        thief.sched_context.unbind()?;
        victim.sched_context.unbind()?;
        victim.sched_context.bind(thief.tcb)?;
        Ok(thief.start()?)
    })
}

/// The thread is deleted while it waits in the queue.
fn a_deleted_client_costs_no_other_one(test: &mut Test) -> Outcome {
    let (mut guard, _) = guard(test, ByProtocol::new(), ms(20))?;
    let first = caller(test, &mut guard, client(0, 0), BELOW, ENOUGH)?;
    let victim = caller(test, &mut guard, client(1, 0), PRIORITY, ENOUGH)?;
    let last = caller(test, &mut guard, client(1, 1), PRIORITY - 1, ENOUGH)?;
    run(test, guard)?;
    for thread in [first, victim, last] {
        thread.start()?;
        test.sleep(ms(2))?;
    }
    check_eq!((BEGUN.load(Relaxed), SERVED.load(Relaxed)), (1, 0));
    test.delete(victim.tcb)?;
    await_answers(test, 2)?;
    check_eq!((LOST.load(Relaxed), ABORTED.load(Relaxed)), (1, 0));
    Ok(())
}

/// A client whose requests are fatal gets errors; one that waits meanwhile, and later ones, get answers.
fn a_faulted_server_begins_anew(test: &mut Test) -> Outcome {
    let (mut guard, _) = guard(test, ByProtocol::new(), ms(20))?;
    let fatal = add(test, &mut guard, client(1, 0), PRIORITY, ENOUGH, |caller| {
        for _ in 0..2 {
            check_eq!(caller.call([FATAL, 0, 0]), Err(NotServed::Faulted));
            UNSERVED.fetch_add(1, Relaxed);
        }
        check_eq!(caller.call([5, 0, 0]), Ok([6, 1, 1]));
        ANSWERED.fetch_add(1, Relaxed);
    })?;
    let waits = caller(test, &mut guard, client(0, 0), BELOW, ENOUGH)?;
    run(test, guard)?;
    fatal.start()?;
    test.sleep(ms(2))?;
    waits.start()?;
    await_answers(test, 2)?;
    check_eq!((UNSERVED.load(Relaxed), FAULTED.load(Relaxed)), (2, 2));
    check_eq!((SERVED.load(Relaxed), BEGUN.load(Relaxed)), (2, 4));
    check_eq!((ABORTED.load(Relaxed), LOST.load(Relaxed)), (0, 0));
    Ok(())
}

fn a_client_cannot_receive_messages_of_others(test: &mut Test) -> Outcome {
    static RECEIVED: AtomicUsize = AtomicUsize::new(0);
    let (mut guard, _) = guard(test, ByProtocol::new(), ms(2))?;
    let spy = add(test, &mut guard, client(1, 0), PRIORITY, ENOUGH, |caller| {
        caller.endpoint().nb_wait();
        RECEIVED.store(1, Relaxed);
    })?;
    let other = caller(test, &mut guard, client(0, 0), BELOW, ENOUGH)?;
    run(test, guard)?;
    spy.start()?;
    other.start()?;
    await_answers(test, 1)?;
    // It has faulted.
    check_eq!(RECEIVED.load(Relaxed), 0);
    Ok(())
}
