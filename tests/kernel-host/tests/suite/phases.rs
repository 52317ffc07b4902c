//! Combined send and receive system calls, interrupted at every preemption point: the first phase can
//! donate a server's context, so from then on the server must not be preempted before it waits again.

use abi::{Method, ObjectType, WORD_BITS, slots};
use host_machine::{CPtr, Machine, Message, Operands, Spec, State, Task};
use kernel::arch::Irq;
use kernel::cap::Cap;

use crate::common::{caller, passive_server, word};

/// The line that wakes the root task.
const BELL: Irq = Irq(0);
const RADIX: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    ReplyRecv,
    NBSendRecv,
    NBSendWait,
}

/// The address of slot `index` in a CNode that holds itself in its last slot: a lookup of many
/// levels.
const fn deep(index: usize) -> CPtr {
    usize::MAX << RADIX | index
}

const REQUESTS: usize = 1;
const REPLY: usize = 2;
const FRESH_REPLY: usize = 3;
const NEXT: usize = 4;
const FREE: usize = 5;
const GIFT: usize = 6;
const ITSELF: usize = (1 << RADIX) - 1;

/// A passive server of priority 20 that runs on its client's context, with a CSpace of many levels;
/// another passive server waits.
struct Scene {
    machine: Machine,
    requests: CPtr,
    space: CPtr,
    server: Task,
    next: Task,
    client: Task,
}

impl Scene {
    fn new() -> Self {
        let mut machine = Machine::new();
        let (requests, reply) = (machine.endpoint(), machine.reply());
        let (passed_on, fresh) = (machine.endpoint(), machine.reply());
        let next_reply = machine.reply();
        let next = passive_server(&mut machine, "next", 15, passed_on, next_reply);
        let server = passive_server(&mut machine, "server", 20, requests, reply);
        let client = machine.spawn(Spec::new("client", 10).active());
        let space = machine.cnode(RADIX);
        let gift = machine.notification();
        for (slot, index) in [
            (requests, REQUESTS),
            (reply, REPLY),
            (fresh, FRESH_REPLY),
            (passed_on, NEXT),
            (gift, GIFT),
            (space, ITSELF),
        ] {
            machine.copy_into(slot, space, index, RADIX).unwrap();
        }
        let caps = [0, space, slots::INIT_THREAD_VSPACE];
        machine
            .tcb(server, Method::TcbSetSpace, &[0, 0], &caps)
            .unwrap();
        let buffer = machine.buffer_mut(server).unwrap();
        buffer.receive_cnode = deep(ITSELF);
        buffer.receive_index = deep(FREE);
        buffer.receive_depth = WORD_BITS;
        if machine.runs(machine.root) {
            machine.rest();
        }
        machine.call(client, requests, &word(1));
        assert!(machine.runs(server));
        Self {
            machine,
            requests,
            space,
            server,
            next,
            client,
        }
    }

    /// A client that calls with an extra capability while the server works.
    fn another(&mut self) -> Task {
        let gift = self.machine.notification();
        let message = Message::new(0, &[5]).with_caps(&[gift]);
        let another = caller(&mut self.machine, "another", 5, self.requests, &message);
        assert!(self.machine.runs(self.server));
        another
    }

    fn send_and_receive(&mut self, how: How, message: &Message) {
        let (machine, server) = (&mut self.machine, self.server);
        let source = deep(REQUESTS);
        match how {
            How::ReplyRecv => machine.reply_recv(server, source, deep(REPLY), message),
            How::NBSendRecv => {
                machine.nb_send_recv(server, deep(NEXT), message, source, deep(FRESH_REPLY));
            }
            How::NBSendWait => machine.nb_send_wait(server, deep(NEXT), message, source),
        }
    }

    /// Lets the server send and receive, interrupts it at preemption point `looks`, and lets it
    /// continue. Returns whether it was interrupted.
    fn preempted(&mut self, how: How, message: &Message, looks: usize) -> bool {
        self.machine.kernel.arch.ambush = Some((looks, BELL));
        self.send_and_receive(how, message);
        self.machine.kernel.arch.ambush = None;
        let stopped = self.machine.runs(self.machine.root);
        if stopped {
            let holder = self.machine.holder(self.client.context);
            assert_eq!(holder, "server", "{how:?} after {looks}: nothing was sent");
            self.machine.rest();
        }
        stopped
    }

    /// The thread that received the message, and with it the client's context.
    fn receiver(&self, how: How) -> Task {
        match how {
            How::ReplyRecv => self.client,
            How::NBSendRecv | How::NBSendWait => self.next,
        }
    }

    fn received_slot(&mut self) -> bool {
        let slot = self.machine.slot();
        let words = [slot, WORD_BITS, FREE, RADIX, abi::Rights::ALL.word()];
        let root = slots::INIT_THREAD_CNODE;
        let copy = self
            .machine
            .invoke(root, Method::CNodeCopy, &words, &[self.space]);
        copy.is_ok()
    }
}

/// Runs a scene with an interrupt at each preemption point of a system call.
fn at_every_look(how: How, mut scene: impl FnMut(usize) -> bool) {
    let mut looks = 0;
    while scene(looks) {
        looks += 1;
        assert!(looks < 1000, "the call never completes");
    }
    assert!(looks > 1, "{how:?} was never preempted");
}

#[test]
fn a_passive_server_that_is_preempted_waits_again() {
    for how in [How::ReplyRecv, How::NBSendRecv, How::NBSendWait] {
        at_every_look(how, |looks| {
            let mut scene = Scene::new();
            let stopped = scene.preempted(how, &word(7), looks);
            let (server, receiver) = (scene.server, scene.receiver(how));
            let machine = &mut scene.machine;
            assert_eq!(machine.state(server), State::Receiving, "{how:?} {looks}");
            assert_eq!(machine.received(receiver).words, [7]);
            assert!(machine.runs(receiver));
            if how == How::ReplyRecv {
                machine.call(scene.client, scene.requests, &word(2));
                assert!(machine.runs(server));
                assert_eq!(machine.received(server).words, [2]);
            }
            stopped
        });
    }
}

#[test]
fn a_passive_server_that_is_preempted_takes_the_next_call() {
    for how in [How::ReplyRecv, How::NBSendRecv, How::NBSendWait] {
        at_every_look(how, |looks| {
            let mut scene = Scene::new();
            let another = scene.another();
            let stopped = scene.preempted(how, &word(7), looks);
            let (server, receiver) = (scene.server, scene.receiver(how));
            let machine = &mut scene.machine;
            assert_eq!(machine.received(receiver).words, [7]);
            let received = machine.received(server);
            assert_eq!((received.words, received.caps), (vec![5], 1), "{how:?}");
            // Without a reply object, no context is donated with a call.
            let waits = how == How::NBSendWait;
            let holder = machine.holder(another.context);
            assert_eq!(holder, if waits { "another" } else { "server" });
            assert!(scene.received_slot());
            stopped
        });
    }
}

/// Both receive into the same slot of the same CSpace.
#[test]
fn a_slot_that_the_reply_fills_is_not_filled_again() {
    let mut scene = Scene::new();
    scene.another();
    let machine = &mut scene.machine;
    let buffer = machine.buffer_mut(scene.client).unwrap();
    buffer.receive_cnode = scene.space;
    buffer.receive_index = FREE;
    buffer.receive_depth = RADIX;
    let message = Message::new(0, &[7]).with_caps(&[deep(GIFT)]);
    scene.send_and_receive(How::ReplyRecv, &message);
    let machine = &mut scene.machine;
    assert_eq!(machine.received(scene.client).caps, 1);
    let received = machine.received(scene.server);
    assert_eq!((received.words, received.caps), (vec![5], 0));
}

/// The first phase creates the endpoint from which the second phase receives.
#[test]
fn a_slot_that_was_empty_before_the_first_phase() {
    let mut machine = Machine::new();
    let (memory, slot, reply) = (machine.untyped(12), machine.slot(), machine.reply());
    let task = machine.spawn(Spec::new("task", 20).active());
    machine.rest();
    let words = [ObjectType::Endpoint.number(), 0, 0, 0, slot, 1];
    let message =
        Message::new(Method::UntypedRetype.number(), &words).with_caps(&[slots::INIT_THREAD_CNODE]);
    let operands = Operands {
        cap: slot,
        reply,
        destination: memory,
    };
    machine.syscall(task, abi::Syscall::NBSendRecv, operands, &message);
    assert!(matches!(machine.cap(slot), Cap::Endpoint(_)));
    assert_eq!(machine.state(task), State::Receiving);
}
