//! `SchedContext_YieldToTimeout`, which user-level schedulers use, and idling contexts.

use crate::support::events::{note, noted};
use crate::support::{
    ABOVE, BELOW, Outcome, PRIORITY, SLICE, Test, fail, ms, relax, spin, spin_for, work,
};
use crate::{check, check_eq};
use abi::fault::{LONG_TIMEOUT_LENGTH, TIMEOUT_LENGTH};
use abi::{Method, WORD_BITS, yield_target};
use userlib::cap::{
    Endpoint, Notification, Reply, SchedContext, SchedParameters, YieldTarget, Yielded,
};
use userlib::fault::MoreOnTimeout;
use userlib::invoke::invoke;
use userlib::{CPtr, Capability, Error, Fault, Message, Microseconds, Result, Thread};

tests![
    the_answer_tells_the_time,
    the_run_ends_on_time,
    the_budget_may_end_first,
    one_call_and_one_receive_are_a_turn,
    one_system_call_is_a_turn,
    without_a_call_a_time_in_the_past_is_told_by_the_message,
    a_call_of_the_target_is_answered_first,
    an_equal_scheduler_learns_that_the_target_waits,
    the_target_may_be_told_behind_a_yield_to,
    without_handler_the_turn_ends,
    bad_calls_are_refused_in_order,
    idling_contexts_are_used_while_their_thread_waits,
    time_that_goes_back_idles_no_longer,
    a_thread_that_idled_too_long_times_out_when_it_is_woken,
];

/// A period longer than any test.
const NEVER: Microseconds = ms(1_000_000);
const TIME: SchedParameters = SchedParameters::new(ms(100), NEVER).with_badge(7);

/// The kernel's clock.
fn now(context: SchedContext) -> Result<Microseconds> {
    Ok(context.yield_to_timeout(Microseconds(0), None)?.now)
}

/// A thread that runs as long as it may, and that reports its timeouts to the test.
struct Scene {
    thread: Thread,
    timeouts: Endpoint,
    reply: Reply,
}

fn scene(test: &mut Test, work: impl FnOnce() + Send + 'static) -> Outcome<Scene> {
    let timeouts: Endpoint = test.create()?;
    let reply: Reply = test.create()?;
    let thread = test.timed(BELOW, TIME, work)?;
    thread.tcb.set_timeout_endpoint(timeouts)?;
    thread.start()?;
    Ok(Scene {
        thread,
        timeouts,
        reply,
    })
}

impl Scene {
    /// Lets the thread run for a time, unless it is preempted or blocks before.
    fn run(&self, time: Microseconds, answered: bool) -> Result<Yielded> {
        let context = self.thread.sched_context;
        let instant = now(context)? + time;
        context.yield_to_timeout(instant, answered.then_some(self.reply))
    }

    /// The contents of the next timeout message, and its length.
    fn told(&self) -> (Option<MoreOnTimeout>, Microseconds, usize) {
        let message = self.timeouts.recv(self.reply).message;
        let message = message.unwrap_or(Message::empty(0));
        match Fault::from_message(&message) {
            Fault::Timeout {
                badge: 7,
                more,
                consumed,
            } => (more, consumed, message.length()),
            _ => (None, ms(0), 0),
        }
    }
}

fn the_answer_tells_the_time(test: &mut Test) -> Outcome {
    let scene = scene(test, || spin())?;
    let first = now(scene.thread.sched_context)?;
    spin_for(&test.clock, ms(5));
    let second = now(scene.thread.sched_context)?;
    check!(second - first >= ms(4), "{first} {second}");
    Ok(())
}

fn the_run_ends_on_time(test: &mut Test) -> Outcome {
    let scene = scene(test, || {
        note('a');
        spin()
    })?;
    let before = now(scene.thread.sched_context)?;
    let yielded = scene.run(ms(10), false)?;
    // The test has a higher priority, so the thread has not run yet.
    check_eq!(yielded.target, YieldTarget::Runnable);
    check_eq!(noted(), "");
    let (more, consumed, length) = scene.told();
    check_eq!(noted(), "a");
    check_eq!(length, LONG_TIMEOUT_LENGTH);
    let Some(more) = more else {
        check!(false, "the message has no further words");
        return Ok(());
    };
    check!(more.instant && !more.blocked);
    check!(more.now - before >= ms(10), "{before} {}", more.now);
    check!(consumed <= ms(100));
    Ok(())
}

fn the_budget_may_end_first(test: &mut Test) -> Outcome {
    let scene = scene(test, || spin())?;
    scene.run(ms(500), false)?;
    let (more, _, length) = scene.told();
    check_eq!(length, LONG_TIMEOUT_LENGTH);
    check!(more.is_some_and(|more| !more.instant && !more.blocked));
    // Without a timeout the message is the same as seL4's.
    let again = TIME;
    test.sched_control
        .configure(scene.thread.sched_context, &again)?;
    scene.reply.send(Message::empty(0));
    check_eq!(scene.told().2, TIMEOUT_LENGTH);
    Ok(())
}

fn one_call_and_one_receive_are_a_turn(test: &mut Test) -> Outcome {
    let first = scene(test, || {
        loop {
            note('a');
            relax();
        }
    })?;
    let second = scene(test, || {
        loop {
            note('b');
            relax();
        }
    })?;
    for answered in [false, true, true] {
        for (scene, event) in [(&first, 'a'), (&second, 'b')] {
            crate::support::events::forget();
            scene.run(ms(2), answered)?;
            let (more, ..) = scene.told();
            check!(more.is_some_and(|more| more.instant));
            check!(crate::support::events::count() > 0);
            let only = if event == 'a' { "b" } else { "a" };
            check!(!noted().contains(only));
        }
    }
    Ok(())
}

/// Lets the thread of a scene, which is held, run for a time, in one system call; returns what its timeout message says.
fn turn(scene: &Scene, time: Microseconds, inbox: Reply) -> Outcome<(MoreOnTimeout, Microseconds)> {
    let context = scene.thread.sched_context;
    let instant = Microseconds(now(context)?.0.saturating_add(time.0));
    let received = context.yield_and_receive(instant, scene.reply, scene.timeouts, inbox);
    let message = received.message.unwrap_or(Message::empty(0));
    match Fault::from_message(&message) {
        Fault::Timeout {
            more: Some(more),
            consumed,
            ..
        } => Ok((more, consumed)),
        fault => fail(format_args!("it is no timeout message: {fault:?}")),
    }
}

fn one_system_call_is_a_turn(test: &mut Test) -> Outcome {
    let scene = scene(test, || {
        note('a');
        spin()
    })?;
    let inbox: Reply = test.create()?;
    scene.run(ms(2), false)?;
    scene.told();
    // What it has used before does not count.
    let context = scene.thread.sched_context;
    context.yield_to_timeout(now(context)? + ms(8), Some(scene.reply))?;
    scene.told();
    let before = now(context)?;
    let (more, consumed) = turn(&scene, ms(4), inbox)?;
    check!(more.instant && !more.blocked);
    check!(more.now - before >= ms(4), "{before} {}", more.now);
    check!(consumed > ms(1) && consumed < ms(8), "{consumed}");
    Ok(())
}

fn without_a_call_a_time_in_the_past_is_told_by_the_message(test: &mut Test) -> Outcome {
    let scene = scene(test, || {
        loop {
            note('a');
            relax();
        }
    })?;
    let inbox: Reply = test.create()?;
    scene.run(ms(2), false)?;
    scene.told();
    crate::support::events::forget();
    let context = scene.thread.sched_context;
    let received = context.yield_and_receive(Microseconds(0), scene.reply, scene.timeouts, inbox);
    let message = received.message.unwrap_or(Message::empty(0));
    let fault = Fault::from_message(&message);
    check!(
        matches!(fault, Fault::Timeout { more: Some(more), .. } if more.instant),
        "{fault:?}"
    );
    check_eq!(crate::support::events::count(), 0);
    Ok(())
}

fn a_call_of_the_target_is_answered_first(test: &mut Test) -> Outcome {
    let calls: Endpoint = test.create()?;
    let scene = scene(test, move || {
        for _ in 0..2 {
            let answer = calls.call(Message::new(5, &[1, 2]));
            check_eq!((answer.label(), answer.length()), (0, 0));
            note('a');
        }
        spin()
    })?;
    let inbox: Reply = test.create()?;
    // By a call.
    check!(calls.recv(scene.reply).message.is_some(), "no call");
    let yielded = scene.run(ms(500), true)?;
    check_eq!(yielded.target, YieldTarget::Runnable);
    check_eq!(noted(), "");
    check!(calls.recv(scene.reply).message.is_some(), "no second call");
    check_eq!(noted(), "a");
    // By one system call.
    let (more, _) = turn(&scene, ms(4), inbox)?;
    check!(more.instant);
    check_eq!(noted(), "aa");
    // A reply object that holds nothing is still refused.
    let again = scene.run(ms(1), true);
    check_eq!(again.map(drop), Err(Error::IllegalOperation));
    Ok(())
}

fn an_equal_scheduler_learns_that_the_target_waits(test: &mut Test) -> Outcome {
    let bell: Notification = test.create()?;
    let scene = scene(test, move || {
        note('a');
        bell.wait();
        note('b');
        spin()
    })?;
    test.tcb.set_priority(test.tcb, BELOW)?;
    let yielded = scene.run(ms(50), false)?;
    test.tcb.set_priority(test.tcb, PRIORITY)?;
    check_eq!(yielded.target, YieldTarget::Blocked);
    check_eq!(noted(), "a");
    // The timeout expires while the thread waits, and is reported when the thread could continue.
    test.sleep(ms(80))?;
    bell.signal();
    let (more, ..) = scene.told();
    check!(more.is_some_and(|more| more.instant && more.blocked));
    check_eq!(noted(), "a");
    let yielded = scene.run(ms(5), true)?;
    check_eq!(yielded.target, YieldTarget::Runnable);
    scene.told();
    check_eq!(noted(), "ab");
    Ok(())
}

fn the_target_may_be_told_behind_a_yield_to(test: &mut Test) -> Outcome {
    let bell: Notification = test.create()?;
    let scene = scene(test, move || {
        bell.wait();
    })?;
    let context = scene.thread.sched_context;
    check_eq!(context.yield_to_target()?.1, YieldTarget::Runnable);
    test.let_others_run()?;
    check_eq!(context.yield_to_target()?.1, YieldTarget::Blocked);
    scene.thread.tcb.suspend()?;
    check_eq!(context.yield_to_target()?.1, YieldTarget::Stopped);
    // For programs of seL4 the message has its usual length.
    let label = Method::SchedContextYieldTo.number();
    let answer = invoke(context.cptr(), label, &[], &[])?;
    check_eq!(answer.length(), 64 / WORD_BITS);
    check_eq!(yield_target::STOPPED, 3);
    Ok(())
}

fn without_handler_the_turn_ends(test: &mut Test) -> Outcome {
    let scene = scene(test, || {
        note('a');
        spin()
    })?;
    scene.thread.tcb.set_timeout_endpoint(CPtr::NULL)?;
    test.tcb.set_priority(test.tcb, BELOW)?;
    let before = now(scene.thread.sched_context)?;
    let yielded = scene.run(ms(10), false)?;
    check_eq!(noted(), "a");
    check_eq!(yielded.target, YieldTarget::Runnable);
    check!(yielded.now - before >= ms(10));
    Ok(())
}

fn bad_calls_are_refused_in_order(test: &mut Test) -> Outcome {
    let scene = scene(test, || spin())?;
    let context = scene.thread.sched_context;
    let label = Method::SchedContextYieldToTimeout.number();
    let short = invoke(context.cptr(), label, &[], &[]);
    check_eq!(short.map(drop), Err(Error::TruncatedMessage));
    let own = test.sched_context.yield_to_timeout(NEVER, None);
    check_eq!(own.map(drop), Err(Error::IllegalOperation));
    let end = context.yield_to_timeout(Microseconds(u64::MAX), None);
    check!(matches!(end, Err(Error::Range { minimum: 0, .. })));
    let unused = context.yield_to_timeout(NEVER, Some(scene.reply));
    check_eq!(unused.map(drop), Err(Error::IllegalOperation));
    let endpoint = Reply(scene.timeouts.cptr());
    let other = context.yield_to_timeout(NEVER, Some(endpoint));
    check_eq!(other.map(drop), Err(Error::InvalidCapability(1)));
    let control = test.sched_control.cptr();
    let no_context = invoke(control, label, &[0, 0], &[]).map(drop);
    check_eq!(no_context, Err(Error::IllegalOperation));
    Ok(())
}

fn idling_contexts_are_used_while_their_thread_waits(test: &mut Test) -> Outcome {
    for idling in [false, true] {
        let endpoint: Endpoint = test.create()?;
        let reply: Reply = test.create()?;
        let time = SchedParameters { idling, ..TIME };
        let thread = test.timed(ABOVE, time, move || {
            endpoint.recv(reply);
            note('r');
        })?;
        thread.start()?;
        thread.sched_context.consumed()?;
        work(test.startup, ms(20));
        // Read in the middle, and at the end.
        let used = thread.sched_context.consumed()?;
        work(test.startup, ms(20));
        endpoint.nb_send(Message::empty(0));
        let more = thread.sched_context.consumed()?;
        check_eq!(used >= ms(20), idling);
        check_eq!(more >= ms(20), idling);
    }
    check_eq!(noted(), "rr");
    Ok(())
}

fn time_that_goes_back_idles_no_longer(test: &mut Test) -> Outcome {
    let (first, first_reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let (second, second_reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    test.spawn_passive(ABOVE, move || {
        first.recv(first_reply);
        second.recv(second_reply);
        note('s');
        second.reply_recv(Message::empty(0), second_reply);
    })?;
    let client = test.timed(ABOVE, TIME.idling(), move || {
        first.call(Message::empty(0));
    })?;
    client.start()?;
    // The server waits on the client's context, until the context is returned.
    test.slot(first_reply).delete()?;
    let time = client.sched_context;
    time.unbind_object(client.tcb)?;
    time.consumed()?;
    work(test.startup, ms(20));
    let caller = test.passive(ABOVE, move || {
        second.call(Message::empty(0));
        note('c');
    })?;
    time.bind(caller.tcb)?;
    caller.start()?;
    check_eq!(noted(), "sc");
    check!(time.consumed()? < ms(20));
    Ok(())
}

fn a_thread_that_idled_too_long_times_out_when_it_is_woken(test: &mut Test) -> Outcome {
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let (timeouts, answer): (Endpoint, Reply) = (test.create()?, test.create()?);
    let time = SchedParameters::new(ms(20), NEVER).with_badge(7).idling();
    let thread = test.timed(ABOVE, time, move || {
        let message = endpoint.recv(reply).message.unwrap_or(Message::empty(0));
        check_eq!(message.word(0), 5);
        note('r');
    })?;
    thread.tcb.set_timeout_endpoint(timeouts)?;
    thread.start()?;
    work(test.startup, ms(30));
    check!(timeouts.nb_recv(answer).is_none());
    endpoint.nb_send(Message::new(0, &[5]));
    check_eq!(noted(), "");
    let message = timeouts.recv(answer).message.unwrap_or(Message::empty(0));
    let Fault::Timeout { more, .. } = Fault::from_message(&message) else {
        check!(false, "no timeout");
        return Ok(());
    };
    check!(more.is_some_and(|more| more.blocked && !more.instant));
    // With more budget, it continues with the message that it has received.
    test.sched_control.configure(thread.sched_context, &SLICE)?;
    answer.send(Message::empty(0));
    check_eq!(noted(), "r");
    Ok(())
}
