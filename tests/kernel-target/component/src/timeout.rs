//! Timeout faults: which handler gets the message when a budget is exhausted, and the effect of its reply.

use crate::support::events::{note, noted};
use crate::support::{ABOVE, BELOW, Outcome, SLICE, Test, ms, spin, work};
use crate::{check, check_eq};
use abi::Method;
use abi::fault::{FaultLabel, TIMEOUT_LENGTH};
use userlib::cap::{Endpoint, Notification, Registers, Reply, SchedParameters, Tcb};
use userlib::invoke::invoke;
use userlib::{CPtr, Error, Fault, Message, Microseconds, Rights, Thread};

tests![
    handlers_must_be_endpoints,
    handlers_need_rights,
    the_message_names_the_context_and_its_consumption,
    the_message_resets_what_was_consumed,
    without_context_there_is_only_the_badge,
    time_and_an_answer_let_it_go_on,
    an_answer_with_registers_starts_over,
    another_label_stops_the_thread,
    without_handler_there_is_no_fault,
    a_handler_taken_away_hears_nothing,
    round_robin_has_no_timeouts,
    a_server_is_reset_and_its_client_told,
];

/// A period longer than any test.
const NEVER: Microseconds = ms(1_000_000);
/// Long enough that a thread gets to its work, even on a busy host.
const BUDGET: Microseconds = ms(30);
/// A budget that is soon exhausted, and replenished only after the test.
const SHORT: SchedParameters = SchedParameters::new(BUDGET, NEVER).with_badge(77);

/// A thread below the test that reports its timeouts to the test.
struct Scene {
    thread: Thread,
    endpoint: Endpoint,
    reply: Reply,
}

impl Scene {
    fn message(&self) -> Message {
        self.endpoint
            .recv(self.reply)
            .message
            .unwrap_or(Message::empty(0))
    }

    fn fault(&self) -> Fault {
        Fault::from_message(&self.message())
    }

    /// Receives the fault, which must have happened.
    fn expect_timeout(&self) {
        let fault = self.fault();
        check!(matches!(fault, Fault::Timeout { badge: 77, .. }));
    }
}

fn scene(test: &mut Test, work: impl FnOnce() + Send + 'static) -> Outcome<Scene> {
    let endpoint: Endpoint = test.create()?;
    let reply: Reply = test.create()?;
    let thread = test.timed(BELOW, SHORT, work)?;
    thread.tcb.set_timeout_endpoint(endpoint)?;
    Ok(Scene {
        thread,
        endpoint,
        reply,
    })
}

/// A thread that has started and uses up its budget.
fn busy(test: &mut Test) -> Outcome<Scene> {
    let scene = scene(test, || {
        note('a');
        spin()
    })?;
    scene.thread.start()?;
    Ok(scene)
}

fn handlers_must_be_endpoints(test: &mut Test) -> Outcome {
    let tcb: Tcb = test.create()?;
    let notification: Notification = test.create()?;
    let invalid = Err(Error::InvalidCapability(1));
    for no_endpoint in [notification.0, tcb.0, test.vspace.0] {
        check_eq!(tcb.set_timeout_endpoint(no_endpoint), invalid);
    }
    check_eq!(tcb.set_timeout_endpoint(CPtr::NULL), Ok(()));
    let label = Method::TcbSetTimeoutEndpoint.number();
    check_eq!(
        invoke(tcb.0, label, &[], &[]).map(drop),
        Err(Error::TruncatedMessage)
    );
    Ok(())
}

fn handlers_need_rights(test: &mut Test) -> Outcome {
    let tcb: Tcb = test.create()?;
    let endpoint: Endpoint = test.create()?;
    for word in 0..16 {
        let rights = Rights::from_word(word);
        let good = rights.contains(Rights::WRITE)
            && (rights.contains(Rights::GRANT) || rights.contains(Rights::GRANT_REPLY));
        let copy = test.restrict(endpoint, rights)?;
        let result = tcb.set_timeout_endpoint(copy);
        check_eq!(result.is_ok(), good);
    }
    Ok(())
}

fn the_message_names_the_context_and_its_consumption(test: &mut Test) -> Outcome {
    let scene = busy(test)?;
    let badged = test.badge(scene.endpoint, 5)?;
    scene.thread.tcb.set_timeout_endpoint(badged)?;
    let received = scene.endpoint.recv(scene.reply);
    check_eq!(received.badge, 5);
    let message = received.message.unwrap_or(Message::empty(0));
    check_eq!(message.label(), FaultLabel::Timeout as usize);
    check_eq!(message.length(), TIMEOUT_LENGTH);
    check_eq!(message.word(0), 77);
    let Fault::Timeout { consumed, .. } = Fault::from_message(&message) else {
        return Ok(());
    };
    // Less than the smallest budget may remain.
    check!(consumed + Microseconds(20) >= BUDGET, "{consumed}");
    check_eq!(noted(), "a");
    Ok(())
}

fn the_message_resets_what_was_consumed(test: &mut Test) -> Outcome {
    let scene = busy(test)?;
    scene.expect_timeout();
    check_eq!(scene.thread.sched_context.consumed(), Ok(ms(0)));
    Ok(())
}

fn without_context_there_is_only_the_badge(test: &mut Test) -> Outcome {
    let scene = busy(test)?;
    test.let_others_run()?;
    scene.thread.sched_context.unbind()?;
    let message = scene.message();
    check_eq!(message.label(), FaultLabel::Timeout as usize);
    check_eq!((message.length(), message.word(0)), (1, 77));
    Ok(())
}

fn time_and_an_answer_let_it_go_on(test: &mut Test) -> Outcome {
    let scene = busy(test)?;
    let context = scene.thread.sched_context;
    for badge in 1..4 {
        scene.fault();
        test.sched_control
            .configure(context, &SHORT.with_badge(badge))?;
        scene.reply.send(Message::empty(0));
        let fault = scene.fault();
        check!(matches!(fault, Fault::Timeout { badge: told, .. } if told == badge));
        test.sched_control.configure(context, &SHORT)?;
        scene.reply.send(Message::empty(0));
    }
    check_eq!(noted(), "a");
    Ok(())
}

fn an_answer_with_registers_starts_over(test: &mut Test) -> Outcome {
    let scene = scene(test, || {
        note('a');
        spin()
    })?;
    let start = scene.thread.tcb.read_registers(false)?;
    scene.thread.start()?;
    for times in ["a", "aa", "aaa"] {
        scene.expect_timeout();
        check_eq!(noted(), times);
        test.sched_control
            .configure(scene.thread.sched_context, &SHORT)?;
        scene.reply.send(start.timeout_reply());
    }
    Ok(())
}

fn another_label_stops_the_thread(test: &mut Test) -> Outcome {
    let scene = scene(test, || {
        note('a');
        spin()
    })?;
    let start = scene.thread.tcb.read_registers(false)?;
    scene.thread.start()?;
    scene.expect_timeout();
    test.sched_control
        .configure(scene.thread.sched_context, &SHORT)?;
    let reply = start.timeout_reply();
    let info = abi::MessageInfo::new(1, 0, reply.length());
    scene.reply.send(Message { info, ..reply });
    test.let_others_run()?;
    check_eq!(noted(), "a");
    check!(scene.endpoint.nb_recv(scene.reply).is_none());
    // The registers are written all the same.
    scene.thread.start()?;
    scene.expect_timeout();
    check_eq!(noted(), "aa");
    Ok(())
}

/// Work that takes longer than a budget, and a letter.
fn long_work(test: &Test, letter: char) -> impl FnOnce() + Send + 'static {
    let startup = test.startup;
    move || {
        work(startup, ms(30));
        note(letter);
    }
}

fn without_handler_there_is_no_fault(test: &mut Test) -> Outcome {
    let work = long_work(test, 'a');
    let thread = test.timed(BELOW, SchedParameters::new(ms(4), ms(10)), work)?;
    thread.start()?;
    while noted() != "a" {
        test.sleep(ms(10))?;
    }
    Ok(())
}

fn a_handler_taken_away_hears_nothing(test: &mut Test) -> Outcome {
    let scene = busy(test)?;
    scene.thread.tcb.set_timeout_endpoint(CPtr::NULL)?;
    test.let_others_run()?;
    check_eq!(noted(), "a");
    check!(scene.endpoint.nb_recv(scene.reply).is_none());
    Ok(())
}

fn round_robin_has_no_timeouts(test: &mut Test) -> Outcome {
    let work = long_work(test, 'a');
    let scene = scene(test, work)?;
    test.sched_control.configure(
        scene.thread.sched_context,
        &SchedParameters::round_robin(ms(2)),
    )?;
    scene.thread.start()?;
    test.let_others_run()?;
    check_eq!(noted(), "a");
    check!(scene.endpoint.nb_recv(scene.reply).is_none());
    Ok(())
}

/// A passive server below the test that reports its timeouts to the test.
struct Server {
    thread: Thread,
    start: Registers,
    endpoint: Endpoint,
    reply: Reply,
}

fn server(test: &mut Test, timeouts: Endpoint) -> Outcome<Server> {
    let endpoint: Endpoint = test.create()?;
    let reply: Reply = test.create()?;
    let thread = test.passive(BELOW, move || {
        endpoint.recv(reply);
        spin()
    })?;
    thread.tcb.set_timeout_endpoint(timeouts)?;
    let start = thread.tcb.read_registers(false)?;
    thread.start()?;
    let server = Server {
        thread,
        start,
        endpoint,
        reply,
    };
    server.let_wait(test)?;
    Ok(server)
}

impl Server {
    /// Gives the server a scheduling context until it waits.
    fn let_wait(&self, test: &mut Test) -> Outcome {
        let time = test.create_sched_context(&SLICE)?;
        time.bind(self.thread.tcb)?;
        test.let_others_run()?;
        time.unbind_object(self.thread.tcb)?;
        test.delete(time)?;
        Ok(())
    }
}

/// A client above the test that calls and notes the label of the answer.
fn client(test: &mut Test, endpoint: Endpoint) -> Outcome<Thread> {
    let thread = test.timed(ABOVE, SHORT, move || {
        let answer = endpoint.call(Message::empty(0));
        note((b'a' + answer.label() as u8) as char);
    })?;
    thread.start()?;
    Ok(thread)
}

fn a_server_is_reset_and_its_client_told(test: &mut Test) -> Outcome {
    let (timeouts, fault): (Endpoint, Reply) = (test.create()?, test.create()?);
    let server = server(test, timeouts)?;
    for told in ["d", "dd"] {
        let client = client(test, server.endpoint)?;
        let message = timeouts.recv(fault).message.unwrap_or(Message::empty(0));
        // The server has exhausted the client's budget.
        check!(matches!(
            Fault::from_message(&message),
            Fault::Timeout { badge: 77, .. }
        ));
        test.sched_control
            .configure(client.sched_context, &SchedParameters::new(ms(5000), NEVER))?;
        server.reply.send(Message::empty(3));
        check_eq!(noted(), told);
        fault.send(server.start.timeout_reply());
        server.let_wait(test)?;
    }
    Ok(())
}
