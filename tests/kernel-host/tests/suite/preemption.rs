//! Long operations can be preempted at every preemption point and continue, whatever happens
//! meanwhile.

use abi::{Method, ObjectType, Rights, WORD_BITS, slots};
use host_machine::{Budget, CPtr, Machine, Message, Spec, State, Task};
use kernel::arch::Irq;
use kernel::cap::Cap;
use kernel::invoke::Error;
use kernel::object::Progress;

use crate::common::{sender, server, waiter, word};

const ROOT: CPtr = slots::INIT_THREAD_CNODE;
/// The line that wakes the root task.
const BELL: Irq = Irq(0);

/// Lets `task` make a call and interrupts it at preemption point `looks`. Returns whether the
/// operation got that far; if so, the root task runs.
fn interrupted(
    machine: &mut Machine,
    task: Task,
    cap: CPtr,
    message: &Message,
    looks: usize,
) -> bool {
    machine.kernel.arch.ambush = Some((looks, BELL));
    machine.call(task, cap, message);
    machine.kernel.arch.ambush = None;
    machine.runs(machine.root)
}

/// Runs a scene with an interrupt at each preemption point, until the operation completes without
/// one.
fn at_every_point(mut scene: impl FnMut(usize) -> bool) {
    let mut points = 0;
    while scene(points) {
        points += 1;
        assert!(points < 1000, "the operation never completes");
    }
    assert!(points > 2, "it was never interrupted");
}

fn retype(untyped: CPtr, slot: CPtr, count: usize) -> (CPtr, Message) {
    let words = [ObjectType::Endpoint.number(), 0, 0, 0, slot, count];
    let message = Message::new(Method::UntypedRetype.number(), &words).with_caps(&[ROOT]);
    (untyped, message)
}

fn endpoints(machine: &Machine, slot: CPtr, count: usize) -> Vec<usize> {
    let address = |slot| match machine.cap(slot) {
        Cap::Endpoint(cap) => Some(cap.object.address()),
        _ => None,
    };
    (slot..slot + count).map_while(address).collect()
}

#[test]
fn many_objects_are_made_a_few_at_a_time() {
    at_every_point(|looks| {
        let mut machine = Machine::new();
        let (memory, slot) = (machine.untyped(12), machine.slots(5));
        let worker = machine.spawn(Spec::new("worker", 10).active());
        machine.rest();
        let (cap, message) = retype(memory, slot, 5);
        let stopped = interrupted(&mut machine, worker, cap, &message, looks);
        if stopped {
            assert!(endpoints(&machine, slot, 5).len() < 5);
            machine.rest();
        }
        assert!(machine.runs(worker));
        assert_eq!(machine.received(worker).label, 0);
        let made = endpoints(&machine, slot, 5);
        assert_eq!(made.len(), 5);
        assert!(
            made.windows(2).all(|pair| pair[1] == pair[0] + 16),
            "the objects are adjacent"
        );
        stopped
    });
}

#[test]
fn a_second_interruption_keeps_the_progress() {
    for (first, second) in (0..16).flat_map(|first| (0..8).map(move |second| (first, second))) {
        let mut machine = Machine::new();
        let (memory, slot) = (machine.untyped(12), machine.slots(5));
        let worker = machine.spawn(Spec::new("worker", 10).active());
        machine.rest();
        let (cap, message) = retype(memory, slot, 5);
        if !interrupted(&mut machine, worker, cap, &message, first) {
            continue;
        }
        machine.kernel.arch.ambush = Some((second, BELL));
        let_run(&mut machine);
        machine.kernel.arch.ambush = None;
        let_run(&mut machine);
        assert!(machine.runs(worker));
        assert_eq!(
            machine.received(worker).label,
            0,
            "after {first} and {second} preemption points"
        );
        assert_eq!(endpoints(&machine, slot, 5).len(), 5);
    }
}

#[test]
fn what_was_made_before_an_interruption_may_be_taken_away() {
    let mut machine = Machine::new();
    let (memory, slot) = (machine.untyped(12), machine.slots(5));
    let worker = machine.spawn(Spec::new("worker", 10).active());
    machine.rest();
    let (cap, message) = retype(memory, slot, 5);
    let looks = (0..40).find(|looks| {
        let stopped = interrupted(&mut machine, worker, cap, &message, *looks);
        let done = endpoints(&machine, slot, 5).len();
        // Everything made so far is revoked, and the memory is cleared again for the remaining
        // objects.
        machine.revoke(memory);
        machine.rest();
        assert!(stopped && machine.runs(worker));
        assert_eq!(machine.received(worker).label, 0);
        let made: Vec<bool> = (slot..slot + 5)
            .map(|slot| !machine.is_empty(slot))
            .collect();
        let expected: Vec<bool> = (0..5).map(|index| index >= done).collect();
        assert_eq!(made, expected);
        machine.revoke(memory);
        done > 1
    });
    assert!(looks.is_some(), "it was interrupted between two objects");
}

#[test]
fn a_thread_with_new_registers_has_nothing_to_go_on_with() {
    let mut machine = Machine::new();
    let (memory, slot) = (machine.untyped(12), machine.slots(5));
    let worker = machine.spawn(Spec::new("worker", 10).active());
    machine.rest();
    let (cap, message) = retype(memory, slot, 5);
    for looks in 0..40 {
        let stopped = interrupted(&mut machine, worker, cap, &message, looks);
        assert!(stopped);
        let done = endpoints(&machine, slot, 5).len();
        let answer = machine.tcb(worker, Method::TcbWriteRegisters, &[0, 1, 0x4000], &[]);
        assert_eq!(answer, Ok(vec![]));
        machine.rest();
        assert!(machine.runs(worker));
        assert_eq!(endpoints(&machine, slot, 5).len(), done);
        // The same call now starts from the beginning.
        let (_, again) = retype(memory, slot, 5);
        machine.call(worker, cap, &again);
        let label = machine.received(worker).label;
        assert_eq!(label != 0, done > 0, "its slots are not empty");
        if done > 1 {
            return;
        }
        machine.revoke(memory);
    }
    panic!("it was never interrupted between two objects");
}

/// On the fast path and on the slow one: cache maintenance fails if its range is unmapped while it is preempted.
#[test]
fn a_thread_whose_operation_fails_has_nothing_to_go_on_with() {
    let mut machine = Machine::new();
    let frame = machine.create(ObjectType::X86Page4K, 0);
    let worker = machine.spawn(Spec::new("worker", 10).active());
    machine.rest();
    for cap in [frame, ROOT] {
        machine.kernel[worker.thread].progress = Progress::Range { next: 1 };
        machine.call(worker, cap, &Message::new(Method::X86PageMap.number(), &[]));
        assert_ne!(machine.received(worker).label, 0);
        let progress = &machine.kernel[worker.thread].progress;
        assert!(matches!(progress, Progress::None));
    }
}

/// What happens while a thread is preempted during the cancellation of sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meanwhile {
    Nothing,
    /// A sender with the cancelled badge moves to the front of the wait queue.
    Raised,
    /// Another such sender moves to the end of the wait queue.
    Lowered,
    /// A sender leaves the wait queue.
    Suspended(usize),
    /// A sender is received from.
    Served,
    /// Another thread cancels sends of another badge at the same endpoint.
    Another,
    /// Another thread begins to send, with the cancelled badge.
    NewSender,
    /// The endpoint is deleted.
    Deleted,
}

const BADGES: [usize; 8] = [0, 1, 0, 0, 1, 0, 2, 0];
const PRIORITIES: [u8; 8] = [10, 30, 20, 30, 10, 20, 20, 30];

/// Queues senders with the badges 7, 8 and 9, and cancels those with 7.
fn cancel(meanwhile: Meanwhile, looks: usize) -> bool {
    let mut machine = Machine::with_memory(21);
    let endpoint = machine.endpoint();
    let badged = [7, 8, 9].map(|badge| machine.mint(endpoint, Rights::ALL, badge));
    let mut senders = Vec::new();
    for (number, (badge, priority)) in BADGES.into_iter().zip(PRIORITIES).enumerate() {
        senders.push(sender(
            &mut machine,
            "sender",
            priority,
            badged[badge],
            &word(number),
        ));
    }
    let worker = machine.spawn(Spec::new("worker", 100).active());
    let bell = machine.notification();
    let late = waiter(&mut machine, "late", 200, bell);
    let reply = machine.reply();
    let method = Method::CNodeCancelBadgedSends.number();
    let message = Message::new(method, &[badged[0], WORD_BITS]);
    let stopped = interrupted(&mut machine, worker, ROOT, &message, looks);
    let mut gone = None;
    if stopped {
        match meanwhile {
            Meanwhile::Nothing => {}
            Meanwhile::Raised => machine.set_priority(senders[0], 40),
            Meanwhile::Lowered => machine.set_priority(senders[3], 5),
            Meanwhile::Suspended(index) => {
                machine.suspend(senders[index]);
                gone = Some(index);
            }
            Meanwhile::Served => {
                let receiver = machine.spawn(Spec::new("receiver", 240).active());
                machine.rest();
                machine.recv(receiver, endpoint, reply);
                gone = Some(machine.received(receiver).words[0]);
                machine.suspend(receiver);
            }
            Meanwhile::Another => {
                let answer = machine.in_root(Method::CNodeCancelBadgedSends, badged[1], &[]);
                assert_eq!(answer, Ok(vec![]));
            }
            Meanwhile::NewSender => {
                machine
                    .invoke(bell, Method::InvalidInvocation, &[], &[])
                    .unwrap();
                machine.rest();
                machine.send(late, badged[0], &word(8));
            }
            Meanwhile::Deleted => {
                for slot in badged {
                    machine.delete(slot);
                }
                machine.delete(endpoint);
            }
        }
        if machine.runs(machine.root) {
            machine.rest();
        }
    }
    assert!(
        machine.runs(worker),
        "{meanwhile:?} at {looks}: {} runs",
        machine.running()
    );
    for (index, task) in senders.iter().enumerate() {
        let others = stopped && meanwhile == Meanwhile::Another && BADGES[index] == 1;
        let deleted = stopped && meanwhile == Meanwhile::Deleted;
        if gone == Some(index) {
            assert_ne!(machine.state(*task), State::Sending);
        } else if BADGES[index] == 0 || others || deleted {
            assert_eq!(
                machine.state(*task),
                State::Runnable,
                "{meanwhile:?} at {looks}: {index}"
            );
        } else {
            assert_eq!(
                machine.state(*task),
                State::Sending,
                "{meanwhile:?} at {looks}: {index}"
            );
        }
    }
    if stopped && meanwhile == Meanwhile::NewSender {
        assert_eq!(
            machine.state(late),
            State::Sending,
            "it began to send afterwards"
        );
    }
    stopped
}

#[test]
fn senders_are_cancelled_a_few_at_a_time() {
    for meanwhile in [
        Meanwhile::Nothing,
        Meanwhile::Raised,
        Meanwhile::Lowered,
        Meanwhile::Suspended(3),
        Meanwhile::Suspended(2),
        Meanwhile::Suspended(1),
        Meanwhile::Suspended(6),
        Meanwhile::Served,
        Meanwhile::Another,
        Meanwhile::NewSender,
        Meanwhile::Deleted,
    ] {
        at_every_point(|looks| cancel(meanwhile, looks));
    }
}

#[test]
fn an_abandoned_cancellation_disturbs_no_thread() {
    for looks in 1..8 {
        let mut machine = Machine::with_memory(21);
        let endpoint = machine.endpoint();
        let badged = [7, 8].map(|badge| machine.mint(endpoint, Rights::ALL, badge));
        for (number, priority) in [30, 20, 30, 10].into_iter().enumerate() {
            sender(&mut machine, "sender", priority, badged[1], &word(number));
        }
        let worker = machine.spawn(Spec::new("worker", 100).active());
        let method = Method::CNodeCancelBadgedSends.number();
        let message = Message::new(method, &[badged[0], WORD_BITS]);
        if !interrupted(&mut machine, worker, ROOT, &message, looks) {
            continue;
        }
        machine.delete(worker.tcb);
        let reply = machine.reply();
        let receiver = machine.spawn(Spec::new("receiver", 240).active());
        machine.rest();
        let mut order = Vec::new();
        for _ in 0..4 {
            machine.recv(receiver, endpoint, reply);
            order.push(machine.received(receiver).words[0]);
        }
        assert_eq!(order, [0, 2, 1, 3]);
        // A further cancellation has no effect on the empty wait queue.
        let answer = machine.in_root(Method::CNodeCancelBadgedSends, badged[1], &[]);
        assert_eq!(answer, Ok(vec![]));
    }
}

#[test]
fn no_thread_can_block_at_an_endpoint_that_is_being_deleted() {
    at_every_point(|looks| {
        let mut machine = Machine::new();
        let endpoint = machine.endpoint();
        let senders = [10, 20, 30]
            .map(|priority| sender(&mut machine, "sender", priority, endpoint, &word(1)));
        let worker = machine.spawn(Spec::new("worker", 5).active());
        let bell = machine.notification();
        let late = waiter(&mut machine, "late", 200, bell);
        // Lower priority than the senders, which try again in between.
        machine.set_priority(worker, 100);
        let message = Message::new(Method::CNodeDelete.number(), &[endpoint, WORD_BITS]);
        let stopped = interrupted(&mut machine, worker, ROOT, &message, looks);
        if stopped {
            machine.set_priority(worker, 5);
            machine
                .invoke(bell, Method::InvalidInvocation, &[], &[])
                .unwrap();
            machine.rest();
            machine.call(late, endpoint, &word(1));
            // If it could wait at all, its send is cancelled as well, and its retry reports the
            // deleted endpoint.
            assert_eq!(
                host_machine::answer(machine.received(late)),
                Err(Error::InvalidCapability(0))
            );
            for sender in senders {
                machine.suspend(sender);
            }
            machine.suspend(late);
        }
        assert!(machine.runs(worker));
        assert!(machine.is_empty(endpoint));
        stopped
    });
}

/// `SetSchedParams` binds a context after it has deleted the fault handler's slot, which may be the last capability to an
/// endpoint with many senders. The context may be gone by the time the operation continues.
#[test]
fn a_context_that_is_deleted_meanwhile_is_not_bound() {
    at_every_point(|looks| {
        let mut machine = Machine::new();
        let endpoint = machine.endpoint();
        let target = machine.spawn(Spec::new("target", 5).fault_handler(endpoint));
        for priority in [10, 20, 30] {
            let task = sender(&mut machine, "sender", priority, endpoint, &word(1));
            machine.set_priority(task, 3);
        }
        machine.delete(endpoint);
        let context = machine.new_context(Budget::slice(100));
        let worker = machine.spawn(Spec::new("worker", 100).active());
        let_run(&mut machine);
        let message = Message::new(Method::TcbSetSchedParams.number(), &[255, 5]);
        let message = message.with_caps(&[slots::INIT_THREAD_TCB, context, 0]);
        let stopped = interrupted(&mut machine, worker, target.tcb, &message, looks);
        if stopped {
            machine.delete(context);
            let_run(&mut machine);
        }
        assert!(machine.runs(worker));
        assert_eq!(machine.received(worker).label, 0);
        assert_eq!(machine.is_passive(target), stopped);
        stopped
    });
}

/// Sets the slot in which `task` may receive a capability.
fn set_aside(machine: &mut Machine, task: Task) -> CPtr {
    let slot = machine.slot();
    let buffer = machine.buffer_mut(task).unwrap();
    buffer.receive_cnode = ROOT;
    buffer.receive_index = slot;
    buffer.receive_depth = WORD_BITS;
    slot
}

/// Lets the running task do something, interrupts it at preemption point `looks`, and lets it
/// continue. Returns whether it was interrupted.
fn ambushed(machine: &mut Machine, looks: usize, work: impl FnOnce(&mut Machine)) -> bool {
    machine.kernel.arch.ambush = Some((looks, BELL));
    work(machine);
    machine.kernel.arch.ambush = None;
    let stopped = machine.runs(machine.root);
    let_run(machine);
    stopped
}

/// Lets the root task rest if it runs.
fn let_run(machine: &mut Machine) {
    if machine.runs(machine.root) {
        machine.rest();
    }
}

#[test]
fn messages_with_capabilities_are_sent_once() {
    at_every_point(|looks| {
        let mut machine = Machine::new();
        let (endpoint, reply) = (machine.endpoint(), machine.reply());
        let gift = machine.notification();
        let receiver = server(&mut machine, "receiver", 5, endpoint, reply);
        let another = machine.reply();
        let next = server(&mut machine, "next", 4, endpoint, another);
        let slot = set_aside(&mut machine, receiver);
        let worker = machine.spawn(Spec::new("worker", 10).active());
        let_run(&mut machine);
        let message = Message::new(1, &[5]).with_caps(&[endpoint, gift]);
        let stopped = ambushed(&mut machine, looks, |machine| {
            machine.send(worker, endpoint, &message);
        });
        assert!(machine.runs(worker));
        let received = machine.received(receiver);
        assert_eq!(
            (received.label, received.words, received.caps),
            (1, vec![5], 2)
        );
        assert_eq!(received.badges[0], Some(0));
        assert!(matches!(machine.cap(slot), Cap::Notification(_)));
        assert_eq!(machine.state(next), State::Receiving);
        stopped
    });
}

/// A worker sends to one endpoint, where two receivers wait, and receives from another, where a
/// message with a capability waits. The message must not be sent twice.
fn sends_and_receives(looks: usize, how: impl Fn(&mut Machine, Task, [CPtr; 3])) -> bool {
    let mut machine = Machine::new();
    let (target, source) = (machine.endpoint(), machine.endpoint());
    let receivers = [5, 4].map(|priority| {
        let reply = machine.reply();
        server(&mut machine, "receiver", priority, target, reply)
    });
    let (gift, reply) = (machine.notification(), machine.reply());
    let message = Message::new(1, &[5]).with_caps(&[gift]);
    let sender = sender(&mut machine, "sender", 6, source, &message);
    let worker = machine.spawn(Spec::new("worker", 10).active());
    let slot = set_aside(&mut machine, worker);
    let_run(&mut machine);
    let stopped = ambushed(&mut machine, looks, |machine| {
        how(machine, worker, [target, source, reply]);
    });
    assert!(machine.runs(worker));
    let received = machine.received(worker);
    assert_eq!(
        (received.label, received.words, received.caps),
        (1, vec![5], 1)
    );
    assert!(matches!(machine.cap(slot), Cap::Notification(_)));
    assert_eq!(machine.state(sender), State::Runnable);
    assert_eq!(
        receivers.map(|receiver| machine.state(receiver)),
        [State::Runnable, State::Receiving]
    );
    // The next system call is not mistaken for a continuation.
    machine.nb_send_wait(worker, target, &word(3), source);
    assert_eq!(machine.state(receivers[1]), State::Runnable);
    stopped
}

#[test]
fn what_has_sent_before_an_interruption_only_receives() {
    at_every_point(|looks| {
        sends_and_receives(looks, |machine, worker, [target, source, reply]| {
            machine.nb_send_recv(worker, target, &word(2), source, reply);
        })
    });
}

#[test]
fn replies_are_sent_once() {
    at_every_point(|looks| {
        let mut machine = Machine::new();
        let (endpoint, reply) = (machine.endpoint(), machine.reply());
        let gift = machine.notification();
        let worker = server(&mut machine, "worker", 20, endpoint, reply);
        let slot = set_aside(&mut machine, worker);
        let client = machine.spawn(Spec::new("client", 10).active());
        let_run(&mut machine);
        machine.call(client, endpoint, &word(1));
        assert!(machine.runs(worker));
        let message = Message::new(1, &[5]).with_caps(&[gift]);
        let second = machine.spawn(Spec::new("second", 30).active());
        let_run(&mut machine);
        machine.call(second, endpoint, &message);
        assert!(machine.runs(worker));
        let stopped = ambushed(&mut machine, looks, |machine| {
            machine.reply_recv(worker, endpoint, reply, &word(7));
        });
        assert!(machine.runs(worker));
        assert_eq!(machine.received(client).words, [7]);
        assert_eq!(machine.received(worker).words, [5]);
        assert!(matches!(machine.cap(slot), Cap::Notification(_)));
        // The next reply goes to the next caller.
        machine.reply_recv(worker, endpoint, reply, &word(8));
        assert_eq!(machine.received(second).words, [8]);
        stopped
    });
}

#[test]
fn many_slots_are_looked_at_a_few_at_a_time() {
    at_every_point(|looks| {
        let mut machine = Machine::new();
        let (memory, slot) = (machine.untyped(12), machine.slots(200));
        let worker = machine.spawn(Spec::new("worker", 10).active());
        // The last slot is not empty.
        machine.create_in(ObjectType::Notification, 0, slot + 199);
        let_run(&mut machine);
        let (cap, message) = retype(memory, slot, 200);
        let stopped = interrupted(&mut machine, worker, cap, &message, looks);
        if stopped {
            let_run(&mut machine);
        }
        assert_eq!(
            machine.received(worker).label,
            Error::DeleteFirst.message().0 as usize
        );
        assert!(machine.is_empty(slot));
        stopped
    });
}

/// A CNode that contains itself: an address takes a level for each of its bits.
#[test]
fn long_lookups_are_made_a_few_levels_at_a_time() {
    let mut points = 0;
    at_every_point(|looks| {
        points = looks;
        let mut machine = Machine::new();
        let cnode = machine.cnode(1);
        machine.copy_into(cnode, cnode, 1, 1).unwrap();
        let source = machine.endpoint();
        let worker = machine.spawn(Spec::new("worker", 10).active());
        let_run(&mut machine);
        let all = Rights::ALL.word();
        let words = [usize::MAX - 1, WORD_BITS, source, WORD_BITS, all];
        let message = Message::new(Method::CNodeCopy.number(), &words).with_caps(&[ROOT]);
        let stopped = interrupted(&mut machine, worker, cnode, &message, looks);
        if stopped {
            let_run(&mut machine);
        }
        assert_eq!(machine.received(worker).label, 0);
        // Its only other slot has the copy.
        let again = machine.copy_into(source, cnode, 0, 1);
        assert_eq!(again, Err(Error::DeleteFirst));
        stopped
    });
    // Three other lookups, and what is before and after.
    assert!(points > WORD_BITS / 32 + 3, "{points} points");
}
