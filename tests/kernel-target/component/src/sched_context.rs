//! Scheduling contexts: binding, unbinding, consumed time, and yielding to other contexts.

use crate::support::events::{note, noted};
use crate::support::{ABOVE, BELOW, Outcome, PRIORITY, Test, ms, us, work};
use crate::{check, check_eq};
use abi::Method;
use abi::sizes::MIN_SCHED_CONTEXT_BITS;
use userlib::cap::{Endpoint, Notification, SchedContext, SchedParameters, Tcb};
use userlib::invoke::invoke;
use userlib::{CPtr, Error, Microseconds, Result, Thread, syscall};

tests![
    labels_of_others_are_illegal,
    short_messages_are_truncated,
    only_threads_and_notifications_are_bound,
    one_context_for_one_thread,
    one_context_for_one_notification,
    thread_and_notification_share,
    unconfigured_contexts_may_be_bound,
    the_blocked_need_time_at_once,
    binding_lets_run,
    bound_threads_come_first_of_their_equals,
    unbinding_stops,
    unbinding_takes_all,
    only_what_is_bound_is_unbound,
    no_thread_unbinds_itself,
    deleting_the_context_stops_its_thread,
    deleting_ones_own_context,
    deleting_the_bound_frees_the_context,
    used_budgets_stay_used,
    consumed_is_told_once,
    consumed_belongs_to_the_context,
    yield_to_is_refused,
    yield_to_a_lower_priority_returns_at_once,
    yield_to_an_equal_goes_first,
    yield_to_the_stopped_returns_at_once,
    yield_to_tells_what_was_consumed,
    yield_to_ends_with_its_target,
    yield_to_is_ended_by_another,
    yield_to_ends_with_the_caller,
];

/// Timeslices that do not end during a test, even on a busy host.
const LONG: SchedParameters = SchedParameters::round_robin(ms(10_000));

const ILLEGAL: Result = Err(Error::IllegalOperation);

fn call(context: SchedContext, method: Method, caps: &[CPtr]) -> Result {
    invoke(context.0, method.number(), &[], caps).map(drop)
}

fn unconfigured(test: &mut Test) -> Result<SchedContext> {
    test.create_sized(MIN_SCHED_CONTEXT_BITS)
}

fn labels_of_others_are_illegal(test: &mut Test) -> Outcome {
    let context = unconfigured(test)?;
    for method in [
        Method::InvalidInvocation,
        Method::TcbSuspend,
        Method::SchedControlConfigureFlags,
        Method::CNodeDelete,
    ] {
        check_eq!(call(context, method, &[test.tcb.0; 3]), ILLEGAL);
    }
    Ok(())
}

fn short_messages_are_truncated(test: &mut Test) -> Outcome {
    let context = unconfigured(test)?;
    for method in [Method::SchedContextBind, Method::SchedContextUnbindObject] {
        check_eq!(call(context, method, &[]), Err(Error::TruncatedMessage));
    }
    Ok(())
}

fn only_threads_and_notifications_are_bound(test: &mut Test) -> Outcome {
    let context = unconfigured(test)?;
    let endpoint: Endpoint = test.create()?;
    let empty = CPtr(test.empty_slot()?.index);
    for other in [CPtr::NULL, empty, endpoint.0, context.0, test.vspace.0] {
        for method in [Method::SchedContextBind, Method::SchedContextUnbindObject] {
            let result = call(context, method, &[other]);
            check_eq!(result, Err(Error::InvalidCapability(1)));
        }
    }
    Ok(())
}

fn one_context_for_one_thread(test: &mut Test) -> Outcome {
    let (first, second) = (unconfigured(test)?, unconfigured(test)?);
    let (one, two): (Tcb, Tcb) = (test.create()?, test.create()?);
    check_eq!(first.bind(one), Ok(()));
    check_eq!(first.bind(one), ILLEGAL);
    check_eq!(first.bind(two), ILLEGAL);
    check_eq!(second.bind(one), ILLEGAL);
    check_eq!(second.bind(two), Ok(()));
    check_eq!(first.unbind_object(one), Ok(()));
    check_eq!(second.unbind_object(two), Ok(()));
    check_eq!(second.bind(one), Ok(()));
    Ok(())
}

fn one_context_for_one_notification(test: &mut Test) -> Outcome {
    let (first, second) = (unconfigured(test)?, unconfigured(test)?);
    let (one, two): (Notification, Notification) = (test.create()?, test.create()?);
    check_eq!(first.bind_notification(one), Ok(()));
    check_eq!(first.bind_notification(one), ILLEGAL);
    check_eq!(first.bind_notification(two), ILLEGAL);
    check_eq!(second.bind_notification(one), ILLEGAL);
    check_eq!(first.unbind_object(two), ILLEGAL);
    check_eq!(second.unbind_object(one), ILLEGAL);
    check_eq!(first.unbind_object(one), Ok(()));
    check_eq!(second.bind_notification(one), Ok(()));
    Ok(())
}

fn thread_and_notification_share(test: &mut Test) -> Outcome {
    let context = unconfigured(test)?;
    let tcb: Tcb = test.create()?;
    let notification: Notification = test.create()?;
    check_eq!(context.bind(tcb), Ok(()));
    check_eq!(context.bind_notification(notification), Ok(()));
    check_eq!(context.unbind_object(tcb), Ok(()));
    check_eq!(context.bind(tcb), Ok(()));
    check_eq!(context.unbind_object(notification), Ok(()));
    check_eq!(context.unbind_object(tcb), Ok(()));
    Ok(())
}

fn unconfigured_contexts_may_be_bound(test: &mut Test) -> Outcome {
    let context = unconfigured(test)?;
    let thread = test.passive(ABOVE, || note('a'))?;
    check_eq!(context.bind(thread.tcb), Ok(()));
    check_eq!(thread.start(), Ok(()));
    test.let_others_run()?;
    check_eq!(noted(), "");
    test.sched_control.configure(context, &LONG)?;
    check_eq!(noted(), "a");
    Ok(())
}

/// A context without budget for the rest of the test.
fn exhausted(test: &mut Test) -> Result<SchedContext> {
    let never = SchedParameters::new(ms(5), ms(1_000_000));
    let thread = test.timed(ABOVE, never, || {
        loop {
            syscall::yield_now();
        }
    })?;
    thread.start()?;
    thread.sched_context.unbind()?;
    Ok(thread.sched_context)
}

fn the_blocked_need_time_at_once(test: &mut Test) -> Outcome {
    let notification: Notification = test.create()?;
    let thread = test.spawn_passive(ABOVE, move || {
        notification.wait();
        note('a');
    })?;
    let (empty, later) = (unconfigured(test)?, exhausted(test)?);
    let set = |context| {
        thread
            .tcb
            .set_sched_params(thread.tcb, 0, 0, context, CPtr::NULL)
    };
    for context in [empty, later] {
        check_eq!(context.bind(thread.tcb), ILLEGAL);
        check_eq!(set(context), ILLEGAL);
    }
    // Such a context can be bound to a thread that is not blocked, which then waits for budget.
    let stopped: Tcb = test.create()?;
    check_eq!(later.bind(stopped), Ok(()));
    let ready = test.create_sched_context(&LONG)?;
    check_eq!(ready.bind(thread.tcb), Ok(()));
    test.badge(notification, 1)?.signal();
    check_eq!(noted(), "a");
    Ok(())
}

fn binding_lets_run(test: &mut Test) -> Outcome {
    for (priority, letter) in [(ABOVE, 'a'), (BELOW, 'b')] {
        let thread = test.passive(priority, move || note(letter))?;
        thread.start()?;
        let context = test.create_sched_context(&LONG)?;
        context.bind(thread.tcb)?;
    }
    check_eq!(noted(), "a");
    test.let_others_run()?;
    check_eq!(noted(), "ab");
    Ok(())
}

fn bound_threads_come_first_of_their_equals(test: &mut Test) -> Outcome {
    test.sched_control.configure(test.sched_context, &LONG)?;
    for letter in ['a', 'b', 'c'] {
        let thread = test.passive(PRIORITY, move || note(letter))?;
        thread.start()?;
        let context = test.create_sched_context(&LONG)?;
        context.bind(thread.tcb)?;
    }
    test.let_others_run()?;
    check_eq!(noted(), "cba");
    Ok(())
}

fn unbinding_stops(test: &mut Test) -> Outcome {
    let first = test.spawn(BELOW, || note('a'))?;
    let second = test.spawn(BELOW, || note('b'))?;
    first.sched_context.unbind()?;
    second.sched_context.unbind_object(second.tcb)?;
    test.let_others_run()?;
    check_eq!(noted(), "");
    // The threads are otherwise unchanged.
    first.sched_context.bind(second.tcb)?;
    test.let_others_run()?;
    check_eq!(noted(), "b");
    Ok(())
}

fn unbinding_takes_all(test: &mut Test) -> Outcome {
    let context = unconfigured(test)?;
    let tcb: Tcb = test.create()?;
    let notification: Notification = test.create()?;
    check_eq!(context.unbind(), Ok(()));
    context.bind(tcb)?;
    context.bind_notification(notification)?;
    check_eq!(context.unbind(), Ok(()));
    check_eq!(context.unbind_object(tcb), ILLEGAL);
    check_eq!(context.unbind_object(notification), ILLEGAL);
    Ok(())
}

fn only_what_is_bound_is_unbound(test: &mut Test) -> Outcome {
    let context = unconfigured(test)?;
    let (one, two): (Tcb, Tcb) = (test.create()?, test.create()?);
    let notification: Notification = test.create()?;
    check_eq!(context.unbind_object(one), ILLEGAL);
    check_eq!(context.unbind_object(notification), ILLEGAL);
    context.bind(one)?;
    check_eq!(context.unbind_object(two), ILLEGAL);
    check_eq!(context.unbind_object(notification), ILLEGAL);
    check_eq!(context.unbind_object(test.tcb), ILLEGAL);
    check_eq!(context.unbind_object(one), Ok(()));
    check_eq!(context.unbind_object(one), ILLEGAL);
    Ok(())
}

fn no_thread_unbinds_itself(test: &mut Test) -> Outcome {
    let own = test.sched_context;
    check_eq!(own.unbind(), ILLEGAL);
    check_eq!(own.unbind_object(test.tcb), ILLEGAL);
    let copy = test.copy(own)?;
    check_eq!(copy.unbind(), ILLEGAL);
    // Another object that is bound can be unbound.
    let notification: Notification = test.create()?;
    own.bind_notification(notification)?;
    check_eq!(own.unbind(), ILLEGAL);
    check_eq!(own.unbind_object(notification), Ok(()));
    Ok(())
}

fn deleting_the_context_stops_its_thread(test: &mut Test) -> Outcome {
    let thread = test.spawn(BELOW, || note('a'))?;
    let copy = test.copy(thread.sched_context)?;
    test.delete(thread.sched_context)?;
    test.delete(copy)?;
    test.let_others_run()?;
    check_eq!(noted(), "");
    let other = test.create_sched_context(&LONG)?;
    other.bind(thread.tcb)?;
    test.let_others_run()?;
    check_eq!(noted(), "a");
    Ok(())
}

fn deleting_ones_own_context(test: &mut Test) -> Outcome {
    let context = test.create_sched_context(&LONG)?;
    let slot = test.slot(context);
    let thread = test.passive(ABOVE, move || {
        note('a');
        let _ = slot.delete();
        note('b');
    })?;
    context.bind(thread.tcb)?;
    thread.start()?;
    test.let_others_run()?;
    check_eq!(noted(), "a");
    check!(test.is_gone(context)?);
    let other = test.create_sched_context(&LONG)?;
    other.bind(thread.tcb)?;
    check_eq!(noted(), "ab");
    Ok(())
}

fn deleting_the_bound_frees_the_context(test: &mut Test) -> Outcome {
    let context = test.create_sched_context(&LONG)?;
    for _ in 0..3 {
        let tcb: Tcb = test.create()?;
        let notification: Notification = test.create()?;
        check_eq!(context.bind(tcb), Ok(()));
        check_eq!(context.bind_notification(notification), Ok(()));
        test.delete(tcb)?;
        test.delete(notification)?;
    }
    let thread = test.passive(ABOVE, || note('a'))?;
    thread.start()?;
    context.bind(thread.tcb)?;
    check_eq!(noted(), "a");
    Ok(())
}

fn used_budgets_stay_used(test: &mut Test) -> Outcome {
    let context = exhausted(test)?;
    let thread = test.passive(ABOVE, || note('a'))?;
    thread.start()?;
    check_eq!(context.bind(thread.tcb), Ok(()));
    test.let_others_run()?;
    check_eq!(noted(), "");
    check_eq!(context.yield_to().map(drop), Ok(()));
    thread.tcb.suspend()?;
    thread.start()?;
    test.let_others_run()?;
    check_eq!(noted(), "");
    Ok(())
}

/// A thread that is busy for `time` and a little longer, because the runner's clock sometimes takes the
/// processor for some microseconds.
fn busy(test: &mut Test, priority: u8, time: Microseconds) -> Result<Thread> {
    let startup = test.startup;
    test.thread(priority, move || {
        work(startup, time + us(200));
    })
}

fn consumed_is_told_once(test: &mut Test) -> Outcome {
    let context = unconfigured(test)?;
    check_eq!(context.consumed(), Ok(ms(0)));
    let thread = busy(test, ABOVE, ms(7))?;
    check_eq!(thread.sched_context.consumed(), Ok(ms(0)));
    thread.start()?;
    check!(thread.sched_context.consumed()? >= ms(7));
    check_eq!(thread.sched_context.consumed(), Ok(ms(0)));
    Ok(())
}

fn consumed_belongs_to_the_context(test: &mut Test) -> Outcome {
    let thread = busy(test, ABOVE, ms(3))?;
    thread.start()?;
    let other = busy(test, ABOVE, ms(4))?;
    other.sched_context.unbind()?;
    thread.sched_context.unbind()?;
    thread.sched_context.bind(other.tcb)?;
    other.start()?;
    test.delete(other.tcb)?;
    check!(thread.sched_context.consumed()? >= ms(7));
    check_eq!(other.sched_context.consumed(), Ok(ms(0)));
    Ok(())
}

fn yield_to_is_refused(test: &mut Test) -> Outcome {
    let unbound = test.create_sched_context(&LONG)?;
    check_eq!(unbound.yield_to().map(drop), ILLEGAL);
    check_eq!(test.sched_context.yield_to().map(drop), ILLEGAL);
    let (above, equal) = (
        test.thread(ABOVE + 1, || note('a'))?,
        test.thread(ABOVE, || note('b'))?,
    );
    test.tcb.set_mc_priority(test.tcb, ABOVE)?;
    check_eq!(above.sched_context.yield_to().map(drop), ILLEGAL);
    check_eq!(equal.sched_context.yield_to(), Ok(ms(0)));
    Ok(())
}

/// A thread below the test that notes a letter.
fn spawn(test: &mut Test, letter: char) -> Result<Thread> {
    let thread = test.timed(BELOW, LONG, move || note(letter))?;
    thread.start()?;
    Ok(thread)
}

fn yield_to_a_lower_priority_returns_at_once(test: &mut Test) -> Outcome {
    let threads = ['a', 'b', 'c'].map(|letter| spawn(test, letter));
    for thread in threads {
        check_eq!(thread?.sched_context.yield_to(), Ok(ms(0)));
        check_eq!(noted(), "");
    }
    // Each target moved in front of its equals, so the last one is first.
    let first = spawn(test, 'd')?;
    spawn(test, 'e')?;
    first.sched_context.yield_to()?;
    test.let_others_run()?;
    check_eq!(noted(), "decba");
    Ok(())
}

fn yield_to_an_equal_goes_first(test: &mut Test) -> Outcome {
    test.sched_control.configure(test.sched_context, &LONG)?;
    let mut threads = [None; 3];
    for (place, letter) in threads.iter_mut().zip(['a', 'b', 'c']) {
        let thread = test.timed(PRIORITY, LONG, move || note(letter))?;
        thread.start()?;
        *place = Some(thread);
    }
    check_eq!(noted(), "");
    if let Some(last) = threads[2] {
        last.sched_context.yield_to()?;
    }
    // The target, then the caller, then the others.
    check_eq!(noted(), "c");
    syscall::yield_now();
    check_eq!(noted(), "cab");
    Ok(())
}

fn yield_to_the_stopped_returns_at_once(test: &mut Test) -> Outcome {
    let stopped = test.thread(ABOVE, || note('a'))?;
    check_eq!(stopped.sched_context.yield_to(), Ok(ms(0)));
    let notification: Notification = test.create()?;
    let blocked = test.spawn(ABOVE, move || {
        notification.wait();
    })?;
    blocked.sched_context.consumed()?;
    check_eq!(blocked.sched_context.yield_to(), Ok(ms(0)));
    let unconfigured = unconfigured(test)?;
    let tcb: Tcb = test.create()?;
    unconfigured.bind(tcb)?;
    tcb.resume()?;
    check_eq!(unconfigured.yield_to(), Ok(ms(0)));
    check_eq!(noted(), "");
    Ok(())
}

fn yield_to_tells_what_was_consumed(test: &mut Test) -> Outcome {
    test.sched_control.configure(test.sched_context, &LONG)?;
    let thread = busy(test, PRIORITY, ms(6))?;
    test.sched_control.configure(thread.sched_context, &LONG)?;
    thread.start()?;
    check!(thread.sched_context.yield_to()? >= ms(6));
    check_eq!(thread.sched_context.consumed(), Ok(ms(0)));
    Ok(())
}

/// The test yields to a thread of its own priority, which wakes a thread of higher priority, which runs
/// `act`.
fn yield_and<F>(test: &mut Test, act: impl FnOnce(&mut Test, Thread) -> F) -> Outcome
where
    F: FnOnce() + Send + 'static,
{
    test.sched_control.configure(test.sched_context, &LONG)?;
    let notification: Notification = test.create()?;
    let ready = test.badge(notification, 1)?;
    let target = test.timed(PRIORITY, LONG, move || {
        note('t');
        ready.signal();
        note('z');
    })?;
    let act = act(test, target);
    test.spawn(ABOVE, move || {
        notification.wait();
        note('a');
        act();
    })?;
    target.start()?;
    check_eq!(target.sched_context.yield_to().map(drop), Ok(()));
    note('y');
    Ok(())
}

fn yield_to_ends_with_its_target(test: &mut Test) -> Outcome {
    use crate::support::events::forget;
    yield_and(test, |_, target| {
        move || {
            let _ = target.tcb.suspend();
        }
    })?;
    check_eq!(noted(), "tay");
    forget();
    yield_and(test, |test, target| {
        let slot = test.slot(target.tcb);
        move || {
            let _ = slot.delete();
        }
    })?;
    check_eq!(noted(), "tay");
    forget();
    yield_and(test, |test, target| {
        let slot = test.slot(target.sched_context);
        move || {
            let _ = slot.delete();
        }
    })?;
    check_eq!(noted(), "tay");
    Ok(())
}

fn yield_to_is_ended_by_another(test: &mut Test) -> Outcome {
    yield_and(test, |_, target| {
        move || {
            check_eq!(target.sched_context.yield_to().map(drop), Ok(()));
            note('b');
        }
    })?;
    check_eq!(noted(), "tabzy");
    Ok(())
}

fn yield_to_ends_with_the_caller(test: &mut Test) -> Outcome {
    let tcb = test.empty_slot()?;
    let target = test.timed(BELOW, LONG, move || {
        note('t');
        let _ = tcb.delete();
        note('u');
    })?;
    let caller = test.timed(BELOW, LONG, move || {
        note('c');
        let _ = target.sched_context.yield_to();
        note('z');
    })?;
    tcb.move_from(test.slot(caller.tcb))?;
    let caller = Tcb(CPtr(tcb.index));
    // The thread that starts last is the first among threads of equal priority.
    target.start()?;
    caller.resume()?;
    test.let_others_run()?;
    check_eq!(noted(), "ctu");
    Ok(())
}
