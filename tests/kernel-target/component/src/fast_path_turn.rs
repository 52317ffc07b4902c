//! Cases in which the fast path of a scheduler's turn, `YieldToTimeout` by `NBSendRecv`, is not eligible: a thread of
//! lower priority waits for the reply to its call, and all but one condition holds. The effect must be that of the slow
//! path.

use abi::Method;
use userlib::cap::{Endpoint, Notification, Reply, SchedContext, SchedParameters, YieldTarget};
use userlib::{CPtr, Capability, Fault, Message, Microseconds, Received, Rights, Thread, syscall};

use crate::support::events::{forget, note, noted};
use crate::support::{ABOVE, BELOW, Outcome, SLICE, Test, ms};
use crate::{check, check_eq};

tests![
    turns_and_what_ends_them,
    invocations_that_are_refused,
    other_objects_to_receive_from,
    a_sender_that_waits,
    a_signal,
    a_threshold,
    a_reply_object_in_use,
    another_ready_thread,
    another_timer,
    sporadic_and_idling_contexts,
];

const TIME: SchedParameters = SchedParameters::new(ms(400), ms(1_000_000));
const CALL: usize = 5;
const OTHER: usize = 9;

/// A thread that calls the test again and again, and notes each answer. The test holds its call.
struct Scene {
    thread: Thread,
    calls: Endpoint,
    reply: Reply,
}

fn caller(test: &mut Test, calls: Endpoint, time: SchedParameters, event: char) -> Outcome<Thread> {
    let thread = test.timed(BELOW, time, move || {
        loop {
            calls.call(Message::empty(CALL));
            note(event);
        }
    })?;
    thread.tcb.set_timeout_endpoint(calls)?;
    thread.start()?;
    Ok(thread)
}

fn scene(test: &mut Test) -> Outcome<Scene> {
    let (calls, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let thread = caller(test, calls, TIME, 'a')?;
    check_eq!(label(calls.recv(reply)), CALL);
    Ok(Scene {
        thread,
        calls,
        reply,
    })
}

fn label(received: Received) -> usize {
    received.message.map_or(0, |message| message.label())
}

/// What the thread of a context does.
fn target(context: SchedContext) -> Outcome<YieldTarget> {
    Ok(context.yield_to_timeout(Microseconds(0), None)?.target)
}

/// The arguments of a turn.
struct Turn {
    method: Method,
    time: Option<Microseconds>,
    caps: [Option<CPtr>; 2],
    context: CPtr,
    source: CPtr,
    inbox: CPtr,
}

impl Turn {
    fn take(&self) -> Received {
        let words = self.time.map(Microseconds::words);
        let words = words.as_ref().map_or(&[][..], |words| words);
        let caps = self.caps.map(|cap| cap.unwrap_or(CPtr(0)));
        let count = self.caps.iter().flatten().count();
        let message = Message::new(self.method.number(), words);
        let message = message.with_capabilities(&caps[..count]);
        syscall::nb_send_recv(self.context, message, self.source, self.inbox)
    }
}

impl Scene {
    /// Takes a turn, after `change`.
    fn turn_with(&self, change: impl FnOnce(&mut Turn)) -> Outcome<Received> {
        let context = self.thread.sched_context;
        let now = context.yield_to_timeout(Microseconds(0), None)?.now;
        let mut turn = Turn {
            method: Method::SchedContextYieldToTimeout,
            time: Some(now + ms(5_000)),
            caps: [Some(self.reply.cptr()), None],
            context: context.cptr(),
            source: self.calls.cptr(),
            inbox: self.reply.cptr(),
        };
        change(&mut turn);
        Ok(turn.take())
    }

    fn turn(&self) -> Outcome<usize> {
        Ok(label(self.turn_with(|_| {})?))
    }

    fn next(&self) -> usize {
        label(self.calls.recv(self.reply))
    }
}

fn turns_and_what_ends_them(test: &mut Test) -> Outcome {
    let scene = scene(test)?;
    for _ in 0..3 {
        check_eq!(scene.turn()?, CALL);
    }
    check_eq!(noted(), "aaa");
    forget();
    // Time in the past: the thread does not run, and continues after the next turn.
    let received = scene.turn_with(|turn| turn.time = Some(Microseconds(1)))?;
    let fault = Fault::from_message(&received.message.unwrap_or(Message::empty(0)));
    check!(matches!(fault, Fault::Timeout { .. }), "{fault:?}");
    check_eq!(noted(), "");
    check_eq!(scene.turn()?, CALL);
    check_eq!(noted(), "a");
    Ok(())
}

/// The thread's call is still held.
fn refused(test: &mut Test, scene: &Scene, change: impl FnOnce(&mut Turn)) -> Outcome {
    let (calls, inbox): (Endpoint, Reply) = (scene.calls, test.create()?);
    test.spawn(BELOW, move || calls.send(Message::empty(OTHER)))?;
    let received = scene.turn_with(|turn| {
        turn.inbox = inbox.cptr();
        change(turn);
    })?;
    check_eq!(label(received), OTHER);
    check_eq!(noted(), "");
    check_eq!(target(scene.thread.sched_context)?, YieldTarget::Blocked);
    Ok(())
}

fn invocations_that_are_refused(test: &mut Test) -> Outcome {
    let scene = scene(test)?;
    let empty: Reply = test.create()?;
    let other = test.create_sched_context(&SLICE)?;
    let thread = scene.thread.tcb.cptr();
    refused(test, &scene, |turn| {
        turn.method = Method::SchedContextConsumed;
    })?;
    refused(test, &scene, |turn| turn.time = None)?;
    refused(test, &scene, |turn| {
        turn.time = Some(Microseconds(u64::MAX))
    })?;
    refused(test, &scene, |turn| turn.caps[0] = Some(empty.cptr()))?;
    refused(test, &scene, |turn| turn.caps[0] = Some(thread))?;
    refused(test, &scene, |turn| {
        turn.caps[1] = Some(CPtr(usize::MAX));
    })?;
    refused(test, &scene, |turn| turn.caps[0] = None)?;
    refused(test, &scene, |turn| turn.context = thread)?;
    refused(test, &scene, |turn| turn.context = other.cptr())?;
    check_eq!(scene.turn()?, CALL);
    check_eq!(noted(), "a");
    Ok(())
}

/// The thread runs, and the test faults in its receive phase.
fn other_objects_to_receive_from(test: &mut Test) -> Outcome {
    for has_endpoint in [true, false] {
        forget();
        let scene = scene(test)?;
        let source = match has_endpoint {
            true => test.restrict(scene.calls, Rights::WRITE)?.cptr(),
            false => scene.reply.cptr(),
        };
        let fault = test.fault_of(move || {
            let _ = scene.turn_with(|turn| turn.source = source);
        })?;
        check!(
            matches!(
                fault,
                Fault::Capability {
                    receiving: true,
                    ..
                }
            ),
            "{fault:?}"
        );
        test.let_others_run()?;
        check_eq!(noted(), "a");
    }
    Ok(())
}

fn a_sender_that_waits(test: &mut Test) -> Outcome {
    let scene = scene(test)?;
    let calls = scene.calls;
    test.spawn(ABOVE, move || calls.send(Message::empty(OTHER)))?;
    check_eq!(scene.turn()?, OTHER);
    check_eq!(noted(), "");
    check_eq!(scene.next(), CALL);
    check_eq!(noted(), "a");
    Ok(())
}

fn a_signal(test: &mut Test) -> Outcome {
    let scene = scene(test)?;
    let bell: Notification = test.create()?;
    let badged = test.badge(bell, 6)?;
    test.tcb.bind_notification(bell)?;
    badged.signal();
    let received = scene.turn_with(|_| {})?;
    test.tcb.unbind_notification()?;
    check_eq!((received.badge, received.message), (6, None));
    check_eq!(noted(), "");
    check_eq!(scene.next(), CALL);
    check_eq!(noted(), "a");
    Ok(())
}

fn a_threshold(test: &mut Test) -> Outcome {
    let scene = scene(test)?;
    let slot = test.slot(scene.calls);
    slot.set_endpoint_threshold(ms(1), 0)?;
    check_eq!(scene.turn()?, CALL);
    check_eq!(noted(), "a");
    Ok(())
}

/// The call that it tracked is cancelled.
fn a_reply_object_in_use(test: &mut Test) -> Outcome {
    let scene = scene(test)?;
    let reply: Reply = test.create()?;
    let other = caller(test, scene.calls, TIME, 'b')?;
    check_eq!(label(scene.calls.recv(reply)), CALL);
    check_eq!(target(other.sched_context)?, YieldTarget::Blocked);
    let received = scene.turn_with(|turn| turn.inbox = reply.cptr())?;
    check_eq!(label(received), CALL);
    check_eq!(noted(), "a");
    check_eq!(target(other.sched_context)?, YieldTarget::Stopped);
    Ok(())
}

fn another_ready_thread(test: &mut Test) -> Outcome {
    let scene = scene(test)?;
    test.spawn(BELOW + 1, || note('m'))?;
    check_eq!(scene.turn()?, CALL);
    check_eq!(noted(), "ma");
    Ok(())
}

/// A thread has set the timer of the context: it ends with the turn.
fn another_timer(test: &mut Test) -> Outcome {
    let scene = scene(test)?;
    let context = scene.thread.sched_context;
    scene.reply.send(Message::empty(0));
    test.spawn(ABOVE, move || {
        let now = context.yield_to_timeout(Microseconds(0), None);
        let now = now.map_or(ms(0), |answer| answer.now);
        check!(context.yield_to_timeout(now + ms(20), None).is_ok());
        note('t');
    })?;
    check_eq!(scene.next(), CALL);
    check_eq!(scene.turn()?, CALL);
    check_eq!(noted(), "taa");
    Ok(())
}

fn sporadic_and_idling_contexts(test: &mut Test) -> Outcome {
    let scene = scene(test)?;
    for (sporadic, idling) in [(true, false), (true, true), (false, true)] {
        let time = SchedParameters {
            sporadic,
            idling,
            ..TIME
        };
        let control = test.sched_control;
        control.configure(scene.thread.sched_context, &time)?;
        forget();
        check_eq!(scene.turn()?, CALL);
        check_eq!(noted(), "a");
    }
    Ok(())
}
