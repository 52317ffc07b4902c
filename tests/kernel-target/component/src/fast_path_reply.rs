//! Cases in which the fast paths of ReplyRecv are not eligible: a passive server answers, and all but one
//! condition of the fast path holds. The effect must be that of the slow path.

use crate::support::events::{note, noted};
use crate::support::{ABOVE, Outcome, SLICE, Test};
use crate::{check, check_eq};
use abi::WORD_BITS;
use abi::endpoint_flags::TELL_BUDGET;
use userlib::cap::{Endpoint, Notification, Reply, SchedContext};
use userlib::{CPtr, Error, Fault, Message, Rights, Thread, ipc_buffer, syscall};

tests![
    capabilities,
    addresses_with_another_guard,
    notifications,
    without_read,
    other_objects_for_replies,
    senders_that_wait,
    receivers_that_wait,
    thresholds,
    signals,
    nothing_to_answer,
    reply_objects_of_receivers,
    faults,
    callers_with_other_time,
    time_that_is_not_lent,
    time_that_was_lent_before,
    answers_along_a_chain,
    another_ready_thread,
];

fn empty(label: usize) -> Message {
    Message::empty(label)
}

/// A passive server with its client's priority: it receives, does some work and answers by ReplyRecv, and
/// then notes a letter for each message.
struct Server {
    endpoint: Endpoint,
    reply: Reply,
}

impl Server {
    fn new(test: &mut Test) -> Outcome<Self> {
        Ok(Self {
            endpoint: test.create()?,
            reply: test.create()?,
        })
    }

    /// Starts the server, which then waits. `work` is what it does for the first message.
    fn start(&self, test: &mut Test, work: impl FnOnce() + Send + 'static) -> Outcome<Thread> {
        let (endpoint, reply) = (self.endpoint, self.reply);
        Ok(test.spawn_passive(ABOVE, move || {
            endpoint.recv(reply);
            note('s');
            work();
            loop {
                endpoint.reply_recv(empty(0), reply);
                note('t');
            }
        })?)
    }

    /// Starts a server that answers the first message by another ReplyRecv, which must end in a fault.
    /// `source` and `reply` are the endpoint and reply object that it names, and `wrong` is the address in
    /// the fault message.
    fn expect_fault(test: &mut Test, source: CPtr, reply: CPtr, wrong: CPtr) -> Outcome {
        let (endpoint, own): (Endpoint, Reply) = (test.create()?, test.create()?);
        let (faults, answer): (Endpoint, Reply) = (test.create()?, test.create()?);
        let at = |given: CPtr, own: CPtr| if given == CPtr::NULL { own } else { given };
        let (source, reply) = (at(source, endpoint.0), at(reply, own.0));
        let work = move || {
            endpoint.recv(own);
            note('s');
            syscall::reply_recv(source, empty(0), reply);
            note('x');
        };
        test.spawn_passive_with(ABOVE, faults, work)?;
        client(test, endpoint)?;
        let message = faults.nb_recv(answer).and_then(|received| received.message);
        let fault = message.map(|message| Fault::from_message(&message));
        check!(
            matches!(
                fault,
                Some(Fault::Capability { address, receiving: true, .. }) if address == wrong.0
            ),
            "{fault:?}"
        );
        check!(!noted().contains("x"));
        Ok(())
    }
}

/// A thread that calls once, and notes the answer's label as a letter: 0 is `a`.
fn client(test: &mut Test, endpoint: Endpoint) -> Outcome<Thread> {
    let thread = new_client(test, ABOVE, endpoint)?;
    thread.start()?;
    Ok(thread)
}

fn new_client(test: &mut Test, priority: u8, endpoint: Endpoint) -> Outcome<Thread> {
    Ok(test.thread(priority, move || {
        let answer = endpoint.call(empty(0));
        note((b'a' + answer.label() as u8) as char);
    })?)
}

/// Checks that a context is bound to a thread, and unbinds it.
#[track_caller]
fn check_holder(context: SchedContext, holder: Thread) {
    check_eq!(context.unbind_object(holder.tcb), Ok(()));
}

fn capabilities(test: &mut Test) -> Outcome {
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let notification: Notification = test.create()?;
    let badged = test.badge(notification, 6)?;
    let slot = test.empty_slot()?;
    test.spawn_passive(ABOVE, move || {
        endpoint.recv(reply);
        endpoint.reply_recv(empty(0).with_capabilities(&[badged.0]), reply);
    })?;
    test.spawn(ABOVE, move || {
        ipc_buffer::set_receive_slot(slot);
        check_eq!(endpoint.call(empty(0)).capabilities(), 1);
        Notification(CPtr(slot.index)).signal();
    })?;
    check_eq!(notification.poll(), 6);
    Ok(())
}

/// Only for the reply object: the endpoint's address is looked up as for Call.
fn addresses_with_another_guard(test: &mut Test) -> Outcome {
    let reply: Reply = test.create()?;
    let wrong = CPtr(reply.0.0 | 1 << (WORD_BITS - 1));
    Server::expect_fault(test, CPtr::NULL, wrong, wrong)
}

fn notifications(test: &mut Test) -> Outcome {
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let notification: Notification = test.create()?;
    let badged = test.badge(notification, 6)?;
    let server = test.spawn_passive(ABOVE, move || {
        endpoint.recv(reply);
        let received = syscall::reply_recv(notification.0, empty(0), reply.0);
        check_eq!(received.badge, 6);
        note('n');
    })?;
    client(test, endpoint)?;
    check_eq!(noted(), "a");
    let time = test.create_sched_context(&SLICE)?;
    time.bind(server.tcb)?;
    badged.signal();
    check_eq!(noted(), "an");
    Ok(())
}

fn without_read(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let rights = Rights::WRITE.union(Rights::GRANT);
    let weak = test.restrict(endpoint, rights)?;
    Server::expect_fault(test, weak.0, CPtr::NULL, weak.0)
}

fn other_objects_for_replies(test: &mut Test) -> Outcome {
    for badge in [1, 2] {
        let notification: Notification = test.create()?;
        let badged = test.badge(notification, badge)?;
        badged.signal();
        Server::expect_fault(test, CPtr::NULL, badged.0, badged.0)?;
        check_eq!(notification.poll(), badge);
    }
    Ok(())
}

fn senders_that_wait(test: &mut Test) -> Outcome {
    let server = Server::new(test)?;
    let others = [(); 2].map(|()| new_client(test, ABOVE + 1, server.endpoint));
    let [first, second] = others;
    let (first, second) = (first?, second?);
    server.start(test, move || {
        check_eq!(first.start(), Ok(()));
        check_eq!(second.start(), Ok(()));
    })?;
    client(test, server.endpoint)?;
    test.let_others_run()?;
    check_eq!(noted(), "stataa");
    Ok(())
}

fn receivers_that_wait(test: &mut Test) -> Outcome {
    let server = Server::new(test)?;
    let (endpoint, other): (Endpoint, Reply) = (server.endpoint, test.create()?);
    server.start(test, || {})?;
    test.spawn_passive(ABOVE, move || {
        endpoint.recv(other);
        note('o');
        endpoint.reply_recv(empty(0), other);
        note('p');
        other.send(empty(0));
    })?;
    for _ in 0..5 {
        client(test, endpoint)?;
    }
    check_eq!(noted(), "saoatapata");
    Ok(())
}

/// The threshold is set while the server works.
fn thresholds(test: &mut Test) -> Outcome {
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let slot = test.slot(endpoint);
    let least = crate::support::ms(1);
    test.spawn_passive(ABOVE, move || {
        endpoint.recv(reply);
        check_eq!(slot.set_endpoint_threshold(least, TELL_BUDGET), Ok(()));
        let received = endpoint.reply_recv(empty(0), reply);
        check!(received.message.unwrap_or(empty(0)).lent_time() >= least);
        reply.send(empty(0));
    })?;
    client(test, endpoint)?;
    client(test, endpoint)?;
    check_eq!(noted(), "aa");
    Ok(())
}

/// A signal comes while the server works: the server receives it, on the notification's context.
fn signals(test: &mut Test) -> Outcome {
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let notification: Notification = test.create()?;
    let badged = test.badge(notification, 6)?;
    let server = test.spawn_passive(ABOVE, move || {
        endpoint.recv(reply);
        badged.signal();
        let received = endpoint.reply_recv(empty(0), reply);
        check_eq!((received.badge, received.message), (6, None));
        note('n');
        endpoint.recv(reply);
    })?;
    server.tcb.bind_notification(notification)?;
    let time = test.create_sched_context(&SLICE)?;
    time.bind_notification(notification)?;
    client(test, endpoint)?;
    test.let_others_run()?;
    check!(noted() == "an" || noted() == "na", "{:?}", noted());
    Ok(())
}

fn nothing_to_answer(test: &mut Test) -> Outcome {
    let server = Server::new(test)?;
    let (endpoint, reply) = (server.endpoint, server.reply);
    test.spawn(ABOVE, move || {
        endpoint.recv(reply);
        loop {
            note('s');
            endpoint.reply_recv(empty(0), reply);
        }
    })?;
    endpoint.send(empty(0));
    endpoint.send(empty(0));
    client(test, endpoint)?;
    check_eq!(noted(), "sssa");
    Ok(())
}

/// The receiver stops, and the answer has no effect.
fn reply_objects_of_receivers(test: &mut Test) -> Outcome {
    let (endpoint, other): (Endpoint, Endpoint) = (test.create()?, test.create()?);
    let (reply, used): (Reply, Reply) = (test.create()?, test.create()?);
    test.spawn_passive(ABOVE, move || {
        other.recv(used);
        note('x');
    })?;
    test.spawn_passive(ABOVE, move || {
        endpoint.recv(reply);
        endpoint.reply_recv(empty(3), used);
        note('s');
    })?;
    let caller = client(test, endpoint)?;
    other.nb_send(empty(0));
    check_eq!(noted(), "");
    // The caller still waits, for an answer through the other reply object.
    check_eq!(
        caller.sched_context.unbind_object(caller.tcb),
        Err(Error::IllegalOperation)
    );
    reply.send(empty(4));
    check_eq!(noted(), "e");
    check_holder(caller.sched_context, caller);
    Ok(())
}

/// The faulting thread restarts its system call after the handler's reply.
fn faults(test: &mut Test) -> Outcome {
    let server = Server::new(test)?;
    let notification: Notification = test.create()?;
    let badged = test.badge(notification, 6)?;
    let (from, slot) = (test.slot(badged), test.empty_slot()?);
    server.start(test, move || {
        check_eq!(slot.copy_from(from, Rights::ALL), Ok(()));
    })?;
    let faulting = test.thread_with(ABOVE, Some(SLICE), server.endpoint, move || {
        for _ in 0..2 {
            check_eq!(syscall::wait(CPtr(slot.index)).badge, 6);
            note('c');
        }
    })?;
    badged.signal();
    faulting.start()?;
    check_eq!(noted(), "sc");
    Ok(())
}

fn callers_with_other_time(test: &mut Test) -> Outcome {
    let server = Server::new(test)?;
    let caller = new_client(test, ABOVE, server.endpoint)?;
    let other = test.create_sched_context(&SLICE)?;
    let thread = server.start(test, move || {
        check_eq!(other.bind(caller.tcb), Ok(()));
    })?;
    caller.start()?;
    check_eq!(noted(), "sa");
    check_holder(caller.sched_context, thread);
    check_holder(other, caller);
    Ok(())
}

/// The server answers while it runs on its own context; the donated one returns to the caller.
fn time_that_is_not_lent(test: &mut Test) -> Outcome {
    let server = Server::new(test)?;
    let bell: Notification = test.create()?;
    let thread = server.start(test, move || {
        bell.wait();
    })?;
    let caller = client(test, server.endpoint)?;
    check_holder(caller.sched_context, thread);
    let own = test.create_sched_context(&SLICE)?;
    own.bind(thread.tcb)?;
    bell.signal();
    check_eq!(noted(), "sa");
    check_holder(caller.sched_context, caller);
    check_holder(own, thread);
    Ok(())
}

/// The server has kept a caller's context, and answers a caller without one, through the same reply object.
fn time_that_was_lent_before(test: &mut Test) -> Outcome {
    let server = Server::new(test)?;
    let thread = server.start(test, || {})?;
    let first = client(test, server.endpoint)?;
    check_eq!(noted(), "sa");
    let time = first.sched_context;
    time.unbind()?;
    let second = new_client(test, ABOVE, server.endpoint)?;
    time.bind(thread.tcb)?;
    second.start()?;
    check_eq!(noted(), "sata");
    check_holder(second.sched_context, second);
    check_holder(time, thread);
    Ok(())
}

/// The inner server answers the outer caller. The donated context stays with the inner server.
fn answers_along_a_chain(test: &mut Test) -> Outcome {
    let (outer, inner): (Endpoint, Endpoint) = (test.create()?, test.create()?);
    let (reply, own): (Reply, Reply) = (test.create()?, test.create()?);
    let last = test.spawn_passive(ABOVE, move || {
        inner.recv(own);
        note('i');
        inner.reply_recv(empty(3), reply);
        note('x');
    })?;
    test.spawn_passive(ABOVE, move || {
        outer.recv(reply);
        note('o');
        inner.call(empty(0));
        note('y');
    })?;
    let caller = client(test, outer)?;
    check_eq!(noted(), "oi");
    check_holder(caller.sched_context, last);
    caller.sched_context.bind(caller.tcb)?;
    check_eq!(noted(), "oid");
    Ok(())
}

/// The client's priority is below that of a thread that the server makes ready.
fn another_ready_thread(test: &mut Test) -> Outcome {
    let server = Server::new(test)?;
    let between = test.thread(ABOVE - 2, || note('m'))?;
    server.start(test, move || {
        check_eq!(between.start(), Ok(()));
    })?;
    new_client(test, ABOVE - 5, server.endpoint)?.start()?;
    check_eq!(noted(), "sma");
    Ok(())
}
