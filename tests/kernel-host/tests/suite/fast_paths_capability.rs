//! Fast paths of messages with one extra capability.

use crate::fast_paths::{Scene, words};
use crate::random::receive_in;
use abi::slots::INIT_THREAD_CNODE as ROOT;
use abi::{Method, ObjectType, Rights, WORD_BITS};
use host_machine::{CPtr, Machine, Message, Spec, Task};
use kernel::cap::Cap;
use kernel::object::Fault;

/// A scene whose server receives capabilities in the slot that is returned.
fn ready(active: bool) -> (Scene, CPtr) {
    let mut scene = Scene::new(5, active);
    let slot = scene.machine.slot();
    receive_in(&mut scene.machine, scene.server, slot);
    (scene, slot)
}

/// A call with the notification of the scene.
fn gift(scene: &Scene) -> Message {
    words(1).with_caps(&[scene.notification])
}

fn holds_notification(machine: &Machine, slot: CPtr) -> bool {
    matches!(machine.cap(slot), Cap::Notification(_))
}

fn reply(scene: &mut Scene, message: &Message) -> bool {
    scene.is_fast(|scene| {
        let (server, reply) = (scene.server, scene.reply);
        (scene.machine).reply_recv(server, scene.endpoint, reply, message);
    })
}

#[test]
fn a_call_and_a_reply_with_one_capability_are_fast_if_the_server_is_passive() {
    for active in [false, true] {
        for length in [0, 4, 120] {
            let (mut scene, slot) = ready(active);
            let message = words(length).with_caps(&[scene.notification]);
            assert_eq!(scene.call(&message), !active, "{length}");
            assert!(scene.machine.runs(scene.server));
            let received = scene.machine.received(scene.server);
            assert_eq!((received.caps, received.words.len()), (1, length));
            assert!(holds_notification(&scene.machine, slot));
            // The copy is a sibling: it stays when the original is deleted.
            scene.machine.delete(scene.notification);
            assert!(holds_notification(&scene.machine, slot));

            let target = scene.machine.slot();
            receive_in(&mut scene.machine, scene.client, target);
            let is_fast = reply(&mut scene, &words(length).with_caps(&[slot]));
            assert_eq!(is_fast, !active, "{length}");
            assert!(scene.machine.runs(scene.client));
            let received = scene.machine.received(scene.client);
            assert_eq!((received.caps, received.words.len()), (1, length));
            assert!(holds_notification(&scene.machine, target));
        }
    }
}

#[test]
fn the_badge_of_the_endpoint_is_fast_in_a_call() {
    let (mut scene, slot) = ready(false);
    let badged = scene.machine.mint(scene.endpoint, Rights::ALL, 77);
    assert!(scene.call(&words(1).with_caps(&[badged])));
    let received = scene.machine.received(scene.server);
    assert_eq!((received.caps, received.badges[0]), (1, Some(77)));
    assert!(scene.machine.is_empty(slot));
    // A reply does not unwrap.
    let target = scene.machine.slot();
    receive_in(&mut scene.machine, scene.client, target);
    assert!(reply(&mut scene, &words(1).with_caps(&[badged])));
    assert_eq!(scene.machine.received(scene.client).badges[0], None);
    assert!(matches!(scene.machine.cap(target), Cap::Endpoint(_)));
}

#[test]
fn a_capability_is_fast_behind_a_threshold() {
    let (mut scene, slot) = ready(false);
    let set = Method::CNodeEndpointSetThreshold;
    let endpoint = scene.endpoint;
    scene.machine.in_root(set, endpoint, &[30, 0]).unwrap();
    let message = gift(&scene);
    assert!(scene.call(&message));
    assert!(holds_notification(&scene.machine, slot));
}

#[test]
fn memory_is_not_eligible_and_belongs_to_the_copy() {
    let (mut scene, slot) = ready(false);
    let memory = scene.machine.untyped(12);
    assert!(!scene.call(&words(1).with_caps(&[memory])));
    let kind = ObjectType::Endpoint.number();
    let target = scene.machine.slot();
    let retype = |scene: &mut Scene, from| {
        let words = [kind, 0, 0, 0, target, 1];
        (scene.machine).invoke(from, Method::UntypedRetype, &words, &[ROOT])
    };
    assert!(retype(&mut scene, memory).is_err());
    assert!(retype(&mut scene, slot).is_ok());
}

/// Messages that are not eligible, and how many capabilities arrive.
#[test]
fn each_condition_of_a_transfer_alone_is_not_eligible() {
    type Change = fn(&mut Scene, CPtr) -> Message;
    let cases: [(&str, usize, Change); 12] = [
        ("two capabilities", 1, |scene, _| {
            words(1).with_caps(&[scene.notification, scene.notification])
        }),
        ("no right to grant", 0, |scene, _| {
            let rights = Rights::WRITE.union(Rights::GRANT_REPLY);
            scene.endpoint = scene.machine.mint(scene.endpoint, rights, 0);
            gift(scene)
        }),
        ("no buffer of the sender", 0, |scene, _| {
            remove_buffer(&mut scene.machine, scene.client);
            gift(scene)
        }),
        ("no buffer of the receiver", 0, |scene, _| {
            remove_buffer(&mut scene.machine, scene.server);
            gift(scene)
        }),
        ("a depth of less than a word", 0, |scene, _| {
            let server = scene.server;
            scene.machine.buffer_mut(server).unwrap().receive_depth = WORD_BITS - 1;
            gift(scene)
        }),
        ("a receive root of less than a word", 1, |scene, _| {
            let (server, slot) = (scene.server, scene.machine.cnode(4));
            let buffer = scene.machine.buffer_mut(server).unwrap();
            (buffer.receive_cnode, buffer.receive_index) = (slot, 3);
            buffer.receive_depth = 4;
            gift(scene)
        }),
        ("a receive root that is no CNode", 0, |scene, _| {
            let server = scene.server;
            let buffer = scene.machine.buffer_mut(server).unwrap();
            buffer.receive_cnode = scene.notification;
            gift(scene)
        }),
        ("a receive root that is not found", 0, |scene, _| {
            let server = scene.server;
            scene.machine.buffer_mut(server).unwrap().receive_cnode = 1 << (WORD_BITS - 1);
            gift(scene)
        }),
        ("a receive slot outside the CNode", 0, |scene, _| {
            let server = scene.server;
            scene.machine.buffer_mut(server).unwrap().receive_index = 1 << (WORD_BITS - 1);
            gift(scene)
        }),
        ("a receive slot that is not empty", 0, |scene, slot| {
            let copied = scene.machine.copy_to(scene.endpoint, slot, Rights::ALL);
            copied.unwrap();
            gift(scene)
        }),
        ("memory in use", 0, |scene, _| {
            let memory = scene.machine.untyped(12);
            let slot = scene.machine.slot();
            let kind = ObjectType::Endpoint.number();
            let words = [kind, 0, 0, 0, slot, 1];
            let retyped = (scene.machine).invoke(memory, Method::UntypedRetype, &words, &[ROOT]);
            retyped.unwrap();
            crate::fast_paths::words(1).with_caps(&[memory])
        }),
        ("an empty slot", 0, |scene, _| {
            let empty = scene.machine.slot();
            words(1).with_caps(&[empty])
        }),
    ];
    for (name, caps, change) in cases {
        let (mut scene, slot) = ready(false);
        let message = change(&mut scene, slot);
        assert!(scene.machine.runs(scene.client), "{name}");
        assert!(!scene.call(&message), "{name}");
        assert!(scene.machine.runs(scene.server), "{name}");
        let received = scene.machine.received(scene.server);
        assert_eq!((received.caps, received.words.len()), (caps, 1), "{name}");
    }
}

fn remove_buffer(machine: &mut Machine, task: Task) {
    let set = Method::TcbSetIpcBuffer;
    machine.invoke(task.tcb, set, &[0], &[0]).unwrap();
}

#[test]
fn a_capability_that_is_not_found_is_a_fault() {
    let (mut scene, _) = ready(false);
    let missing = 1 << (WORD_BITS - 1);
    assert!(!scene.call(&words(1).with_caps(&[missing])));
    assert!(!scene.machine.runs(scene.client) && !scene.machine.runs(scene.server));
}

#[test]
fn a_send_with_a_capability_is_not_eligible() {
    let (mut scene, slot) = ready(true);
    let (client, endpoint, message) = (scene.client, scene.endpoint, gift(&scene));
    assert!(!scene.is_fast(|scene| scene.machine.send(client, endpoint, &message)));
    assert!(holds_notification(&scene.machine, slot));
}

#[test]
fn a_reply_capability_without_the_right_to_grant_is_not_eligible() {
    let (mut scene, _) = ready(false);
    assert!(scene.call(&words(0)));
    let (weak, target) = (scene.machine.slot(), scene.machine.slot());
    let copied = (scene.machine).copy_to(scene.reply, weak, Rights::READ_WRITE);
    copied.unwrap();
    receive_in(&mut scene.machine, scene.client, target);
    scene.reply = weak;
    let message = gift(&scene);
    assert!(!reply(&mut scene, &message));
    assert_eq!(scene.machine.received(scene.client).caps, 0);
    assert!(scene.machine.is_empty(target));
}

#[test]
fn the_answer_to_a_fault_with_a_capability_is_not_eligible() {
    let (mut scene, _) = ready(false);
    let (client, endpoint) = (scene.client, scene.endpoint);
    let faulty = scene
        .machine
        .spawn(Spec::new("faulty", 5).active().fault_handler(endpoint));
    scene.machine.suspend(client);
    let target = scene.machine.slot();
    receive_in(&mut scene.machine, faulty, target);
    let fault = Fault::UserException { number: 6, code: 0 };
    assert!(scene.is_fast(|scene| scene.machine.fault(faulty, fault)));
    let message = Message::new(0, &[]).with_caps(&[scene.notification]);
    assert!(!reply(&mut scene, &message));
    assert!(scene.machine.runs(faulty) && scene.machine.is_empty(target));
}
