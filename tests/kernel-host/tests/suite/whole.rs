//! Short histories that go through most of the kernel. `cargo xtask check` runs them in Miri, too, which
//! reports undefined behaviour; so they make few kernel entries.

use abi::fault::FaultLabel;
use abi::{Method, ObjectType, Rights, WORD_BITS, slots};
use host_machine::{Budget, Machine, Message, Spec, State};
use kernel::arch::Irq;

use crate::common::{passive_server, sender, server, word};

#[test]
fn a_call_runs_into_a_timeout_and_is_replied_to() {
    let mut machine = Machine::new();
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    let (timeouts, other) = (machine.endpoint(), machine.reply());
    let handler = server(&mut machine, "handler", 30, timeouts, other);
    let server = passive_server(&mut machine, "server", 20, endpoint, reply);
    let answer = machine.tcb(server, Method::TcbSetTimeoutEndpoint, &[], &[timeouts]);
    assert_eq!(answer, Ok(vec![]));
    let budget = Budget::new(100, 1000).badge(7);
    let client = machine.spawn(Spec::new("client", 10).budget(budget));
    machine.call(client, endpoint, &word(1));
    assert!(machine.runs(server));

    machine.advance(100);
    assert!(machine.runs(handler));
    let received = machine.received(handler);
    assert_eq!(received.label, FaultLabel::Timeout as usize);
    assert_eq!(received.words, [7, 100]);
    machine.reply_recv(handler, timeouts, other, &Message::default());
    machine.advance_until(|machine| machine.runs(server));
    machine.reply_recv(server, endpoint, reply, &word(2));
    assert!(machine.runs(client));
    assert_eq!(machine.received(client).words, [2]);
    assert_eq!(machine.state(server), State::Receiving);
}

#[test]
fn revoked_memory_is_used_again() {
    const BELL: Irq = Irq(0);
    let mut machine = Machine::new();
    let untyped = machine.untyped(14);
    let worker = machine.spawn(Spec::new("worker", 100).active());
    for round in 0..2 {
        let first = machine.slots(5);
        for (slot, (kind, bits)) in (first..).zip([
            (ObjectType::Endpoint, 0),
            (ObjectType::Tcb, 0),
            (ObjectType::SchedContext, 8),
            (ObjectType::Notification, 0),
            (ObjectType::CNode, 3),
        ]) {
            let made = machine.retype(untyped, kind, bits, slot, 1);
            assert_eq!(made, Ok(vec![]), "{kind:?} in round {round}");
        }
        let (endpoint, thread, context, cnode) = (first, first + 1, first + 2, first + 4);
        machine
            .configure(context, Budget::new(1000, 5000))
            .expect("the context is new");
        machine.bind(context, thread).expect("neither is bound");
        let badged = machine.mint(endpoint, Rights::ALL, 5);
        machine
            .copy_into(thread, cnode, 1, 3)
            .expect("the slot is empty");
        let blocked = sender(&mut machine, "sender", 50, badged, &word(1));

        // The revocation is interrupted at its first preemption point.
        machine.kernel.arch.ambush = Some((0, BELL));
        let message = Message::new(Method::CNodeRevoke.number(), &[untyped, WORD_BITS]);
        machine.call(worker, slots::INIT_THREAD_CNODE, &message);
        assert!(machine.runs(machine.root));
        machine.rest();
        assert_eq!(machine.received(worker).label, 0);
        machine.raise(BELL);
        assert_ne!(machine.state(blocked), State::Sending);
        assert!((first..first + 5).all(|slot| machine.is_empty(slot)));
    }
}

#[cfg(feature = "smp")]
#[test]
fn a_server_and_its_clients_are_on_two_cores() {
    use crate::common::make_passive;

    let mut machine = Machine::with_cores(2);
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    machine.rest();
    let active = |name, priority| Spec::new(name, priority).active();
    let server = machine.spawn_on(1, active("server", 200));
    machine.on(1, |machine| machine.recv(server, endpoint, reply));
    make_passive(&mut machine, server);
    let here = machine.spawn_on(0, active("here", 10));
    let there = machine.spawn_on(1, active("there", 10));
    for (core, client) in [(0, here), (1, there)] {
        machine.on(core, |machine| {
            machine.call(client, endpoint, &word(7));
            assert!(machine.runs(server));
            machine.reply_recv(server, endpoint, reply, &word(8));
            assert_eq!(machine.received(client).words, [8]);
        });
    }
    // The thread that runs on the other core is deleted.
    machine.delete(there.tcb);
    assert_eq!(machine.on(1, |machine| machine.running()), "none");
    assert_eq!(machine.on(0, |machine| machine.running()), "here");
}

/// The cores really run at the same time: one waits for the entry lock and answers remote calls while the other uses
/// its kernel.
#[cfg(feature = "smp")]
#[test]
fn a_core_waits_while_another_uses_its_kernel() {
    use abi::Syscall;
    use host_machine::Operands;

    let mut machine = Machine::with_cores(2);
    let there = machine.spawn_on(1, Spec::new("there", 10).active());
    let root = machine.root;
    for (method, words) in [
        (Method::TcbReadRegisters, &[0, 2][..]),
        (Method::TcbSetPriority, &[20]),
        (Method::TcbSuspend, &[]),
        (Method::TcbResume, &[]),
    ] {
        let operands = Operands {
            cap: there.tcb,
            ..Operands::default()
        };
        let message = Message::new(method.number(), words).with_caps(match method {
            Method::TcbSetPriority => &[slots::INIT_THREAD_TCB],
            _ => &[],
        });
        machine.syscall_among_ipis(root, Syscall::Call, operands, &message);
        assert_eq!(machine.received(root).label, 0, "{method:?}");
    }
    assert_eq!(machine.on(1, |machine| machine.running()), "there");
}
