//! Fast paths of calls with a limit, and of the replies to them. Each test of a condition breaks only that one.

use abi::ErrorCode;
use abi::endpoint_flags::{LIMIT, TELL_BUDGET};
use host_machine::{Budget, Spec, Task};
use kernel::object::Fault;

use crate::common::{make_passive, passive_server};
use crate::fast_paths::{Scene, with_a_thread_due, words};
use crate::random::receive_in;
use crate::thresholds::set_threshold;

const BUDGET: Budget = Budget::new(100, 1000);

/// A client with a long timeslice, and a passive server with a limit of 30 ticks.
fn scene() -> Scene {
    let mut scene = Scene::new(5, false);
    set_threshold(&mut scene.machine, scene.endpoint, 30, LIMIT).unwrap();
    scene
}

impl Scene {
    /// The server answers, and waits again. Returns whether a fast path was taken.
    fn answer(&mut self) -> bool {
        let server = self.server;
        self.is_fast(|scene| {
            (scene.machine).reply_recv(server, scene.endpoint, scene.reply, &words(1));
        })
    }

    /// Changes the budget of the client's context.
    fn budget(&mut self, budget: Budget) {
        let context = self.client.context;
        self.machine.configure(context, budget).unwrap();
    }

    /// A thread with its own context.
    fn spawn(&mut self, priority: u8) -> Task {
        self.machine.spawn(Spec::new("other", priority).active())
    }
}

#[test]
fn calls_with_a_limit_and_their_replies_are_short() {
    for budget in [BUDGET, BUDGET.sporadic(), Budget::slice(100)] {
        for length in [0, 10] {
            let mut scene = scene();
            scene.budget(budget);
            for _ in 0..2 {
                assert!(scene.call(&words(length)));
                assert!(scene.machine.runs(scene.server));
                let received = scene.machine.received(scene.server);
                assert_eq!(received.words.len(), length);
                scene.machine.advance(20);
                assert!(scene.answer());
                assert!(scene.machine.runs(scene.client));
                assert_eq!(scene.machine.received(scene.client).words, [7]);
            }
            // The limit has ended.
            scene.machine.advance(35);
            assert!(scene.machine.runs(scene.client));
        }
    }
}

#[test]
fn a_limit_by_a_fast_path_is_reached_in_time() {
    let mut scene = scene();
    scene.machine.advance(10);
    assert!(scene.call(&words(0)));
    scene.machine.advance(29);
    assert!(scene.machine.runs(scene.server));
    scene.machine.advance(1);
    assert!(scene.machine.runs(scene.client));
    let answer = scene.machine.received(scene.client);
    assert_eq!(answer.label, ErrorCode::LimitReached as usize);
}

/// The priority of the client may differ from that of the server, in both directions.
#[test]
fn a_limit_between_priorities_is_short() {
    for priority in [3, 9] {
        let mut scene = scene();
        scene.machine.set_priority(scene.server, priority);
        assert!(scene.call(&words(0)), "{priority}");
        assert!(scene.machine.runs(scene.server));
        assert!(scene.answer(), "{priority}");
        assert!(scene.machine.runs(scene.client));
    }
}

type Break = fn(&mut Scene);

/// Break one condition of a call each.
const CALLS: [(&str, Break); 7] = [
    ("another flag", |scene| {
        let flags = LIMIT | TELL_BUDGET;
        set_threshold(&mut scene.machine, scene.endpoint, 30, flags).unwrap();
    }),
    ("too little budget", |scene| {
        scene.budget(BUDGET);
        scene.machine.advance(60);
    }),
    ("no receiver", |scene| scene.machine.suspend(scene.server)),
    ("a receiver without a reply object", |scene| {
        let other = scene.spawn(9);
        scene.endpoint = scene.machine.endpoint();
        scene.machine.wait(other, scene.endpoint);
        make_passive(&mut scene.machine, other);
        set_threshold(&mut scene.machine, scene.endpoint, 30, LIMIT).unwrap();
    }),
    ("a server with a context", |scene| {
        let context = scene.machine.new_context(BUDGET);
        scene.machine.bind(context, scene.server.tcb).unwrap();
    }),
    ("a ready thread above the server", |scene| {
        scene.machine.set_priority(scene.server, 3);
        scene.spawn(4);
    }),
    ("a due thread above the server", |scene| {
        scene.machine.set_priority(scene.server, 3);
        with_a_thread_due(scene, 4);
    }),
];

#[test]
fn calls_with_a_limit_and_one_unusual_condition_are_not_short() {
    for (condition, break_it) in CALLS {
        let mut scene = scene();
        break_it(&mut scene);
        assert!(scene.machine.runs(scene.client), "{condition}");
        assert!(!scene.call(&words(0)), "{condition}");
    }
}

#[test]
fn a_call_with_a_limit_and_a_capability_is_not_short() {
    let mut scene = scene();
    let (capability, slot) = (scene.machine.endpoint(), scene.machine.slot());
    receive_in(&mut scene.machine, scene.server, slot);
    assert!(!scene.call(&words(0).with_caps(&[capability])));
    assert!(scene.machine.runs(scene.server));
}

/// Break one condition of the reply each, while the server works.
const REPLIES: [(&str, Break); 8] = [
    ("a limit that is reached", |scene| {
        scene.machine.stall_before_call(30);
    }),
    ("no budget", |scene| {
        scene.budget(Budget::new(30, 1000));
        scene.machine.advance(15);
    }),
    ("an idling context", |scene| scene.budget(BUDGET.idling())),
    ("a criticality", |scene| {
        let client = scene.client;
        scene.machine.set_criticality(client, 1);
    }),
    ("a timer", |scene| {
        let (other, idle) = (scene.spawn(9), scene.machine.endpoint());
        let (context, instant) = (scene.client.context, scene.machine.now() + 1000);
        (scene.machine).yield_to_timeout(other, context, instant, None);
        scene.machine.wait(other, idle);
    }),
    ("a caller with another context", |scene| {
        let context = scene.machine.new_context(BUDGET);
        scene.machine.bind(context, scene.client.tcb).unwrap();
    }),
    ("a ready thread above the caller", |scene| {
        scene.machine.set_priority(scene.server, 9);
        scene.spawn(7);
    }),
    ("a due thread above the caller", |scene| {
        scene.machine.set_priority(scene.server, 9);
        let spec = Spec::new("due", 10).budget(Budget::new(20, 25));
        let due = scene.machine.spawn(spec);
        scene.machine.yield_now(due);
        scene.machine.set_priority(due, 7);
        scene.machine.advance(25);
    }),
];

#[test]
fn replies_within_a_limit_and_with_one_unusual_condition_are_not_short() {
    for (condition, break_it) in REPLIES {
        let mut scene = scene();
        assert!(scene.call(&words(0)), "{condition}");
        break_it(&mut scene);
        assert!(scene.machine.runs(scene.server), "{condition}");
        assert!(!scene.answer(), "{condition}");
    }
}

/// The reply of the inner server restores the limit of the outer one.
#[test]
fn a_limit_within_a_limit_is_not_short() {
    let mut scene = scene();
    let (outer, reply) = (scene.machine.endpoint(), scene.machine.reply());
    set_threshold(&mut scene.machine, outer, 200, LIMIT).unwrap();
    let first = passive_server(&mut scene.machine, "first", 5, outer, reply);
    scene.machine.call(scene.client, outer, &words(0));
    assert!(scene.machine.runs(first));
    let inner = scene.endpoint;
    assert!(!scene.is_fast(|scene| scene.machine.call(first, inner, &words(0))));
    assert!(scene.machine.runs(scene.server));
    assert!(!scene.answer());
    assert!(scene.machine.runs(first));
    // That of the outer one is the last.
    let is_short = scene.is_fast(|scene| {
        scene.machine.reply_recv(first, outer, reply, &words(0));
    });
    assert!(is_short);
    assert!(scene.machine.runs(scene.client));
}

/// Another thread answers for the server.
#[test]
fn a_reply_on_other_time_is_not_short() {
    let mut scene = scene();
    assert!(scene.call(&words(0)));
    let other = scene.spawn(9);
    let endpoint = scene.machine.endpoint();
    let is_short = scene.is_fast(|scene| {
        (scene.machine).reply_recv(other, endpoint, scene.reply, &words(0));
    });
    assert!(!is_short);
    assert!(scene.machine.runs(scene.client));
}

/// A fault is reported on the slow path, and so is the answer.
#[test]
fn a_fault_with_a_limit_is_not_short() {
    let mut scene = scene();
    let spec = Spec::new("faulty", 5).budget(BUDGET);
    let faulty = scene.machine.spawn(spec.fault_handler(scene.endpoint));
    scene.machine.suspend(scene.client);
    assert!(scene.machine.runs(faulty));
    let fault = Fault::UserException { number: 6, code: 0 };
    assert!(!scene.is_fast(|scene| scene.machine.fault(faulty, fault)));
    assert!(scene.machine.runs(scene.server));
    assert!(!scene.answer());
}

/// The reply brings a capability.
#[test]
fn a_reply_within_a_limit_with_a_capability_is_not_short() {
    let mut scene = scene();
    assert!(scene.call(&words(0)));
    let (server, capability) = (scene.server, scene.machine.endpoint());
    let slot = scene.machine.slot();
    receive_in(&mut scene.machine, scene.client, slot);
    let message = words(0).with_caps(&[capability]);
    assert!(!scene.is_fast(|scene| {
        (scene.machine).reply_recv(server, scene.endpoint, scene.reply, &message);
    }));
    assert!(scene.machine.runs(scene.client));
}
