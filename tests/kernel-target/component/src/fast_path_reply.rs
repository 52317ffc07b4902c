//! Cases in which the fast paths of ReplyRecv are not eligible: a passive server answers, and all but one
//! condition of the fast path holds. The effect must be that of the slow path.

use crate::fast_path_call::check_holder;
use crate::support::arch::{fill_fpu, fpu_holds};
use crate::support::events::{forget, note, noted};
use crate::support::{ABOVE, Elsewhere, Outcome, SLICE, Test, ms};
use crate::{check, check_eq};
use abi::endpoint_flags::TELL_BUDGET;
use abi::thread_flags::FPU_DISABLED;
use abi::{Syscall, WORD_BITS};
use userlib::cap::{CNode, Endpoint, Notification, Reply, VSpace};
use userlib::{
    CPtr, Capability, Error, Fault, Message, Microseconds, Rights, Thread, ipc_buffer, syscall,
};

tests![
    capabilities,
    addresses_with_another_guard,
    spaces_of_several_levels,
    no_space,
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
    another_address_space,
    an_address_space_without_its_identifier,
    another_address_space_without_an_identifier,
    clients_without_floating_point,
    servers_without_floating_point,
];

pub(crate) fn empty(label: usize) -> Message {
    Message::empty(label)
}

/// A passive server with its client's priority: it receives, does some work and answers by ReplyRecv, and
/// then notes a letter for each message.
pub(crate) struct Server {
    pub(crate) endpoint: Endpoint,
    reply: Reply,
}

impl Server {
    pub(crate) fn new(test: &mut Test) -> Outcome<Self> {
        Ok(Self {
            endpoint: test.create()?,
            reply: test.create()?,
        })
    }

    /// Starts the server, which then waits. `work` is what it does for the first message.
    pub(crate) fn start(
        &self,
        test: &mut Test,
        work: impl FnOnce() + Send + 'static,
    ) -> Outcome<Thread> {
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

    /// Starts a server that answers the first message by another ReplyRecv, which must end in a fault. `how`
    /// gets its endpoint and reply object.
    fn expect_fault(
        test: &mut Test,
        how: impl FnOnce(&mut Test, Endpoint, Reply) -> Outcome<Wrong>,
    ) -> Outcome {
        let (endpoint, own): (Endpoint, Reply) = (test.create()?, test.create()?);
        let (faults, answer): (Endpoint, Reply) = (test.create()?, test.create()?);
        let wrong = how(test, endpoint, own)?;
        let (source, reply) = (wrong.source, wrong.reply);
        let work = move || {
            endpoint.recv(own);
            note('s');
            syscall::reply_recv(source, empty(0), reply);
            note('x');
        };
        let server = test.spawn_passive_with(ABOVE, faults, work)?;
        if let Some(root) = wrong.root {
            server.tcb.set_space(faults, root, 0, test.vspace)?;
            if wrong.is_root_deleted {
                test.slot(root).revoke()?;
            }
        }
        client(test, endpoint)?;
        let message = faults.nb_recv(answer).and_then(|received| received.message);
        let fault = message.map(|message| Fault::from_message(&message));
        check!(
            matches!(
                fault,
                Some(Fault::Capability { address, receiving: true, .. }) if address == wrong.address.0
            ),
            "{fault:?}"
        );
        check!(!noted().contains("x"));
        Ok(())
    }
}

/// A wrong ReplyRecv.
struct Wrong {
    /// The named endpoint and reply object.
    source: CPtr,
    reply: CPtr,
    /// The address in the fault message.
    address: CPtr,
    /// The server's CSpace, if not that of the test.
    root: Option<CNode>,
    is_root_deleted: bool,
}

impl Wrong {
    fn source(source: impl Capability, reply: Reply) -> Self {
        Self {
            source: source.cptr(),
            reply: reply.0,
            address: source.cptr(),
            root: None,
            is_root_deleted: false,
        }
    }

    fn reply(endpoint: Endpoint, reply: impl Capability) -> Self {
        Self {
            source: endpoint.0,
            reply: reply.cptr(),
            address: reply.cptr(),
            root: None,
            is_root_deleted: false,
        }
    }
}

/// A thread that calls once, and notes the answer's label as a letter: 0 is `a`.
pub(crate) fn client(test: &mut Test, endpoint: Endpoint) -> Outcome<Thread> {
    let thread = new_client(test, ABOVE, endpoint)?;
    thread.start()?;
    Ok(thread)
}

pub(crate) fn new_client(test: &mut Test, priority: u8, endpoint: Endpoint) -> Outcome<Thread> {
    Ok(test.thread(priority, move || {
        let answer = endpoint.call(empty(0));
        note((b'a' + answer.label() as u8) as char);
    })?)
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

fn addresses_with_another_guard(test: &mut Test) -> Outcome {
    let with_guard = |cap: CPtr| CPtr(cap.0 | 1 << (WORD_BITS - 1));
    Server::expect_fault(test, |_, endpoint, reply| {
        Ok(Wrong::source(with_guard(endpoint.0), reply))
    })?;
    Server::expect_fault(test, |_, endpoint, reply| {
        Ok(Wrong::reply(endpoint, with_guard(reply.0)))
    })
}

/// The table's four bits are the first of an address, and the other bits are left over: both addresses are
/// those of an endpoint.
fn spaces_of_several_levels(test: &mut Test) -> Outcome {
    let far: Endpoint = test.create()?;
    let table: CNode = test.create_sized(4)?;
    Server::expect_fault(test, |test, endpoint, reply| {
        for (index, cap) in [(0, far.0), (5, endpoint.0), (7, reply.0)] {
            let slot = table.slot_of_table(index, 4);
            slot.copy_from(test.slot(cap), Rights::ALL)?;
        }
        Ok(Wrong {
            root: Some(table),
            ..Wrong::reply(Endpoint(CPtr(5)), CPtr(7))
        })
    })
}

fn no_space(test: &mut Test) -> Outcome {
    for address in [CPtr(0), CPtr(7)] {
        let root: CNode = test.create_sized(4)?;
        Server::expect_fault(test, |_, _, _| {
            Ok(Wrong {
                root: Some(root),
                is_root_deleted: true,
                ..Wrong::reply(Endpoint(address), address)
            })
        })?;
    }
    Ok(())
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
    Server::expect_fault(test, |_, _, reply| Ok(Wrong::source(weak, reply)))
}

fn other_objects_for_replies(test: &mut Test) -> Outcome {
    for badge in [1, 2] {
        let notification: Notification = test.create()?;
        let badged = test.badge(notification, badge)?;
        badged.signal();
        Server::expect_fault(test, |test, endpoint, _| {
            if badge == 2 {
                test.slot(endpoint).set_endpoint_threshold(ms(1), 0)?;
            }
            Ok(Wrong::reply(endpoint, badged))
        })?;
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
    let least = ms(1);
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
    for threshold in [ms(0), ms(1)] {
        forget();
        signal_behind(test, threshold)?;
    }
    Ok(())
}

fn signal_behind(test: &mut Test, threshold: Microseconds) -> Outcome {
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    test.slot(endpoint).set_endpoint_threshold(threshold, 0)?;
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

/// The client gets another address space while it waits for the answer.
fn another_address_space(test: &mut Test) -> Outcome {
    let server = Server::new(test)?;
    let (faults, answer): (Endpoint, Reply) = (test.create()?, test.create()?);
    let empty_space: VSpace = test.create()?;
    test.asid_pool.assign(empty_space)?;
    let (endpoint, cnode) = (server.endpoint, test.allocator.cnode());
    let caller = test.thread_with(ABOVE, Some(SLICE), faults, move || {
        endpoint.call(empty(0));
        note('x');
    })?;
    server.start(test, move || {
        let result = caller.tcb.set_space(faults, cnode, 0, empty_space);
        check_eq!(result, Ok(()));
    })?;
    caller.start()?;
    let message = faults.nb_recv(answer).and_then(|received| received.message);
    let fault = message.map(|message| Fault::from_message(&message));
    check!(matches!(fault, Some(Fault::Memory { .. })), "{fault:?}");
    check_eq!(noted(), "s");
    Ok(())
}

/// The client's address space loses its identifier while the client waits for the answer.
fn an_address_space_without_its_identifier(test: &mut Test) -> Outcome {
    let server = Server::new(test)?;
    let pool = test.empty_slot()?;
    server.start(test, move || check_eq!(pool.delete(), Ok(())))?;
    let client = Elsewhere::new(test, pool, Syscall::Call, server.endpoint.0, CPtr::NULL)?;
    client.start(test)?;
    client.check_fault(test)?;
    check_eq!(noted(), "s");
    Ok(())
}

/// The client gets an address space that had already lost its identifier when the client last ran.
fn another_address_space_without_an_identifier(test: &mut Test) -> Outcome {
    let server = Server::new(test)?;
    let (lost, cnode) = (Elsewhere::lost_space(test)?, test.allocator.cnode());
    let (pool, endpoint) = (test.empty_slot()?, server.endpoint.0);
    let client = Elsewhere::new(test, pool, Syscall::Call, endpoint, CPtr::NULL)?;
    let (tcb, faults) = (client.tcb, client.faults);
    server.start(test, move || {
        check_eq!(tcb.set_space(faults, cnode, 0, lost), Ok(()));
    })?;
    client.start(test)?;
    client.check_fault(test)?;
    check_eq!(noted(), "s");
    Ok(())
}

fn clients_without_floating_point(test: &mut Test) -> Outcome {
    let server = Server::new(test)?;
    let (faults, answer): (Endpoint, Reply) = (test.create()?, test.create()?);
    server.start(test, || fill_fpu(7))?;
    let endpoint = server.endpoint;
    let caller = test.thread_with(ABOVE, Some(SLICE), faults, move || {
        endpoint.call(empty(0));
        note('c');
        fill_fpu(3);
        note('x');
    })?;
    caller.tcb.set_flags(0, FPU_DISABLED)?;
    caller.start()?;
    check_eq!(noted(), "sc");
    check!(faults.nb_recv(answer).is_some());
    Ok(())
}

fn servers_without_floating_point(test: &mut Test) -> Outcome {
    let server = Server::new(test)?;
    let thread = server.start(test, || {})?;
    thread.tcb.set_flags(0, FPU_DISABLED)?;
    let endpoint = server.endpoint;
    let caller = test.thread(ABOVE, move || {
        fill_fpu(7);
        endpoint.call(empty(0));
        check!(fpu_holds(7));
        note('c');
    })?;
    fill_fpu(5);
    caller.start()?;
    check!(fpu_holds(5));
    check_eq!(noted(), "sc");
    Ok(())
}
