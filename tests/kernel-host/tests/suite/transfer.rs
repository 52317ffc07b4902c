//! Capabilities in messages.

use abi::{Method, ObjectType, Rights, WORD_BITS, slots};
use host_machine::{CPtr, Machine, Message, Spec, State, Task};
use kernel::cap::Cap;

use crate::common::{caller, sender, server};
use crate::random::receive_in;

const ROOT: CPtr = slots::INIT_THREAD_CNODE;

/// A server that can receive a capability, and a client.
struct Scene {
    machine: Machine,
    endpoint: CPtr,
    reply: CPtr,
    server: Task,
    client: Task,
    /// The server's receive slot.
    slot: CPtr,
}

impl Scene {
    fn new() -> Self {
        let mut machine = Machine::new();
        let (endpoint, reply) = (machine.endpoint(), machine.reply());
        let server = server(&mut machine, "server", 20, endpoint, reply);
        let client = machine.spawn(Spec::new("client", 10).active());
        let slot = machine.slot();
        receive_in(&mut machine, server, slot);
        Self {
            machine,
            endpoint,
            reply,
            server,
            client,
            slot,
        }
    }

    /// The client sends capabilities; returns how many arrive, and their badges.
    fn send(&mut self, caps: &[CPtr]) -> (usize, [Option<usize>; 3]) {
        let message = Message::new(1, &[5]).with_caps(caps);
        self.machine.send(self.client, self.endpoint, &message);
        assert_eq!(self.machine.running(), "server");
        let received = self.machine.received(self.server);
        assert_eq!((received.label, received.words), (1, vec![5]));
        self.machine.recv(self.server, self.endpoint, self.reply);
        (received.caps, received.badges)
    }
}

const NONE: [Option<usize>; 3] = [None; 3];

#[test]
fn a_capability_arrives_in_the_slot_receive_in() {
    let mut scene = Scene::new();
    let notification = scene.machine.notification();
    let badged = scene.machine.mint(notification, Rights::WRITE, 9);
    assert_eq!(scene.send(&[badged]), (1, NONE));
    let Cap::Notification(cap) = scene.machine.cap(scene.slot) else {
        panic!("it is a notification");
    };
    assert_eq!((cap.badge, cap.rights), (9, Rights::WRITE));
    // It is a copy: the sender keeps its own, and revoking the original deletes it.
    scene.machine.revoke(notification);
    assert!(scene.machine.is_empty(scene.slot));
}

#[test]
fn capabilities_need_the_right_to_grant() {
    let mut scene = Scene::new();
    let gift = scene.machine.notification();
    for rights in [1, 3, 9, 11] {
        let weak = scene
            .machine
            .mint(scene.endpoint, Rights::from_word(rights), 0);
        let message = Message::new(1, &[5]).with_caps(&[gift]);
        scene.machine.send(scene.client, weak, &message);
        let received = scene.machine.received(scene.server);
        assert_eq!(
            (received.label, received.words, received.caps),
            (1, vec![5], 0)
        );
        scene
            .machine
            .recv(scene.server, scene.endpoint, scene.reply);
    }
    assert!(scene.machine.is_empty(scene.slot));
}

/// The rights of the capability at the time of blocking count.
#[test]
fn queued_senders_need_the_rights_too() {
    for rights in 0..8 {
        let rights = Rights::from_word(rights << 1).union(Rights::WRITE);
        let mut scene = Scene::new();
        let machine = &mut scene.machine;
        let (elsewhere, reply, gift) =
            (machine.endpoint(), machine.reply(), machine.notification());
        let weak = machine.mint(elsewhere, rights, 0);
        receive_in(machine, scene.client, scene.slot);
        let may_grant = rights.contains(Rights::GRANT);
        let message = Message::new(1, &[5]).with_caps(&[gift]);
        sender(machine, "sender", 5, weak, &message);
        machine.recv(scene.client, elsewhere, reply);
        assert_eq!(machine.received(scene.client).caps, may_grant as usize);
        assert_eq!(machine.is_empty(scene.slot), !may_grant);

        let caller = caller(machine, "caller", 5, weak, &Message::default());
        machine.recv(scene.client, elsewhere, reply);
        let state = if may_grant || rights.contains(Rights::GRANT_REPLY) {
            State::Calling
        } else {
            State::Inactive
        };
        assert_eq!(machine.state(caller), state, "{rights:?}");
    }
}

#[test]
fn capabilities_to_the_endpoint_itself_arrive_as_badges() {
    let mut scene = Scene::new();
    let badged = [7, 8, 9].map(|badge| scene.machine.mint(scene.endpoint, Rights::READ, badge));
    assert_eq!(scene.send(&badged), (3, [Some(7), Some(8), Some(9)]));
    assert_eq!(scene.send(&[scene.endpoint]), (1, [Some(0), None, None]));
    assert!(scene.machine.is_empty(scene.slot));

    // Mixed: one transferred capability, and unwrapped ones around it.
    let gift = scene.machine.notification();
    let mixed = [badged[0], gift, badged[2]];
    assert_eq!(scene.send(&mixed), (3, [Some(7), None, Some(9)]));
    assert!(!scene.machine.is_empty(scene.slot));
}

#[test]
fn only_one_capability_is_placed() {
    let mut scene = Scene::new();
    let gifts = [scene.machine.notification(), scene.machine.endpoint()];
    let badged = scene.machine.mint(scene.endpoint, Rights::ALL, 7);
    // Those after the capability without a slot are lost, too.
    assert_eq!(scene.send(&[gifts[0], gifts[1], badged]), (1, NONE));
    assert!(matches!(
        scene.machine.cap(scene.slot),
        Cap::Notification(_)
    ));
}

#[test]
fn without_a_free_slot_nothing_is_placed() {
    let mut scene = Scene::new();
    let (gift, full) = (scene.machine.notification(), scene.machine.notification());
    let badged = scene.machine.mint(scene.endpoint, Rights::ALL, 7);
    for (cnode, index, depth) in [
        (ROOT, full, WORD_BITS),
        (ROOT, scene.slot, 0),
        (ROOT, scene.slot, WORD_BITS - 1),
        (full, 0, 1),
        (usize::MAX, 0, 1),
    ] {
        let buffer = scene.machine.buffer_mut(scene.server).unwrap();
        (
            buffer.receive_cnode,
            buffer.receive_index,
            buffer.receive_depth,
        ) = (cnode, index, depth);
        assert_eq!(scene.send(&[badged, gift]), (1, [Some(7), None, None]));
    }
    assert!(scene.machine.is_empty(scene.slot));
}

#[test]
fn what_cannot_be_copied_cannot_be_sent() {
    let mut scene = Scene::new();
    let untyped = scene.machine.untyped(12);
    let child = scene.machine.slot();
    scene
        .machine
        .retype(untyped, ObjectType::Endpoint, 0, child, 1)
        .unwrap();
    let empty = scene.machine.slot();
    for gift in [untyped, slots::IRQ_CONTROL, empty] {
        assert_eq!(scene.send(&[gift, scene.endpoint]), (0, NONE));
    }
    assert!(scene.machine.is_empty(scene.slot));
}

#[test]
fn an_address_that_does_not_resolve_is_a_fault() {
    let mut scene = Scene::new();
    let message = Message::new(1, &[]).with_caps(&[usize::MAX]);
    scene
        .machine
        .nb_send(scene.client, scene.endpoint, &message);
    assert_eq!(scene.machine.running(), "client");
    assert_eq!(scene.machine.state(scene.server), State::Receiving);
    scene.machine.send(scene.client, scene.endpoint, &message);
    assert_eq!(scene.machine.state(scene.client), State::Inactive);
    assert_eq!(scene.machine.state(scene.server), State::Receiving);
}

#[test]
fn replies_carry_capabilities_if_the_reply_capability_says_so() {
    for (grant, expected) in [(true, 1), (false, 0)] {
        let mut scene = Scene::new();
        let gift = scene.machine.notification();
        let reply = if grant {
            scene.reply
        } else {
            let weak = scene.machine.slot();
            scene
                .machine
                .copy_to(scene.reply, weak, Rights::READ_WRITE)
                .unwrap();
            weak
        };
        // The caller's rights to the endpoint do not matter for the reply.
        let endpoint = scene.machine.mint(scene.endpoint, Rights::from_word(9), 0);
        let target = scene.machine.slot();
        receive_in(&mut scene.machine, scene.client, target);
        scene
            .machine
            .call(scene.client, endpoint, &Message::default());
        let message = Message::new(2, &[6]).with_caps(&[gift]);
        scene.machine.send(scene.server, reply, &message);
        scene.machine.wait(scene.server, scene.endpoint);
        let received = scene.machine.received(scene.client);
        assert_eq!((received.label, received.caps), (2, expected));
        assert_eq!(scene.machine.is_empty(target), !grant);
    }
}

#[test]
fn replies_do_not_unwrap() {
    let mut scene = Scene::new();
    let target = scene.machine.slot();
    receive_in(&mut scene.machine, scene.client, target);
    scene
        .machine
        .call(scene.client, scene.endpoint, &Message::default());
    let message = Message::new(2, &[]).with_caps(&[scene.endpoint]);
    scene.machine.send(scene.server, scene.reply, &message);
    scene.machine.wait(scene.server, scene.endpoint);
    let received = scene.machine.received(scene.client);
    assert_eq!((received.caps, received.badges), (1, NONE));
    assert!(matches!(scene.machine.cap(target), Cap::Endpoint(_)));
}

#[test]
fn capabilities_need_buffers_on_both_sides() {
    let mut scene = Scene::new();
    let gift = scene.machine.notification();
    let poor = scene
        .machine
        .spawn(Spec::new("poor", 30).active().without_buffer());
    let other = scene.machine.endpoint();
    scene.machine.recv(poor, other, 0);
    // There is no reply capability at address 0, so it faulted. `Wait` needs none.
    assert_eq!(scene.machine.state(poor), State::Inactive);
    let poor = scene
        .machine
        .spawn(Spec::new("poor", 30).active().without_buffer());
    scene.machine.wait(poor, other);
    let message = Message::new(1, &[5]).with_caps(&[gift]);
    scene.machine.send(scene.client, other, &message);
    assert_eq!(scene.machine.received(poor).caps, 0);
    assert_eq!(scene.machine.received(poor).words, [5]);
    // A sender without a buffer sends none, whatever its message says.
    scene.machine.send(poor, scene.endpoint, &message);
    scene.machine.suspend(poor);
    assert_eq!(scene.machine.received(scene.server).caps, 0);
    assert_eq!(scene.machine.received(scene.server).words, [5]);
}

#[test]
fn capabilities_are_looked_up_when_the_message_moves() {
    let mut scene = Scene::new();
    let gift = scene.machine.notification();
    let queue = scene.machine.endpoint();
    let message = Message::new(1, &[]).with_caps(&[gift]);
    scene.machine.send(scene.client, queue, &message);
    assert_eq!(scene.machine.state(scene.client), State::Sending);
    // Before the message is received, another capability is moved to the address.
    scene.machine.delete(gift);
    let endpoint = scene.machine.endpoint();
    scene.machine.move_to(endpoint, gift).unwrap();
    let reply = scene.machine.reply();
    let receiver = scene.machine.spawn(Spec::new("receiver", 30).active());
    receive_in(&mut scene.machine, receiver, scene.slot);
    scene.machine.recv(receiver, queue, reply);
    assert_eq!(scene.machine.received(receiver).caps, 1);
    assert!(matches!(scene.machine.cap(scene.slot), Cap::Endpoint(_)));
}

#[test]
fn extra_capabilities_of_invocations_may_be_empty_slots() {
    let mut machine = Machine::new();
    let task = machine.spawn(Spec::new("task", 10).active());
    let empty = machine.slot();
    let answer = machine.tcb(task, Method::TcbBindNotification, &[], &[empty]);
    assert_eq!(answer, Err(kernel::invoke::Error::IllegalOperation));
}
