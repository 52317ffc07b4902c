//! Fast paths of Recv, and of replies by Send. Each test of a condition breaks only that one.

use abi::{Method, Rights};
use host_machine::{Budget, Spec, State, Task};
use kernel::object::Fault;

use crate::common::{caller, sender};
use crate::fast_paths::{Scene, words};
use crate::thresholds::set_threshold;

/// A client whose call a server with its own context has received, which runs.
fn called(priority: u8) -> Scene {
    let mut scene = Scene::new(priority, true);
    assert!(scene.call(&words(2)));
    assert!(scene.machine.runs(scene.server));
    scene
}

impl Scene {
    /// The server answers by Send.
    pub(super) fn reply(&mut self, length: usize) -> bool {
        let (server, reply) = (self.server, self.reply);
        self.is_fast(|scene| scene.machine.send(server, reply, &words(length)))
    }

    /// The server waits for the next call.
    pub(super) fn recv(&mut self) -> bool {
        let (server, endpoint, reply) = (self.server, self.endpoint, self.reply);
        self.is_fast(|scene| scene.machine.recv(server, endpoint, reply))
    }

    fn other(&mut self, priority: u8) -> Task {
        self.machine.spawn(Spec::new("other", priority).active())
    }
}

#[test]
fn replies_by_send_and_recv_are_short() {
    for priority in [3, 5, 9] {
        for length in [0, 10] {
            let mut scene = called(priority);
            assert!(scene.reply(length), "{priority}");
            if priority < 5 {
                assert!(scene.machine.runs(scene.client));
                let words = scene.machine.received(scene.client).words;
                assert_eq!(words.len(), length);
                continue;
            }
            assert!(scene.machine.runs(scene.server));
            assert!(scene.recv(), "{priority}");
            assert!(scene.machine.runs(scene.client));
            assert_eq!(scene.machine.received(scene.client).words.len(), length);
            assert!(scene.call(&words(0)));
        }
    }
}

type Break = fn(&mut Scene);

/// Break one condition of a reply each.
const REPLIES: [(&str, Break); 6] = [
    ("a due thread", |scene| {
        let spec = Spec::new("due", 12).budget(Budget::new(100, 1000));
        scene.machine.spawn(spec);
        scene.machine.advance(100);
        // The timer interrupt is late.
        scene.machine.stall_before_call(2000);
    }),
    ("a caller without a context", |scene| {
        let (context, tcb) = (scene.client.context, scene.client.tcb);
        let unbind = Method::SchedContextUnbindObject;
        scene.machine.invoke(context, unbind, &[], &[tcb]).unwrap();
    }),
    ("no caller", |scene| scene.machine.suspend(scene.client)),
    ("a thread that receives", |scene| {
        let (other, endpoint) = (scene.other(20), scene.machine.endpoint());
        scene.reply = scene.machine.reply();
        scene.machine.recv(other, endpoint, scene.reply);
    }),
    ("an idling context", |scene| {
        let idling = Budget::new(1000, 10_000).idling();
        let context = scene.client.context;
        scene.machine.configure(context, idling).unwrap();
    }),
    ("no budget of the server", |scene| {
        let context = scene.server.context;
        (scene.machine.configure(context, Budget::new(100, 5000))).unwrap();
        scene.machine.advance(90);
    }),
];

#[test]
fn replies_by_send_with_one_unusual_condition_are_not_short() {
    for (condition, break_it) in REPLIES {
        let mut scene = called(9);
        break_it(&mut scene);
        assert!(scene.machine.runs(scene.server), "{condition}");
        assert!(!scene.reply(0), "{condition}");
    }
}

#[test]
fn a_reply_by_send_to_a_fault_is_not_short() {
    let mut scene = Scene::new(9, true);
    let spec = Spec::new("faulty", 5)
        .active()
        .fault_handler(scene.endpoint);
    let faulty = scene.machine.spawn(spec);
    scene.machine.suspend(scene.client);
    let fault = Fault::UserException { number: 6, code: 0 };
    scene.machine.fault(faulty, fault);
    assert!(scene.machine.runs(scene.server));
    assert!(!scene.reply(0));
}

/// The call has lent its context.
#[test]
fn a_reply_by_send_in_a_call_chain_is_not_short() {
    let mut scene = Scene::new(5, false);
    assert!(scene.call(&words(0)));
    assert!(!scene.reply(0));
    assert!(scene.machine.runs(scene.client));
}

/// Break one condition of Recv each.
const RECVS: [(&str, Break); 15] = [
    ("a ready thread with a criticality", |scene| {
        let critical = scene.other(2);
        scene.machine.set_criticality(critical, 1);
    }),
    ("an idling context of the client", |scene| {
        let idling = Budget::new(1000, 10_000).idling();
        let context = scene.client.context;
        scene.machine.configure(context, idling).unwrap();
    }),
    ("a client that restarts", |scene| {
        scene.machine.suspend(scene.client);
        scene.machine.resume(scene.client);
    }),
    ("a client with a timer for another thread", |scene| {
        let (setter, target) = (scene.other(20), scene.other(2));
        let instant = scene.machine.now() + 1000;
        (scene.machine).yield_to_timeout(setter, target.context, instant, None);
        scene.machine.set_priority(setter, 7);
    }),
    ("a due thread above the client", |scene| {
        let spec = Spec::new("due", 10).budget(Budget::new(20, 25));
        let due = scene.machine.spawn(spec);
        scene.machine.yield_now(due);
        scene.machine.set_priority(due, 7);
        scene.machine.advance(25);
    }),
    ("no right to receive", |scene| {
        scene.endpoint = scene.machine.mint(scene.endpoint, Rights::WRITE, 0);
    }),
    ("no endpoint", |scene| scene.endpoint = scene.notification),
    ("no reply object", |scene| scene.reply = scene.endpoint),
    ("a threshold", |scene| {
        set_threshold(&mut scene.machine, scene.endpoint, 30, 0).unwrap();
    }),
    ("a reply object in use", |scene| {
        let (other, endpoint) = (scene.other(20), scene.machine.endpoint());
        scene.machine.recv(other, endpoint, scene.reply);
    }),
    ("a sender", |scene| {
        sender(&mut scene.machine, "sender", 2, scene.endpoint, &words(0));
    }),
    ("a caller", |scene| {
        caller(&mut scene.machine, "caller", 2, scene.endpoint, &words(0));
    }),
    ("a signal", |scene| {
        let bind = Method::TcbBindNotification;
        let (server, bell) = (scene.server, scene.notification);
        scene.machine.tcb(server, bind, &[], &[bell]).unwrap();
        let other = scene.other(20);
        scene.machine.signal(other, bell);
        scene.machine.suspend(other);
    }),
    ("a notification that lends time", |scene| {
        let context = scene.machine.new_context(Budget::slice(100));
        let (server, bell) = (scene.server, scene.notification);
        scene.machine.bind(context, bell).unwrap();
        let bind = Method::TcbBindNotification;
        scene.machine.tcb(server, bind, &[], &[bell]).unwrap();
    }),
    ("no budget", |scene| {
        let context = scene.server.context;
        (scene.machine.configure(context, Budget::new(100, 5000))).unwrap();
        scene.machine.advance(90);
    }),
];

#[test]
fn recvs_with_one_unusual_condition_are_not_short() {
    for (condition, break_it) in RECVS {
        let mut scene = called(9);
        assert!(scene.reply(0));
        break_it(&mut scene);
        assert!(scene.machine.runs(scene.server), "{condition}");
        assert!(!scene.recv(), "{condition}");
    }
}

#[test]
fn a_recv_without_another_ready_thread_is_not_short() {
    let mut scene = called(9);
    assert!(scene.reply(0));
    scene.machine.suspend(scene.client);
    assert!(!scene.recv());
    assert_eq!(scene.machine.running(), "none");
    assert_eq!(scene.machine.state(scene.server), State::Receiving);
}
